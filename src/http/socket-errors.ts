import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Failure } from '../errors.ts'
import { longestUrl, newRequestId } from './arrival.ts'
import { problemOf } from './problem.ts'
import type { RequestLog } from './request-log.ts'

/** What Node's parser throws; `rawPacket` is what it was reading. */
type ParserError = Error & { code?: string; rawPacket?: unknown }

/**
 * Answers what never becomes a request, in the same words as all else: raw garbage, headers that are too large or
 * never end, CONNECT. An `Expect` that nobody knows is ignored (RFC 9110 §10.1.1).
 */
export function answerSocketErrors(app: FastifyInstance, log: RequestLog): void {
  app.server.on('connect', (_, socket) => {
    refuse(socket as Socket, new Failure('malformed_request', 'CONNECT is for proxies; this is an origin server.'), log)
  })
  app.server.on('checkExpectation', (request, response) => (app.server as Server).emit('request', request, response))
}

/** Fastify's `clientErrorHandler`. */
export function onClientError(log: RequestLog): (error: ParserError, socket: Socket) => void {
  return (error, socket) => {
    const isGone = error.code === 'ECONNRESET' || !socket.writable
    if (isGone) socket.destroy(error)
    else refuse(socket, failureOf(error), log)
  }
}

function failureOf({ code, rawPacket }: ParserError): Failure {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Failure('request_timeout', 'The request did not arrive in time.')
  if (code === 'HPE_INVALID_URL') {
    return new Failure('malformed_url', 'The URL has characters that must be percent-encoded, such as "ü" as "%C3%BC".')
  }
  if (code !== 'HPE_HEADER_OVERFLOW') {
    return new Failure('malformed_request', 'What arrived is not a valid HTTP request.')
  }
  return hasLongUrl(rawPacket)
    ? new Failure('url_too_long', 'The URL is longer than 8 KiB.')
    : new Failure('headers_too_large', 'The headers take more than 16 KiB together.')
}

/** The parser counts the request target as a header; it is the target's fault when the first line has no end in sight. */
function hasLongUrl(packet: unknown): boolean {
  if (!(packet instanceof Buffer) || !/^[A-Z]+ \//.test(packet.toString('latin1', 0, 16))) return false
  const end = packet.indexOf('\r\n')
  return end < 0 || end > longestUrl
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
  socket.end(`HTTP/1.1 ${status} ${reasons[status] ?? 'Bad Request'}\r\n${lines.join('')}\r\n${body}`)
}

const reasons: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
}
