import type { IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader } from './answer.ts'
import { type Connections, crowded } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { MalformedForm } from './form-encoding.ts'
import type { Overload } from './overload.ts'

/** Characters that a request target may have. */
export const longestTarget = 8 * 1024

/**
 * Puts the target of the request into origin form. One in absolute form, which a server must accept (RFC 9112 §3.2.2),
 * becomes its path, and its host the Host.
 */
export function takeOriginForm(request: Pick<IncomingMessage, 'url' | 'headers'>): void {
  const { url = '/' } = request
  const absolute = url.startsWith('/') ? null : /^https?:\/\/([^/?#]+)(.*)$/i.exec(url)
  if (absolute === null) return
  const [, host, rest = ''] = absolute
  request.headers.host = host
  request.url = rest.startsWith('/') ? rest : `/${rest}`
}

/** Set once the process has been told to stop. */
export interface Drain {
  isDraining: boolean
}

/** What can turn any request away. */
export interface Gate {
  readonly drain: Drain
  readonly overload: Overload
  readonly connections: Connections
}

/**
 * What every request passes first, whatever its path: shutdown, overload, and whether it is HTTP at all. The failure that
 * it leaves with; undefined when it passes.
 */
export function refusalAt({ drain, overload, connections }: Gate, exchange: Exchange): Failure | undefined {
  const isSurplus = connections.isSurplus(exchange)
  if (drain.isDraining || isSurplus) addHeader(exchange, 'connection', 'close')
  if (drain.isDraining) return new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 })
  return (isSurplus ? crowded(exchange) : undefined) ?? overload.refusal(exchange) ?? fault(exchange)
}

/** What is wrong with the request as such; undefined when nothing is. */
function fault(exchange: Exchange): Failure | undefined {
  const { target, query, request } = exchange
  if (target.length > longestTarget) return new Failure('url_too_long', 'The URL is longer than 8 KiB.')
  if (query instanceof MalformedForm) {
    return new Failure('malformed_url', `The query of the URL cannot be read. ${query.message}`)
  }
  return headerFault(request) ?? hostFault(exchange)
}

/** What the parser lets pass: headers that may come only once and did not, and codings that it did not undo. */
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

/** RFC 9112 §3.2: a Host, which is a host and perhaps a port. Behind a trusted proxy, what it forwards for it. */
function hostFault({ host, protocol, request }: Exchange): Failure | undefined {
  if (!/^https?$/i.test(protocol)) {
    return new Failure('malformed_request', 'X-Forwarded-Proto is neither http nor https.')
  }
  if (hostPattern.test(host) || (host === '' && request.httpVersion === '1.0')) return undefined
  const what = host === '' ? 'The request has no Host header.' : 'The Host header is not a host and port.'
  return new Failure('malformed_request', what)
}

const hostPattern = /^(?:[\w.~-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{0,5})?$/
