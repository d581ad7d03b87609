import type { Exchange } from './exchange.ts'

/** Adds a header field to the answer under way. The name is in lower case, and has not been added before. */
export function addHeader(exchange: Exchange, name: string, value: string): void {
  exchange.headerFields.push(name, value)
}

export function hasHeader({ headerFields }: Exchange, name: string): boolean {
  return headerFields.some((field, at) => at % 2 === 0 && field === name)
}

/** Sends the answer, with the fields that were added, and has it logged. */
export function send(exchange: Exchange, status: number, body: string | Buffer = ''): void {
  const { headerFields, response } = exchange
  // RFC 9110 §8.6: neither has a body, so that there is no length to tell.
  if (status !== 204 && status !== 304) headerFields.push('content-length', String(Buffer.byteLength(body)))
  response.writeHead(status, headerFields)
  response.end(body)
  const isLost = response.destroyed || response.socket?.destroyed === true || Boolean(response.socket?.errored)
  if (isLost || response.writableLength === 0) exchange.surroundings.log.ended(exchange, isLost)
  else awaitReader(exchange)
}

/**
 * A client that has not taken a byte of its answer for so long, or for twice as long where it took some before, does not
 * read: its connection is cut. Milliseconds.
 */
const patienceMs = 75_000

/** Only now, since the timer and the listener would cost every answer as much as its header fields do. */
function awaitReader(exchange: Exchange): void {
  const { response, surroundings } = exchange
  response.setTimeout(patienceMs)
  surroundings.unread.add(response)
  response.on('close', () => surroundings.log.ended(exchange, !response.writableFinished))
}

/** Sends JSON text. */
export function sendJson(exchange: Exchange, status: number, text: string): void {
  addHeader(exchange, 'content-type', 'application/json; charset=utf-8')
  send(exchange, status, text)
}
