import type { IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader } from './answer.ts'
import type { Exchange } from './exchange.ts'

/** Bytes that the bodies under way may take, in all connections of a listener together: see `ByteBudget`. */
export const maxUnfinishedBytes = 32 * 1024 * 1024
/** What a chunk takes in memory beyond its bytes, about: otherwise a body of one-byte chunks would hardly count. */
const chunkOverhead = 256

/**
 * Receives the whole body. Returns `body_too_large` if it has more than `maxBytes`, and `malformed_request` if the client
 * left, or if its connection was closed because unfinished bodies took too much memory.
 */
export function receiveBody(exchange: Exchange, maxBytes: number): Failure | Promise<Buffer | Failure> {
  const { request, headers, surroundings } = exchange
  // The client may have left before the body was wanted.
  if (request.destroyed) return cutOff
  if (Number(headers['content-length'] ?? 0) > maxBytes) return refuseLarge(exchange, maxBytes)
  if (isAwaitingContinue(request)) exchange.response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<Buffer | Failure>()
  let chunks: Buffer[] = []
  let length = 0
  let held = 0
  const finish = (result: Buffer | Failure) => {
    surroundings.bodies.release(request.socket, held)
    held = 0
    chunks = []
    resolve(result)
  }
  request.on('data', (chunk: Buffer) => {
    const before = length
    length += chunk.length
    if (length <= maxBytes) {
      chunks.push(chunk)
      held += chunk.length + chunkOverhead
      surroundings.bodies.hold(request.socket, chunk.length + chunkOverhead)
    } else if (before <= maxBytes) finish(refuseLarge(exchange, maxBytes))
  })
  request.on('end', () => {
    if (length <= maxBytes) finish(Buffer.concat(chunks))
  })
  request.on('error', () => finish(cutOff))
  return promise
}

/** The client left, or the parser lost it, in the middle of the body: this answer reaches no one. */
const cutOff = new Failure('malformed_request', 'The body ended early.')

/** RFC 9110 §10.1.1: not for HTTP/1.0, and an unknown expectation is ignored. */
function isAwaitingContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'
}

/** The connection is closed after the answer, since the rest of the body may still come. */
function refuseLarge(exchange: Exchange, maxBytes: number): Failure {
  addHeader(exchange, 'connection', 'close')
  return new Failure('body_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
