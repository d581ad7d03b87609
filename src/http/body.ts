import { Failure } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { hasBody } from './request-head.ts'
import { addHeader } from './response.ts'

/** Receives the whole body. Returns `body_too_large`, or `malformed_request` if the connection was closed. */
export function receiveBody(exchange: Exchange, maxBytes: number): Buffer | Failure | Promise<Buffer | Failure> {
  const { request, response, headers, context } = exchange
  if (!hasBody(headers)) return request.socket.writable ? Buffer.alloc(0) : incompleteBody
  if (request.destroyed) return incompleteBody
  if (Number(headers['content-length'] ?? 0) > maxBytes) return rejectLarge(exchange, maxBytes)
  // HTTP/1.0 has no expectations, and unknown ones are ignored (RFC 9110 §10.1.1).
  if (headers.expect?.toLowerCase() === '100-continue' && request.httpVersion !== '1.0') response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<Buffer | Failure>()
  let buffer: Buffer = Buffer.alloc(0)
  let length = 0
  const finish = (result: Buffer | Failure) => {
    context.unfinished.release(request.socket, buffer.length)
    buffer = Buffer.alloc(0)
    resolve(result)
  }
  const receive = (chunk: Buffer) => {
    if (length + chunk.length > maxBytes) {
      request.off('data', receive).resume()
      finish(rejectLarge(exchange, maxBytes))
      return
    }
    const { length: before } = buffer
    buffer = append(buffer, length, chunk, maxBytes)
    length += chunk.length
    context.unfinished.hold(request.socket, buffer.length - before)
  }
  request.on('data', receive)
  // A client that has got a 408 may have repeated the request.
  request.on('end', () => finish(request.socket.writable ? buffer.subarray(0, length) : incompleteBody))
  request.on('error', () => finish(incompleteBody))
  return promise
}

/** Returns a buffer with the chunk added, and room for more. Many small chunks would take several times their size. */
function append(buffer: Buffer, length: number, chunk: Buffer, maxBytes: number): Buffer {
  if (length === 0) return chunk
  const needed = length + chunk.length
  let grown = buffer
  if (needed > buffer.length) {
    grown = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(needed, 2 * buffer.length)))
    buffer.copy(grown)
  }
  chunk.copy(grown, length)
  return grown
}

/** The client left, or the parser failed, in the middle of the body. No one receives this response. */
const incompleteBody = new Failure('malformed_request', 'The body ended early.')

/** Closes the connection after the response, because the rest of the body may still arrive. */
function rejectLarge(exchange: Exchange, maxBytes: number): Failure {
  addHeader(exchange, 'connection', 'close')
  return new Failure('body_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
