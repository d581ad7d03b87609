import { gzip } from 'node:zlib'
import { codingFor } from './content-coding.ts'
import type { Exchange } from './exchange.ts'

/** Adds a header field to the answer under way. The name is in lower case. */
export function addHeader(exchange: Exchange, name: string, value: string): void {
  exchange.headerFields.push(name, value)
}

export function hasHeader({ headerFields }: Exchange, name: string): boolean {
  return placeOf(headerFields, name) >= 0
}

/** The place of a header field's name among names and values in turn; -1 if it was not added. */
function placeOf(headerFields: readonly string[], name: string): number {
  return headerFields.findIndex((field, at) => at % 2 === 0 && field === name)
}

/** Sends the answer with the fields that were added, and has it logged. Returns what a handler that has answered returns. */
export function send(exchange: Exchange, status: number, body: string | Buffer = ''): undefined {
  // RFC 9110 §8.6: neither status has a body whose length could be told.
  if (status !== 204 && status !== 304) addHeader(exchange, 'content-length', String(Buffer.byteLength(body)))
  return sendReady(exchange, status, body)
}

/** The same for an answer whose fields are complete. */
export function sendReady(exchange: Exchange, status: number, body: string | Buffer): undefined {
  const { headerFields, response } = exchange
  response.writeHead(status, headerFields)
  response.end(body)
  const isLost = response.destroyed || response.socket?.destroyed === true || Boolean(response.socket?.errored)
  if (isLost || response.writableLength === 0) exchange.surroundings.log.ended(exchange, isLost)
  else awaitReader(exchange)
}

/**
 * A client that takes no byte of its answer for this long, or for twice as long after it took some, does not read: its
 * connection is cut. Milliseconds.
 */
const patienceMs = 75_000

/** Called only for an answer that was not taken at once: the timer and the listener cost as much as its header fields. */
function awaitReader(exchange: Exchange): void {
  const { response, surroundings } = exchange
  response.setTimeout(patienceMs)
  surroundings.unread.add(response)
  response.on('close', () => surroundings.log.ended(exchange, !response.writableFinished))
}

/** Shorter text is not compressed. Characters. */
const minCompressed = 1_024

/**
 * What the entity tag of a compressed answer ends with. A strong tag belongs to one representation, and a content coding
 * makes another (RFC 9110 §8.8.3.3).
 */
export const gzipSuffix = '-gzip'

/** Sends 304 for a GET whose 200 may be compressed (RFC 9110 §15.4.5: with the Vary that the 200 would have). */
export function sendNotModified(exchange: Exchange): undefined {
  addHeader(exchange, 'vary', 'Accept-Encoding')
  return send(exchange, 304)
}

/** Sends JSON text: see `sendText`. */
export function sendJson(exchange: Exchange, status: number, text: string): undefined {
  addHeader(exchange, 'content-type', 'application/json; charset=utf-8')
  return sendText(exchange, status, text)
}

/** Sends text, compressed if it is long and the client asks for that. */
export function sendText(exchange: Exchange, status: number, text: string): undefined {
  if (text.length < minCompressed) return send(exchange, status, text)
  addHeader(exchange, 'vary', 'Accept-Encoding')
  if (codingFor(exchange.headers['accept-encoding'], ['gzip']) !== 'gzip') return send(exchange, status, text)
  gzip(text, (error, bytes) => {
    /* node:coverage ignore next */
    if (error !== null) return void send(exchange, status, text)
    addHeader(exchange, 'content-encoding', 'gzip')
    markCompressed(exchange.headerFields)
    send(exchange, status, bytes)
  })
}

function markCompressed(headerFields: string[]): void {
  const at = placeOf(headerFields, 'etag') + 1
  if (at > 0) headerFields[at] = (headerFields[at] as string).replace(/"$/, `${gzipSuffix}"`)
}
