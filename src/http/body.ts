import type { IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader } from './answer.ts'
import type { Exchange } from './exchange.ts'

/**
 * Waits for the whole body, but not for one of more than `maxBytes`. Returns `body_too_large`, and `malformed_request` if
 * the client left.
 */
export function receiveBody(exchange: Exchange, maxBytes: number): Failure | Promise<Buffer | Failure> {
  const { request, headers } = exchange
  // The client may have left before the body was wanted.
  if (request.destroyed) return cutOff
  if (Number(headers['content-length'] ?? 0) > maxBytes) return refuseLarge(exchange, maxBytes)
  if (isAwaitingContinue(request)) exchange.response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<Buffer | Failure>()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    const before = length
    length += chunk.length
    if (length <= maxBytes) chunks.push(chunk)
    else if (before <= maxBytes) resolve(refuseLarge(exchange, maxBytes))
  })
  request.on('end', () => {
    if (length <= maxBytes) resolve(Buffer.concat(chunks))
  })
  request.on('error', () => resolve(cutOff))
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
