import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../errors.ts'
import type { Connections } from './connections.ts'
import { type ExchangeContext, newRequestId } from './exchange.ts'
import { headersTooLarge } from './request-head.ts'

// Not a static import, as in `listener.ts`.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

type ParserError = Error & { code?: string }

/** The time that a rejected client has to close its side of the connection. Milliseconds. */
const lingerMs = 2_000

const connectRejected = new Failure('malformed_request', 'CONNECT is for proxies; this is an origin server.')

/** Responds to bytes that never become a request: garbage, oversized or incomplete headers, CONNECT. */
export function handleClientErrors(server: Server, connections: Connections, context: ExchangeContext): void {
  /** Rejects and closes the connection after earlier responses have been sent (RFC 9112 §9.3.2). */
  const rejectInOrder = (socket: Socket, failure: Failure) => {
    const latest = connections.awaitedResponse(socket)
    if (latest === undefined) reject(socket, failure, context)
    else if (!isAwaitingBody(latest)) latest.once('close', () => socket.destroySoon())
    else if (latest.socket !== null) reject(socket, failure, context)
    // A response gets its socket after the earlier ones have been sent. By then, the client may have left.
    else latest.once('socket', () => socket.writable && reject(socket, failure, context))
  }
  server.on('clientError', (error: ParserError, socket) => {
    const isGone = error.code === 'ECONNRESET' || !socket.writable
    if (isGone) socket.destroy(error)
    else rejectInOrder(socket as Socket, failureFor(error))
  })
  server.on('connect', (_, socket) => rejectInOrder(socket as Socket, connectRejected))
  // An unknown `Expect` is ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // `receiveBody` sends "100 Continue", because only the route knows whether it needs the body.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
}

/** Whether the handler is waiting for the body, so that the error is in the body. */
function isAwaitingBody({ req }: ServerResponse): boolean {
  return !req.complete && req.method !== 'GET' && req.method !== 'HEAD' && req.method !== 'DELETE'
}

function failureFor({ code, message }: ParserError): Failure {
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
      return new Failure('body_too_large', 'The chunk extensions of the body are larger than 16 KiB.')
    case 'HPE_INVALID_CHUNK_SIZE':
      if (message.includes('overflow')) return new Failure('body_too_large', 'A chunk of the body is too large.')
  }
  return new Failure('malformed_request', 'The request is not valid HTTP.')
}

function reject(socket: Socket, failure: Failure, { formatFailure, observer }: ExchangeContext): void {
  const requestId = newRequestId()
  const { status, headers, body } = formatFailure(failure, requestId, undefined)
  const lines = Object.entries({
    ...headers,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    date: new Date().toUTCString(),
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  observer.rejected(requestId, status, failure)
  // Node stops handling the socket's errors, and does not close it if the client never does.
  socket.on('error', () => socket.destroy())
  setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
