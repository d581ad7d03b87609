import Bowser from 'bowser'
import { byUserAgent } from './by-user-agent.ts'

export type Device = 'desktop' | 'mobile' | 'tablet' | 'tv'

/** What a visitor uses; null where the user agent does not tell. */
export interface Software {
  readonly browser: string | null
  readonly operating_system: string | null
  readonly device: Device | null
}

const unknown: Software = { browser: null, operating_system: null, device: null }

/** What the user agent says. Names are those of the `bowser` package, and never other words of the user agent. */
export function softwareOf(userAgent: string): Software {
  return userAgent === '' ? unknown : judged(userAgent)
}

/** `skipParsing`: the engine is not asked for. */
const judged = byUserAgent((userAgent): Software => {
  const parser = Bowser.getParser(userAgent, true)
  const browser = parser.getBrowserName()
  const system = parser.getOSName()
  return {
    browser: browsers.has(browser) && !otherBrowsers.test(userAgent) ? browser : null,
    operating_system: systems.has(system) ? system : null,
    device: deviceOf(userAgent, parser.getPlatformType()),
  }
})

/** Names of programs, which have no browser. A program counts as a person only where it sent a link's password. */
const programs = /bot|spider|crawler|slurp|-user|external|indexer|phantom|generic/i
/** Where bowser knows no browser, it gives the first words of the user agent, which may be anything. */
const browsers = new Set(
  [...Object.values(Bowser.BROWSER_MAP), 'Miui', 'Opera Touch', 'PlayStation 4'].filter((name) => !programs.test(name)),
)
/** WebKit, but not Safari. */
const otherBrowsers = /\bNintendo/
const systems = new Set(Object.values(Bowser.OS_MAP))
const devices = new Set<string>(['desktop', 'mobile', 'tablet', 'tv'] satisfies Device[])

/** Boxes and consoles at a television. Their systems are those of phones and desks. */
const televisions =
  /\bAFT[A-Z\d]{1,6}\b|\bBRAVIA\b|\bCrKey\/|\bVIZIO\b|\bXbox\b|\bPlayStation\b|\bNintendo\b|\b(?:Android|Google|Apple) ?TV\b/

function deviceOf(userAgent: string, platform: string): Device | null {
  if (televisions.test(userAgent)) return 'tv'
  if (devices.has(platform)) return platform as Device
  if (/\bMobile\b/.test(userAgent)) return 'mobile'
  return /\bX11\b/.test(userAgent) ? 'desktop' : null
}
