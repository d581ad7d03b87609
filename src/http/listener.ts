import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { Failure, overloaded } from '../errors.ts'
import { ByteBudget } from './byte-budget.ts'
import { Connections } from './connections.ts'
import {
  Exchange,
  type ExchangeContext,
  type Handler,
  type HandlerResult,
  type Match,
  newRequestId,
} from './exchange.ts'
import { toFailure } from './failures.ts'
import type { Overload } from './overload.ts'
import { checkRequest, headersTooLarge, isUpgrade, maxHeadBytes, useOriginForm } from './request-head.ts'
import { addHeader, addHeaders, send } from './response.ts'

// A static import would also load the lazy parts of the module, such as a WebSocket client: 16 MB and a fifth of the
// start-up time (ADR 18).
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

/** Time limits for headers, whole requests and idle connections. Milliseconds. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 72_000 }
/** Bytes of responses that clients have not read, for the whole listener. */
const maxUnreadBytes = 64 * 1024 * 1024
/** Bytes of incomplete bodies and waiting requests, for the whole listener. */
const maxUnfinishedBytes = 32 * 1024 * 1024
/** The approximate memory of a pipelined request that waits. Bytes. */
const waitingRequestBytes = 4_096
/** The time that idle connections have for one more request after the listener starts to drain. Milliseconds. */
const graceMs = 300

export interface ListenerOptions extends Omit<ExchangeContext, 'unread' | 'unfinished'> {
  /** Finds the route of each request, or a fallback. Never throws. */
  readonly matcher: { find(method: string, target: string): Match }
  readonly maxConnections: number
  /** Omitted by a listener that must respond however busy the process is. */
  readonly overload?: Overload
  /** Returns what is wrong with the Host of a request. */
  readonly checkHost: (exchange: Exchange) => Failure | undefined
}

/** An HTTP server that bounds the resources of its clients, and can stop without failing requests. */
export class Listener {
  readonly server: Server
  /** Whether `drain` has been called. Requests then get `shutting_down`. */
  isDraining = false
  readonly #options: ListenerOptions
  readonly #context: ExchangeContext
  readonly #connections: Connections

  constructor(options: ListenerOptions) {
    this.#options = options
    const unfinished = new ByteBudget(maxUnfinishedBytes)
    this.#context = { ...options, unread: new ByteBudget(maxUnreadBytes), unfinished }
    this.server = createServer(
      {
        ...timeouts,
        connectionsCheckingInterval: 1_000,
        requireHostHeader: false,
        maxHeaderSize: maxHeadBytes,
        // Without it, each request has a stream for its body: see `hasBody`.
        optimizeEmptyRequests: true,
      },
      (request, response) => this.#serveInOrder(request, response),
    )
    this.#connections = new Connections(this.server, options.maxConnections)
    handleClientErrors(this.server, this.#connections, this.#context)
  }

  /** Closes the server after all requests, and all connections after `deadlineMs`. Requests in transit get a 503. */
  async drain(deadlineMs: number): Promise<void> {
    const { server } = this
    this.isDraining = true
    if (!server.listening) return
    const closed = once(server, 'close')
    // `http.Server` would close idle connections immediately, and has no option against that.
    TcpServer.prototype.close.call(server)
    this.#connections.closeAfterResponses()
    const sweep = setInterval(() => this.#connections.closeIdle(), graceMs)
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    await closed
    clearInterval(sweep)
    clearTimeout(deadline)
  }

  /** Serves the pipelined requests of a connection one by one, each in its own tick, so that they cannot delay others. */
  #serveInOrder(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    // The client got a 408, and may have repeated this request.
    if (!socket.writable) return
    const { unfinished } = this.#context
    const earlier = this.#connections.awaitedResponse(socket)
    if (earlier === undefined) {
      this.#serve(request, response)
      return
    }
    unfinished.hold(socket, waitingRequestBytes)
    earlier.once('close', () => {
      unfinished.release(socket, waitingRequestBytes)
      setImmediate(() => socket.writable && this.#serve(request, response))
    })
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    useOriginForm(request)
    const match = this.#options.matcher.find(request.method as string, request.url as string)
    const exchange = new Exchange(this.#context, request, response, match)
    this.#context.observer.started()
    this.#context.onArrival?.(exchange)
    const failure = this.#admit(exchange, match)
    if (failure === undefined) handle(exchange, match.route.handler)
    else fail(exchange, failure)
  }

  /** Returns why the request cannot be served: shutdown, overload, or malformed HTTP. */
  #admit(exchange: Exchange, { query }: Match): Failure | undefined {
    const { overload, checkHost } = this.#options
    const isSurplus = this.#connections.isSurplus(exchange.request.socket)
    if (this.isDraining || isSurplus || isUpgrade(exchange)) addHeader(exchange, 'connection', 'close')
    if (this.isDraining) return new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 })
    if (!exchange.route.isAlwaysServed) {
      const busy = isSurplus ? overloaded('The server has reached its connection limit.') : overload?.refusal()
      if (busy !== undefined) return busy
    }
    return checkRequest(exchange.request, query) ?? checkHost(exchange)
  }
}

/** Runs the handler, and responds with the failure that it returns or throws. A synchronous handler costs no promise. */
function handle(exchange: Exchange, handler: Handler): void {
  const end = (failure: HandlerResult) => failure && fail(exchange, failure)
  try {
    const outcome = handler(exchange)
    if (outcome instanceof Promise) outcome.then(end).catch((error) => fail(exchange, error))
    else end(outcome)
  } catch (error) {
    fail(exchange, error)
  }
}

/** Responds with a failure. Any other error is logged and becomes `internal_error`. */
function fail(exchange: Exchange, error: unknown): void {
  const { observer, onFailure } = exchange.context
  const failure = toFailure(error)
  if (failure.code === 'internal_error') observer.crashed(exchange.id, error)
  else if (failure.facts.cause !== undefined) observer.failed(exchange.id, failure)
  if (exchange.response.headersSent) return
  exchange.failure = failure.code
  onFailure?.(exchange)
  // Deferred, so that the failures of one tick are written together.
  setImmediate(sendFailure, exchange, failure)
}

function sendFailure(exchange: Exchange, failure: Failure): void {
  const { response, route, context } = exchange
  if (response.headersSent) return
  const formatFailure = route.formatFailure ?? context.formatFailure
  const { status, headers, body } = formatFailure(failure, exchange.id, exchange.headers.accept)
  addHeaders(exchange, headers)
  try {
    send(exchange, status, body)
  } catch (error) {
    // The handler added an invalid header before it failed.
    context.observer.crashed(exchange.id, error)
    response.destroy()
    context.observer.ended(exchange, true)
  }
}

type ParserError = Error & { code?: string }

/** Timeouts that are answered in one tick. Thousands of connections can expire in the same second. */
const timeoutsPerTick = 50

/** The time that a rejected client has to close its side of the connection. Milliseconds. */
const lingerMs = 2_000

const requestTimeout = new Failure('request_timeout', 'The request did not arrive in time.')
const connectRejected = new Failure('malformed_request', 'CONNECT is for proxies; this is an origin server.')

/** Responds to bytes that never become a request: garbage, oversized or incomplete headers, CONNECT. */
function handleClientErrors(server: Server, connections: Connections, context: ExchangeContext): void {
  /** Rejects and closes the connection after earlier responses have been sent (RFC 9112 §9.3.2). */
  const rejectInOrder = (socket: Socket, failure: Failure) => {
    const latest = connections.awaitedResponse(socket)
    if (latest === undefined) reject(socket, failure, context)
    else if (!isAwaitingBody(latest)) latest.once('close', () => socket.destroySoon())
    else if (latest.socket !== null) reject(socket, failure, context)
    // A response gets its socket after the earlier ones have been sent. By then, the client may have left.
    else latest.once('socket', () => socket.writable && reject(socket, failure, context))
  }
  const expired: { readonly socket: Socket; readonly bytesWritten: number }[] = []
  const rejectExpired = () => {
    for (const { socket, bytesWritten } of expired.splice(0, timeoutsPerTick)) {
      // The request may have arrived since then, and have got its response.
      if (socket.writable && socket.bytesWritten === bytesWritten) rejectInOrder(socket, requestTimeout)
    }
    if (expired.length > 0) setImmediate(rejectExpired)
  }
  server.on('clientError', (error: ParserError, stream) => {
    const socket = stream as Socket
    const isGone = error.code === 'ECONNRESET' || !socket.writable
    if (isGone) socket.destroy(error)
    else if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') rejectInOrder(socket, failureFor(error))
    else if (expired.push({ socket, bytesWritten: socket.bytesWritten }) === 1) setImmediate(rejectExpired)
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

function reject(socket: Socket, failure: Failure, context: ExchangeContext): void {
  const { formatFailure, fixedHeaders, observer } = context
  const requestId = newRequestId()
  const { status, headers, body } = formatFailure(failure, requestId, undefined)
  const lines = Object.entries({
    ...headers,
    ...fixedHeaders,
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
