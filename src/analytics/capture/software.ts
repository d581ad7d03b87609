import Bowser from 'bowser'
import { memoized } from '../../lib/lru-cache.ts'
import * as names from './names.ts'
import { maxUserAgent } from './visit.ts'

/** Returns the software and the device of a user agent, with the names of the `bowser` package; null if unknown. */
export const detectSoftware = memoized((userAgent) => {
  if (userAgent === '') return { browser: null, operating_system: null, device: null }
  const skipsParsing = true
  const parser = Bowser.getParser(userAgent, skipsParsing)
  const browser = parser.getBrowserName()
  const system = parser.getOSName()
  return {
    browser: browsers.has(browser) && !otherBrowsers.test(userAgent) ? browser : null,
    operating_system: systems.has(system) ? system : null,
    device: detectDevice(userAgent, parser.getPlatformType()),
  }
}, maxUserAgent)

/** For an unknown browser, `bowser` returns the first words of the user agent. */
const browsers = new Set(names.browsers)
/** WebKit, but not Safari. */
const otherBrowsers = /\bNintendo/
const systems = new Set(names.operatingSystems)
const devices = new Set(names.devices)

/** Set-top boxes and consoles. They have the operating systems of phones and computers. */
const televisions =
  /\bAFT[A-Z\d]{1,6}\b|\bBRAVIA\b|\bCrKey\/|\bVIZIO\b|\bHbbTV\b|\bXbox\b|\bPlayStation\b|\bNintendo\b|\b(?:Android|Google|Apple) ?TV\b/

function detectDevice(userAgent: string, platform: string): string | null {
  if (televisions.test(userAgent)) return 'tv'
  if (devices.has(platform)) return platform
  if (/\bMobile\b/.test(userAgent)) return 'mobile'
  return /\bX11\b/.test(userAgent) ? 'desktop' : null
}
