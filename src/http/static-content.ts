/** Static content, which is compressed once and sent from memory. Clients that do not read cannot hold open files. */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { addEntityTag, readCondition } from './conditions.ts'
import type { Exchange } from './exchange.ts'
import { addHeader, type Coding, codingFor, send } from './response.ts'

/** The content of one URL, in each content coding (RFC 9110 §8.4.1). */
export interface StaticContent {
  readonly type: string
  readonly version: string
  readonly codings: Readonly<Partial<Record<Coding, Buffer>> & { readonly identity: Buffer }>
}

/** Within 10% of the smallest size, in a sixtieth of the time. Unauthenticated clients can cause compression. */
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** Compresses the text. `type` is its media type, with the charset. */
export async function staticContent(type: string, text: string): Promise<StaticContent> {
  const plain = plainContent(type, text)
  const { identity } = plain.codings
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
  return { ...plain, codings: { br, gzip: gzipped, identity } }
}

/** Returns the text uncompressed, for content that is not worth the time. */
export function plainContent(type: string, text: string): StaticContent {
  const identity = Buffer.from(text)
  return { type, version: hash('sha1', identity, 'base64url'), codings: { identity } }
}

/** Sends content, by default for a URL whose content may change, or 304. Throws `precondition_failed`. */
export function sendStatic(
  exchange: Exchange,
  { type, version, codings }: StaticContent,
  cacheControl: 'no-cache' | 'public, max-age=31536000, immutable' = 'no-cache',
): undefined {
  const coding = codingFor(exchange.headers['accept-encoding'], Object.keys(codings) as Coding[])
  // A strong tag identifies the bytes, which differ between codings (RFC 9110 §8.8.3.3).
  const tagged = coding === 'identity' ? version : `${version}-${coding}`
  const isKnown = addEntityTag(exchange, tagged, readCondition(exchange))
  addHeader(exchange, 'cache-control', cacheControl)
  addHeader(exchange, 'vary', 'Accept-Encoding')
  if (isKnown) return send(exchange, 304)
  if (coding !== 'identity') addHeader(exchange, 'content-encoding', coding)
  addHeader(exchange, 'content-type', type)
  return send(exchange, 200, codings[coding] ?? codings.identity)
}
