import { gzip, gzipSync } from 'node:zlib'
import type { Exchange } from './exchange.ts'
import { hasBody } from './request-head.ts'

/** Adds a header to the response. Names are in lower case. */
export function addHeader(exchange: Exchange, name: string, value: string): void {
  exchange.headerFields.push(name, value)
}

/** Sets a header of the response, which it may have. */
export function setHeader(exchange: Exchange, name: string, value: string): void {
  const at = indexOfHeader(exchange, name)
  if (at < 0) addHeader(exchange, name, value)
  else exchange.headerFields[at + 1] = value
}

export function addHeaders(exchange: Exchange, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
}

export function hasHeader(exchange: Exchange, name: string): boolean {
  return indexOfHeader(exchange, name) >= 0
}

function indexOfHeader({ headerFields }: Exchange, name: string): number {
  return headerFields.findIndex((field, at) => at % 2 === 0 && field === name)
}

/** Sends the response with the headers that were added. Returns undefined, as a handler that has responded must. */
export function send(exchange: Exchange, status: number, body: string | Uint8Array = ''): undefined {
  // Neither status has a body whose length could be given (RFC 9110 §8.6).
  if (status !== 204 && status !== 304) addHeader(exchange, 'content-length', String(Buffer.byteLength(body)))
  return sendReady(exchange, status, body)
}

/** Sends a response whose headers are complete, including the length. */
export function sendReady(exchange: Exchange, status: number, body: string | Uint8Array): undefined {
  const { headerFields, response, context } = exchange
  discardBody(exchange)
  response.writeHead(status, headerFields)
  response.end(body)
  const isLost = response.destroyed || response.socket?.destroyed === true || Boolean(response.socket?.errored)
  if (isLost || response.writableLength === 0) context.observer.ended(exchange, isLost)
  else awaitReader(exchange)
}

/** The connection is closed if a client sends more bytes of a body that the handler does not read. */
const maxDiscardedBytes = 16 * 1024 * 1024

/**
 * Discards the rest of a body that the handler has not read. A client that waits for "100 Continue" may keep its body, so
 * that the connection cannot be used again (RFC 9110 §10.1.1).
 */
function discardBody(exchange: Exchange): void {
  const { request, headers } = exchange
  if (!hasBody(headers) || request.complete || request.destroyed) return
  if (headers.expect !== undefined) setHeader(exchange, 'connection', 'close')
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > maxDiscardedBytes) request.socket.destroy()
  })
}

/** The connection of a client is closed if it has read nothing for this time, or for twice as long. Milliseconds. */
const readTimeoutMs = 75_000

/** Bounds the time and memory that an unread response takes. Only for those, because it costs as much as `writeHead`. */
function awaitReader(exchange: Exchange): void {
  const { request, response, context } = exchange
  const bytes = response.writableLength
  response.setTimeout(readTimeoutMs)
  response.on('close', () => {
    context.unread.release(request.socket, bytes)
    context.observer.ended(exchange, !response.writableFinished)
  })
  context.unread.hold(request.socket, bytes)
}

/**
 * Sends 200 with text in parts. Creates the next part when the client has read the previous ones, so that memory does not
 * grow with the text. An error after the first part closes the connection, so that clients notice the missing rest.
 */
export async function sendParts(
  exchange: Exchange,
  parts: AsyncGenerator<string>,
  headers: Readonly<Record<string, string>> = {},
): Promise<undefined> {
  const { headerFields, response, context } = exchange
  let part = await parts.next()
  // Only now, because a failure of the first part has its own headers.
  addHeaders(exchange, headers)
  if (response.destroyed) {
    context.observer.ended(exchange, true)
    return
  }
  response.setTimeout(readTimeoutMs)
  response.on('close', () => context.observer.ended(exchange, !response.writableFinished))
  response.writeHead(200, headerFields)
  try {
    while (!part.done && !response.destroyed && exchange.method !== 'HEAD') {
      if (!response.write(part.value)) await drained(exchange)
      part = await parts.next()
    }
    response.end()
  } catch (error) {
    response.destroy()
    throw error
  }
}

/** Resolves when the client has read the response so far, or has left. */
function drained({ request, response, context }: Exchange): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const bytes = response.writableLength
  const end = () => {
    response.off('drain', end).off('close', end)
    context.unread.release(request.socket, bytes)
    resolve()
  }
  response.on('drain', end).on('close', end)
  context.unread.hold(request.socket, bytes)
  return promise
}

/** Shorter text is not compressed. Characters. */
const minCompressed = 1_024
/** Longer text is compressed in another thread, which leaves 200 KB of garbage for each page. Characters. */
const maxCompressedInTick = 400_000
/** Level 3 takes half the time of the default, 6, for an eighth more bytes. */
const gzipOptions = { level: 3 }

/** The suffix of entity tags of compressed responses, because a strong tag identifies the bytes (RFC 9110 §8.8.3.3). */
export const gzipSuffix = '-gzip'

/** Returns the entity tag of a version (RFC 9110 §8.8.3). */
export function formatEntityTag(version: string): string {
  return `"${version}"`
}

/** Sends 304 for a GET whose 200 may be compressed, with the same Vary (RFC 9110 §15.4.5). */
export function sendNotModified(exchange: Exchange): undefined {
  addHeader(exchange, 'vary', 'Accept-Encoding')
  return send(exchange, 304)
}

/** Sends JSON, as text or as UTF-8, compressed if it is long and the client accepts that. */
export function sendJson(exchange: Exchange, status: number, text: string | Uint8Array): Sent {
  addHeader(exchange, 'content-type', 'application/json; charset=utf-8')
  return sendText(exchange, status, text)
}

/** A response that has been sent, or that is sent when the promise resolves, because a thread compresses it. */
export type Sent = undefined | Promise<undefined>

/** Sends text, which may already be UTF-8, compressed if it is long and the client accepts that. */
export function sendText(exchange: Exchange, status: number, text: string | Uint8Array): Sent {
  if (text.length < minCompressed) return send(exchange, status, text)
  addHeader(exchange, 'vary', 'Accept-Encoding')
  if (codingFor(exchange.headers['accept-encoding'], ['gzip']) !== 'gzip') return send(exchange, status, text)
  const sendCompressed = (bytes: Buffer) => {
    addHeader(exchange, 'content-encoding', 'gzip')
    const { headerFields } = exchange
    const at = indexOfHeader(exchange, 'etag') + 1
    if (at > 0) headerFields[at] = (headerFields[at] as string).replace(/"$/, `${gzipSuffix}"`)
    return send(exchange, status, bytes)
  }
  if (text.length <= maxCompressedInTick) return sendCompressed(gzipSync(text, gzipOptions))
  return new Promise((resolve) => {
    gzip(text, gzipOptions, (error, bytes) =>
      resolve(error === null ? sendCompressed(bytes) : send(exchange, status, text)),
    )
  })
}

export type Coding = 'br' | 'gzip' | 'identity'

/** Longer Accept-Encoding headers are ignored. Characters. */
const maxAcceptEncoding = 1_024

/** Returns the first offered coding that an Accept-Encoding header accepts (RFC 9110 §12.5.3), otherwise `identity`. */
export function codingFor(accepted: string | string[] | undefined, offered: readonly Coding[]): Coding {
  if (typeof accepted !== 'string' || accepted.length > maxAcceptEncoding) return 'identity'
  const weights = new Map(accepted.toLowerCase().split(',').map(parseWeight))
  return offered.find((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0) ?? 'identity'
}

function parseWeight(element: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = element.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [coding, weight === undefined ? 1 : Number(weight.slice(2))]
}

/** Returns the `Content-Disposition` for a file with any name (RFC 6266 §4.3, RFC 8187 §3.2). */
export function formatDisposition(kind: 'inline' | 'attachment', name: string): string {
  const safe = name.replace(/[/\\\p{C}\p{Z}]+/gu, '-')
  if (/^[\w.~-]+$/.test(safe)) return `${kind}; filename="${safe}"`
  const plain = safe.replace(/[^\w.~-]+/g, '-')
  const encoded = encodeURIComponent(safe).replace(/['()*!]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
