import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../errors.ts'
import { awaitedResponse } from './connections.ts'
import type { Surroundings } from './exchange.ts'
import { STATUS_CODES } from './node-http.ts'
import { newRequestId } from './request-id.ts'
import { headersTooLarge } from './target.ts'

type ParserError = Error & { code?: string }

/** How long a refused client may take to close its side. Milliseconds. */
const lingerMs = 2_000

/**
 * Answers what never becomes a request as any other failure: garbage, headers that are too large or never end, CONNECT. An
 * unknown `Expect` is ignored (RFC 9110 §10.1.1). `Connections` tracks those of the server.
 */
export function answerSocketErrors(server: Server, surroundings: Surroundings): void {
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket, surroundings))
  server.on('connect', (_, socket) => refuseInTurn(socket as Socket, isProxyMethod, surroundings))
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Only the route knows whether it wants the body.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
}

const isProxyMethod = new Failure('malformed_request', 'CONNECT is for proxies; this is an origin server.')

function onClientError(error: ParserError, socket: Socket, surroundings: Surroundings): void {
  const isGone = error.code === 'ECONNRESET' || !socket.writable
  if (isGone) socket.destroy(error)
  else refuseInTurn(socket, fault(error), surroundings)
}

/** Never overtakes an answer under way (RFC 9112 §9.3.2); the connection closes after it. */
function refuseInTurn(socket: Socket, failure: Failure, surroundings: Surroundings): void {
  const latest = awaitedResponse(socket)
  const isBehind = latest !== undefined && !awaitsBody(latest)
  if (isBehind) latest.once('close', () => socket.destroySoon())
  // A response gets the socket once those before it have been sent. By then, more broken bytes may have arrived.
  else if (latest?.socket === null)
    latest.once('socket', () => socket.writable && refuse(socket, failure, surroundings))
  else refuse(socket, failure, surroundings)
}

/** Whether the handler of this request waits for the body, so that the body is what is broken. */
function awaitsBody({ req }: ServerResponse): boolean {
  return !req.complete && req.method !== 'GET' && req.method !== 'HEAD' && req.method !== 'DELETE'
}

function fault({ code, message }: ParserError): Failure {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Failure('request_timeout', 'The request did not arrive in time.')
    case 'HPE_INVALID_URL':
      return new Failure(
        'malformed_url',
        'The URL has characters that must be percent-encoded, such as "ü" as "%C3%BC".',
      )
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Failure('body_too_large', 'The chunk extensions of the body take more than 16 KiB.')
    case 'HPE_INVALID_CHUNK_SIZE':
      if (message.includes('overflow')) return new Failure('body_too_large', 'A chunk of the body is too large.')
  }
  return new Failure('malformed_request', 'What arrived is not a valid HTTP request.')
}

function refuse(socket: Socket, failure: Failure, surroundings: Surroundings): void {
  const requestId = newRequestId()
  const { status, headers, body } = surroundings.word(failure, requestId, undefined)
  const lines = Object.entries({
    ...headers,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    date: new Date().toUTCString(),
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  surroundings.log.refused(requestId, status, failure)
  // Node no longer handles the socket's errors, nor closes it for a client that never does.
  socket.on('error', () => socket.destroy())
  setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
