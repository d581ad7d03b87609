import type { IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { addHeader } from './response.ts'

/**
 * Receives the whole body. Returns `body_too_large` if it has more than `maxBytes`, and `malformed_request` if the client
 * left, or if its connection was closed because unfinished requests took too much memory.
 */
export function receiveBody(exchange: Exchange, maxBytes: number): Failure | Promise<Buffer | Failure> {
  const { request, headers } = exchange
  // The client may have left already.
  if (request.destroyed) return incompleteBody
  if (Number(headers['content-length'] ?? 0) > maxBytes) return rejectLarge(exchange, maxBytes)
  if (isAwaitingContinue(request)) exchange.response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<Buffer | Failure>()
  const body = new GrowingBody(exchange, maxBytes)
  let isTooLarge = false
  const finish = (result: Buffer | Failure) => {
    body.release()
    resolve(result)
  }
  request.on('data', (chunk: Buffer) => {
    if (isTooLarge) return
    isTooLarge = !body.add(chunk)
    if (isTooLarge) finish(rejectLarge(exchange, maxBytes))
  })
  request.on('end', () => {
    if (!isTooLarge) finish(body.bytes)
  })
  request.on('error', () => finish(incompleteBody))
  return promise
}

/** A body that grows as it arrives. One buffer, because many small ones would take several times its size. */
class GrowingBody {
  readonly #exchange: Exchange
  readonly #maxBytes: number
  #buffer: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(exchange: Exchange, maxBytes: number) {
    this.#exchange = exchange
    this.#maxBytes = maxBytes
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Adds a chunk, and its memory to the budget. Returns false if the body is then too large. */
  add(chunk: Buffer): boolean {
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) return false
    const before = this.#buffer
    if (this.#length === 0) this.#buffer = chunk
    else if (length > before.length) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(length, 2 * before.length)))
      before.copy(this.#buffer)
    }
    if (this.#length > 0) chunk.copy(this.#buffer, this.#length)
    this.#length = length
    const { request, context } = this.#exchange
    context.unfinished.hold(request.socket, this.#buffer.length - before.length)
    return true
  }

  /** Returns the memory to the budget. */
  release(): void {
    const { request, context } = this.#exchange
    context.unfinished.release(request.socket, this.#buffer.length)
    this.#buffer = Buffer.alloc(0)
  }
}

/** The client left, or the parser failed, in the middle of the body. No one receives this response. */
const incompleteBody = new Failure('malformed_request', 'The body ended early.')

/** HTTP/1.0 has no expectations, and unknown ones are ignored (RFC 9110 §10.1.1). */
function isAwaitingContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'
}

/** Closes the connection after the response, because the rest of the body may still arrive. */
function rejectLarge(exchange: Exchange, maxBytes: number): Failure {
  addHeader(exchange, 'connection', 'close')
  return new Failure('body_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
