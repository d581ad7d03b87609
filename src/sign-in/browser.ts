import { detectSoftware } from '../analytics/capture/software.ts'
import type { Exchange } from '../http/exchange.ts'

/** Names the browser of a request for lists: "Firefox on Linux". The user agent itself is not stored. */
export function describeBrowser({ headers }: Pick<Exchange, 'headers'>): string {
  const { browser, operating_system } = detectSoftware(headers['user-agent'] ?? '')
  return operating_system === null ? (browser ?? 'Unknown browser') : `${browser ?? 'Browser'} on ${operating_system}`
}
