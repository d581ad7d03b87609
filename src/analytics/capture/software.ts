import Bowser from 'bowser'
import { memoized } from '../../lib/lru-cache.ts'
import { maxUserAgent } from './visit.ts'

/** Returns the software and the device of a user agent, with the names of the `bowser` package; null if unknown. */
export const softwareOf = memoized((userAgent) => {
  if (userAgent === '') return { browser: null, operating_system: null, device: null }
  const skipsParsing = true
  const parser = Bowser.getParser(userAgent, skipsParsing)
  const browser = parser.getBrowserName()
  const system = parser.getOSName()
  return {
    browser: browsers.has(browser) && !otherBrowsers.test(userAgent) ? browser : null,
    operating_system: systems.has(system) ? system : null,
    device: deviceOf(userAgent, parser.getPlatformType()),
  }
}, maxUserAgent)

/** Names of programs, which are not browsers. A program counts as a person if it sends a link's password. */
const programs = /bot|spider|crawler|slurp|-user|external|indexer|phantom|generic/i
/** The known names: for an unknown browser, `bowser` returns the first words of the user agent. */
const browsers = new Set(
  [...Object.values(Bowser.BROWSER_MAP), 'Miui', 'Opera Touch', 'PlayStation 4'].filter((name) => !programs.test(name)),
)
/** WebKit, but not Safari. */
const otherBrowsers = /\bNintendo/
const systems = new Set(Object.values(Bowser.OS_MAP))
const devices = new Set(['desktop', 'mobile', 'tablet', 'tv'])

/** Set-top boxes and consoles. They have the operating systems of phones and computers. */
const televisions =
  /\bAFT[A-Z\d]{1,6}\b|\bBRAVIA\b|\bCrKey\/|\bVIZIO\b|\bHbbTV\b|\bXbox\b|\bPlayStation\b|\bNintendo\b|\b(?:Android|Google|Apple) ?TV\b/

function deviceOf(userAgent: string, platform: string): string | null {
  if (televisions.test(userAgent)) return 'tv'
  if (devices.has(platform)) return platform
  if (/\bMobile\b/.test(userAgent)) return 'mobile'
  return /\bX11\b/.test(userAgent) ? 'desktop' : null
}
