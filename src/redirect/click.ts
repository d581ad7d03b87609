/** What of a visit's request makes a click. */
import type { Visit } from '../clicks/visit.ts'
import { classOf } from '../clicks/visitor-class.ts'
import type { Exchange } from '../http/exchange.ts'

/** The visit to a link of a domain. `countryHeader` names the header that tells visitors' countries. */
export function visitTo(link: number, host: string, exchange: Exchange, countryHeader: string | null): Visit {
  const { headers, method } = exchange
  const userAgent = headers['user-agent'] ?? ''
  return {
    link,
    atMs: Date.now(),
    // A password is typed by a person, whatever the program that sends it.
    class: method === 'POST' ? 'person' : classOf(method, userAgent),
    isPrivate: headers['sec-gpc'] === '1' || headers.dnt === '1',
    address: exchange.clientAddress,
    host,
    userAgent,
    referrer: headers.referer ?? '',
    languages: headers['accept-language'] ?? '',
    country: countryHeader === null ? '' : String(headers[countryHeader] ?? ''),
    count: 1,
  }
}
