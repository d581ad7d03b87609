import type { IncomingMessage } from 'node:http'
import { Failure, overloaded } from '../errors.ts'
import { addHeader } from './answer.ts'
import type { Connections } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { MalformedForm } from './form-encoding.ts'
import type { Overload } from './overload.ts'
import { headFault, isHostAllowed } from './target.ts'

/** What can turn any request of a listener away. */
export interface Gate {
  /** Set once the listener has been told to stop. */
  readonly drain: { readonly isDraining: boolean }
  readonly connections: Connections
  /** Left out by a listener that must answer however busy the process is. */
  readonly overload?: Overload
  /** What is wrong with the Host of a request; left out by a listener that answers whatever it is. */
  readonly hostFault?: (exchange: Exchange) => Failure | undefined
}

/**
 * What every request passes first, whatever its path: shutdown, too many connections, overload, and whether it is HTTP at
 * all. Returns the failure that answers it; undefined if it passes.
 */
export function refusalAt({ drain, overload, connections, hostFault }: Gate, exchange: Exchange): Failure | undefined {
  const isSurplus = connections.isSurplus(exchange)
  if (drain.isDraining || isSurplus || asksToUpgrade(exchange)) addHeader(exchange, 'connection', 'close')
  if (drain.isDraining) return new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 })
  if (!exchange.route.isAlwaysServed) {
    const busy = isSurplus ? overloaded('The server has as many connections as it can serve.') : overload?.refusal()
    if (busy !== undefined) return busy
  }
  return fault(exchange) ?? hostFault?.(exchange)
}

/** Node drops what follows such a request in the same packet, so its connection must end (RFC 9112 §9.3.2). */
function asksToUpgrade({ headers }: Exchange): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')
}

/** For a listener that serves any host. RFC 9112 §3.2: HTTP/1.1 requires a Host header, whatever the target. */
export function missingHost({ request }: Exchange): Failure | undefined {
  const { httpVersion, rawHeaders } = request
  return httpVersion === '1.1' && timesSent('host', rawHeaders) === 0 ? noHost : undefined
}

/** For a listener whose Host must be an IP address or one of these names, in lower case. */
export function strangeHost(names: readonly string[]): (exchange: Exchange) => Failure | undefined {
  return (exchange) => {
    const malformed = malformedHost(exchange)
    if (malformed !== undefined || isHostAllowed(exchange.host, names)) return malformed
    return new Failure('malformed_request', `The Host must be an IP address or one of ${names.join(', ')}.`)
  }
}

/** What is wrong with the request as such. */
function fault(exchange: Exchange): Failure | undefined {
  const { query, request } = exchange
  const malformed = headFault(request)
  if (malformed !== undefined) return malformed
  if (query instanceof MalformedForm) {
    return new Failure('malformed_url', `The query of the URL cannot be read. ${query.message}`)
  }
  return headerFault(request)
}

/** What the parser lets pass: headers that may come only once but came twice, and transfer codings that it did not undo. */
function headerFault({ rawHeaders, headers }: IncomingMessage): Failure | undefined {
  if (timesSent('host', rawHeaders) > 1 || timesSent('authorization', rawHeaders) > 1) {
    // Node keeps the first of two; a proxy in front may have judged the other.
    return new Failure('malformed_request', 'The Host or the Authorization header was sent twice.')
  }
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined
  return new Failure('malformed_request', 'The only Transfer-Encoding that is understood is chunked.')
}

function timesSent(header: string, rawHeaders: readonly string[]): number {
  let times = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === header.length && name.toLowerCase() === header) times += 1
  }
  return times
}

/** RFC 9112 §3.2: a Host must be a host and perhaps a port. Behind a trusted proxy, it is the host that the proxy forwards. */
export function malformedHost({ host, protocol, request }: Exchange): Failure | undefined {
  if (!/^https?$/i.test(protocol)) {
    return new Failure('malformed_request', 'X-Forwarded-Proto is neither http nor https.')
  }
  if (hostPattern.test(host) || (host === '' && request.httpVersion === '1.0')) return undefined
  return host === '' ? noHost : new Failure('malformed_request', 'The Host header is not a host and port.')
}

const noHost = new Failure('malformed_request', 'The request has no Host header.')

const hostPattern = /^(?:[\w.~-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{0,5})?$/
