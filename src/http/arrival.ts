import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { addHeader, beginAnswer } from './answer.ts'
import { type Connections, crowded } from './connections.ts'
import { MalformedForm, parseQuery } from './form-encoding.ts'
import type { Overload } from './overload.ts'

/** Characters that a request target may have. */
export const longestTarget = 8 * 1024

const callersId = /^[\w.-]{1,64}$/
const processId = randomBytes(9).toString('base64url')
let requests = 0

/** The caller's own `X-Request-Id` where it is harmless, else a new one, unique across processes. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && callersId.test(sent) ? sent : newRequestId()
}

export function newRequestId(): string {
  requests += 1
  return `${processId}-${requests.toString(36)}`
}

/**
 * Fastify's `rewriteUrl`: a target in absolute form, which a server must accept (RFC 9112 §3.2.2), becomes its path, and
 * its host the Host.
 */
export function originFormOf(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const { url = '/' } = request
  const absolute = url.startsWith('/') ? null : /^https?:\/\/([^/?#]+)(.*)$/i.exec(url)
  if (absolute === null) return url
  const [, host, rest = ''] = absolute
  request.headers.host = host
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Set once the process has been told to stop. */
export interface Drain {
  isDraining: boolean
}

/** What every request passes first, whatever its path: shutdown, overload, and whether it is HTTP at all. */
export function receive(app: FastifyInstance, drain: Drain, overload: Overload, connections: Connections): void {
  app.addHook('onRequest', (request, reply, done) => {
    app.requestLog.began(request)
    beginAnswer(reply, request.id)
    const isSurplus = connections.isSurplus(request)
    if (drain.isDraining || isSurplus) addHeader(reply, 'connection', 'close')
    if (drain.isDraining) {
      done(new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 }))
    } else {
      done((isSurplus ? crowded(request) : undefined) ?? overload.refusal(request) ?? fault(request))
    }
  })
}

/** What is wrong with the request as such; undefined when nothing is. */
function fault(request: FastifyRequest): Failure | undefined {
  const { url = '' } = request.raw
  if (url.length > longestTarget) return new Failure('url_too_long', 'The URL is longer than 8 KiB.')
  // Fastify reads the query of a path that no route has with a parser of its own.
  const query = request.is404 ? parseQuery(url.slice(`${url}?`.indexOf('?') + 1)) : request.query
  if (query instanceof MalformedForm) {
    return new Failure('malformed_url', `The query of the URL cannot be read. ${query.message}`)
  }
  return headerFault(request.raw) ?? hostFault(request)
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
function hostFault({ host, protocol, raw }: FastifyRequest): Failure | undefined {
  if (host === '') {
    return raw.httpVersion === '1.0' ? undefined : new Failure('malformed_request', 'The request has no Host header.')
  }
  if (!hostPattern.test(host)) return new Failure('malformed_request', 'The Host header is not a host and port.')
  if (/^https?$/i.test(protocol)) return undefined
  return new Failure('malformed_request', 'X-Forwarded-Proto is neither http nor https.')
}

const hostPattern = /^(?:[\w.~-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{0,5})?$/
