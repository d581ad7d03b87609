import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Failure } from '../errors.ts'

/** Bytes that a request target may have. A longer one is a 414. */
export const maxTargetBytes = 8 * 1024

/** Bytes that the names and values of a request's headers may have together. More is a 431. */
const maxHeaderBytes = 32 * 1024

/**
 * Bytes of target and headers together at which the parser gives up; Node's `maxHeaderSize`. That is a 431, since the parser
 * no longer knows which of them was too long. A target below this size that is too long is a 414, however its bytes arrive.
 */
export const maxHeadBytes = maxTargetBytes + maxHeaderBytes + 1

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

/** What is wrong with the size of a target and headers, or with the version of HTTP; undefined if nothing is. */
export function headFault(request: Pick<IncomingMessage, 'url' | 'rawHeaders' | 'httpVersion'>): Failure | undefined {
  const { url = '/', rawHeaders, httpVersion } = request
  if (url.length > maxTargetBytes) return new Failure('url_too_long', 'The URL is longer than 8 KiB.')
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  if (bytes > maxHeaderBytes) return headersTooLarge
  if (httpVersion === '1.1' || httpVersion === '1.0') return undefined
  return new Failure('malformed_request', `HTTP/${httpVersion} is not supported. Send HTTP/1.1.`)
}

/** Also for headers that the parser refused: their size with the target's, or their number. */
export const headersTooLarge = new Failure(
  'headers_too_large',
  'The headers take more than 32 KiB, or more than 40 KiB together with the URL, or are more than a thousand.',
)

/**
 * Whether a client may ask a listener of this network by this Host: an IP address or one of `names`, with any port. A page
 * that a browser loaded from elsewhere can reach the listener only by a name of its own (DNS rebinding), so clients that
 * name no host are let in. `names` are in lower case.
 */
export function isHostAllowed(host: string, names: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase()
  return name === '' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name)
}
