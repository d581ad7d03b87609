import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../errors.ts'
import { awaitedResponse, followResponses } from './drain.ts'
import { longestTarget } from './gate.ts'
import { STATUS_CODES } from './node-http.ts'
import { problemOf } from './problem.ts'
import { newRequestId } from './request-id.ts'
import type { RequestLog } from './request-log.ts'

/** What Node's parser throws; `rawPacket` is what it was reading. */
type ParserError = Error & { code?: string; rawPacket?: unknown }

/** How long a client that has been refused may take to close its side. */
const lingerMs = 2_000

/**
 * Answers what never becomes a request, in the same words as all else: raw garbage, headers that are too large or
 * never end, CONNECT. An `Expect` that nobody knows is ignored (RFC 9110 §10.1.1).
 */
export function answerSocketErrors(server: Server, log: RequestLog): void {
  followResponses(server)
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket, log))
  server.on('connect', (_, socket) => {
    refuse(socket as Socket, new Failure('malformed_request', 'CONNECT is for proxies; this is an origin server.'), log)
  })
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Whether a body is wanted is known once the key and the headers have been looked at; see `afterBody`.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
}

/** An answer that is under way is not overtaken (RFC 9112 §9.3.2); the connection ends with it. */
function onClientError(error: ParserError, socket: Socket, log: RequestLog): void {
  const isGone = error.code === 'ECONNRESET' || !socket.writable
  const earlier = awaitedResponse(socket)
  if (isGone) socket.destroy(error)
  else if (earlier === undefined || awaitsBody(earlier)) refuse(socket, fault(error), log)
  else earlier.once('close', () => socket.destroySoon())
}

/** Whether what is broken is the body that this request's handler waits for. */
function awaitsBody({ req }: ServerResponse): boolean {
  return !req.complete && req.method !== 'GET' && req.method !== 'HEAD' && req.method !== 'DELETE'
}

function fault({ code, rawPacket }: ParserError): Failure {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Failure('request_timeout', 'The request did not arrive in time.')
  if (code === 'HPE_INVALID_URL') {
    return new Failure('malformed_url', 'The URL has characters that must be percent-encoded, such as "ü" as "%C3%BC".')
  }
  if (code !== 'HPE_HEADER_OVERFLOW') {
    return new Failure('malformed_request', 'What arrived is not a valid HTTP request.')
  }
  return hasLongTarget(rawPacket)
    ? new Failure('url_too_long', 'The URL is longer than 8 KiB.')
    : new Failure('headers_too_large', 'The headers take more than 32 KiB together, or are more than a thousand.')
}

/** The parser counts the request target as a header; it is the target's fault when the first line has no end in sight. */
function hasLongTarget(packet: unknown): boolean {
  if (!(packet instanceof Buffer) || !/^[A-Z]+ \//.test(packet.toString('latin1', 0, 16))) return false
  const end = packet.indexOf('\r\n')
  return end < 0 || end > longestTarget
}

function refuse(socket: Socket, failure: Failure, log: RequestLog): void {
  const requestId = newRequestId()
  const { status, headers, body } = problemOf(failure, requestId, undefined)
  const lines = Object.entries({
    ...headers,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    date: new Date().toUTCString(),
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  log.refused(requestId, status, failure)
  // Node no longer looks after the socket: a client that resets it, or never closes it, is ours to deal with.
  socket.on('error', () => socket.destroy())
  setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
