/** What of a visit's request makes a click. */
import type { Visit } from '../analytics/capture/visit.ts'
import { classOf } from '../analytics/capture/visitor-class.ts'
import type { Exchange } from '../http/exchange.ts'

/** What is read of a header: more than any that means something. Many visits wait in memory at once. Characters. */
const [maxAgent, maxReferrer, maxShort] = [512, 1_200, 256]
/** A header that was sent twice is a list. */
const asked = /(?:^|,)\s*1\s*(?:,|$)/

/** The visit to a link of a domain. `countryHeader` names the header that tells visitors' countries. */
export function visitTo(link: number, host: string, exchange: Exchange, countryHeader: string | null): Visit {
  const { headers, method } = exchange
  const userAgent = cut(headers['user-agent'], maxAgent)
  const isPrivate = asked.test(String(headers['sec-gpc'])) || asked.test(String(headers.dnt))
  return {
    link,
    atMs: Date.now(),
    // A password is typed by a person, whatever the program that sends it.
    class: method === 'POST' ? 'person' : classOf(method, userAgent),
    isPrivate,
    address: cut(exchange.clientAddress, maxShort),
    host,
    userAgent,
    referrer: cut(headers.referer, maxReferrer),
    languages: cut(headers['accept-language'], maxShort),
    country: countryHeader === null ? '' : cut(String(headers[countryHeader] ?? ''), maxShort),
    count: 1,
  }
}

/** The beginning of a header, as a text of its own: a slice would keep all of it in memory. Node gives headers as Latin-1. */
function cut(header: string | undefined, max: number): string {
  if (header === undefined || header.length <= max) return header ?? ''
  return Buffer.from(header.slice(0, max), 'latin1').toString('latin1')
}
