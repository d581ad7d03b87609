import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** The header fields of the answer, names and values in turn. */
    headerFields: string[]
  }
}

/** To be called before anything else is done with a reply: what every answer says. */
export function beginAnswer(reply: FastifyReply, requestId: string): void {
  reply.headerFields = ['x-request-id', requestId, 'x-content-type-options', 'nosniff']
}

/** Adds a header field to the answer under way. The name is in lower case, and has not been added before. */
export function addHeader(reply: FastifyReply, name: string, value: string): void {
  reply.headerFields.push(name, value)
}

export function hasHeader({ headerFields }: FastifyReply, name: string): boolean {
  return headerFields.some((field, at) => at % 2 === 0 && field === name)
}

/**
 * Sends the answer, with the fields that were added, and has it logged. Not by Fastify, which would collect them in an
 * object, look up a serialiser and run hooks that nobody has: that took as long as routing a request and reading its key.
 */
export function send(reply: FastifyReply, status: number, body: string | Buffer = ''): void {
  const { headerFields, raw } = reply
  // RFC 9110 §8.6: neither has a body, so that there is no length to tell.
  if (status !== 204 && status !== 304) headerFields.push('content-length', String(Buffer.byteLength(body)))
  raw.writeHead(status, headerFields)
  reply.hijack()
  raw.end(body)
  const isLost = raw.destroyed || raw.socket?.destroyed === true || Boolean(raw.socket?.errored)
  if (isLost || raw.writableLength === 0) reply.server.requestLog.ended(reply, isLost)
  else awaitReader(reply)
}

/**
 * A client that has not taken a byte of its answer for so long, or for twice as long where it took some before, does not
 * read: its connection is cut. Milliseconds.
 */
const patienceMs = 75_000

/** Only now, since the timer and the listener would cost every answer as much as its header fields do. */
function awaitReader(reply: FastifyReply): void {
  const { raw, server } = reply
  raw.setTimeout(patienceMs)
  raw.on('close', () => server.requestLog.ended(reply, !raw.writableFinished))
}

/** Sends JSON text. */
export function sendJson(reply: FastifyReply, status: number, text: string): void {
  addHeader(reply, 'content-type', 'application/json; charset=utf-8')
  send(reply, status, text)
}
