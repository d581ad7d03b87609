import { softwareOf } from '../analytics/capture/software.ts'

/** Names a browser in lists: "Firefox on Linux". The user agent itself is not stored. */
export function browserLabel(userAgent = ''): string {
  const { browser, operating_system } = softwareOf(userAgent)
  return operating_system === null ? (browser ?? 'Unknown browser') : `${browser ?? 'Browser'} on ${operating_system}`
}
