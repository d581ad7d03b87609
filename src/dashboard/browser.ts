import { softwareOf } from '../clicks/software.ts'

/** What lists of sessions call a browser: "Firefox on Linux". The user agent itself is not kept. */
export function browserOf(userAgent = ''): string {
  const { browser, operating_system } = softwareOf(userAgent)
  return operating_system === null ? (browser ?? 'Unknown browser') : `${browser ?? 'Browser'} on ${operating_system}`
}
