/** Checks of a request's head that Node's parser leaves to the server (RFC 9112). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Failure } from '../errors.ts'
import type { Exchange, Match } from './exchange.ts'

export const maxTargetBytes = 8 * 1024

const maxHeaderBytes = 32 * 1024

/** Node's `maxHeaderSize`. Its parser rejects a larger head with 431, whatever is too long. */
export const maxHeadBytes = maxTargetBytes + maxHeaderBytes + 1

/** The head exceeds the limits above, or the number of headers that Node accepts. */
export const headersTooLarge = new Failure(
  'headers_too_large',
  'The headers are larger than 32 KiB, or larger than 40 KiB together with the URL, or there are more than 1,000 headers.',
)

/** Rewrites a target in absolute form into origin form, with its host as the Host (RFC 9112 §3.2.2). */
export function useOriginForm(request: IncomingMessage): void {
  const { url = '/' } = request
  const absolute = url.startsWith('/') ? null : /^https?:\/\/([^/?#]+)(.*)$/i.exec(url)
  if (absolute === null) return
  const [, host, rest = ''] = absolute
  request.headers.host = host
  request.url = rest.startsWith('/') ? rest : `/${rest}`
}

/** Whether a request has a body (RFC 9112 §6.3). Without one, its stream is destroyed from the start and has no events. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Whether the connection must be closed, because Node drops further data in the packet (RFC 9112 §9.3.2). */
export function isUpgrade({ headers }: Exchange): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')
}

/** Returns what is wrong with a request, except for its Host. `query` is its query as parsed. */
export function checkRequest(request: IncomingMessage, query: Match['query']): Failure | undefined {
  const { url = '/', rawHeaders, httpVersion, headers } = request
  if (url.length > maxTargetBytes) return new Failure('url_too_long', 'The URL is longer than 8 KiB.')
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  if (bytes > maxHeaderBytes) return headersTooLarge
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new Failure('malformed_request', `HTTP/${httpVersion} is not supported. Send HTTP/1.1.`)
  }
  if (query instanceof Failure) return query
  // The parser accepts repeated headers that may appear only once, and transfer codings that it does not decode.
  if (countHeader('host', rawHeaders) > 1 || countHeader('authorization', rawHeaders) > 1) {
    // Node uses the first value; a proxy may have checked the second.
    return new Failure('malformed_request', 'The Host or the Authorization header was sent twice.')
  }
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined
  return new Failure('malformed_request', 'The only supported Transfer-Encoding is chunked.')
}

function countHeader(header: string, rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === header.length && name.toLowerCase() === header) count += 1
  }
  return count
}

/** Requires a Host that is a host with an optional port (RFC 9112 §3.2), which may come from a trusted proxy. */
export function requireValidHost({ host, protocol, request }: Exchange): Failure | undefined {
  if (!/^https?$/.test(protocol)) {
    return new Failure('malformed_request', 'X-Forwarded-Proto must be http or https.')
  }
  if (hostPattern.test(host) || (host === '' && request.httpVersion === '1.0')) return undefined
  return host === '' ? missingHost : new Failure('malformed_request', 'The Host header is not a host and port.')
}

/** Requires a Host header of any value. HTTP/1.0 requests may lack it (RFC 9112 §3.2). */
export function requireHost({ request }: Exchange): Failure | undefined {
  const { httpVersion, rawHeaders } = request
  return httpVersion === '1.1' && countHeader('host', rawHeaders) === 0 ? missingHost : undefined
}

/** Requires a Host that is an IP address or one of `names`, in lower case, with any port. */
export function requireHostAmong(names: readonly string[]): (exchange: Exchange) => Failure | undefined {
  return (exchange) => {
    const failure = requireValidHost(exchange)
    const name = exchange.host.replace(/:\d*$/, '').toLowerCase()
    // A web page from elsewhere can reach the server only through another name (DNS rebinding).
    const isAllowed = name === '' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name)
    if (failure !== undefined || isAllowed) return failure
    return new Failure('malformed_request', `The Host must be an IP address or one of ${names.join(', ')}.`)
  }
}

const missingHost = new Failure('malformed_request', 'The request has no Host header.')

const hostPattern = /^(?:[\w.~-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{0,5})?$/
