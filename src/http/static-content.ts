/**
 * Content that stays the same: made and compressed once, sent from memory. A stream for each request would let clients
 * that do not read make us hold files and memory without end.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { addHeader, send } from './answer.ts'
import { conditionOf, entityTagOf } from './conditions.ts'
import type { Exchange } from './exchange.ts'

/** What to send for one address, in each content coding (RFC 9110 §8.4.1). */
export interface StaticContent {
  readonly type: string
  /** For entity tags. */
  readonly version: string
  readonly codings: Readonly<Record<Coding, Buffer>>
}

type Coding = 'br' | 'gzip' | 'identity'

/** Within a tenth of the smallest size, in a sixtieth of its time: content may be made at a stranger's request. */
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Compresses the text. `type` is its media type, with the charset. */
export async function staticContent(type: string, text: string): Promise<StaticContent> {
  const identity = Buffer.from(text)
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
  const version = createHash('sha256').update(identity).digest('base64url')
  return { type, version, codings: { br, gzip: gzipped, identity } }
}

/** Sends the content in a coding that the client accepts; 304 when the client has it. Throws `precondition_failed`. */
export function sendStatic(exchange: Exchange, { type, version, codings }: StaticContent): void {
  const coding = codingFor(exchange.headers['accept-encoding'])
  // A strong tag names the bytes, and those of each coding differ (RFC 9110 §8.8.3.3).
  const tagged = coding === 'identity' ? version : `${version}-${coding}`
  const isKnown = conditionOf(exchange)?.isKnown(tagged)
  addHeader(exchange, 'etag', entityTagOf(tagged))
  addHeader(exchange, 'cache-control', 'no-cache')
  addHeader(exchange, 'vary', 'Accept-Encoding')
  if (isKnown) {
    send(exchange, 304)
    return
  }
  if (coding !== 'identity') addHeader(exchange, 'content-encoding', coding)
  addHeader(exchange, 'content-type', type)
  send(exchange, 200, codings[coding])
}

/** The best of our codings that an Accept-Encoding header allows (RFC 9110 §12.5.3). */
function codingFor(accepted: string | string[] = ''): Coding {
  const isAccepted = new Map(
    String(accepted)
      .toLowerCase()
      .split(',')
      .map((each) => {
        const [coding = '', weight = 'q=1'] = each.split(';').map((part) => part.trim())
        return [coding, Number(weight.slice('q='.length)) > 0]
      }),
  )
  return (['br', 'gzip'] as const).find((coding) => isAccepted.get(coding) ?? isAccepted.get('*')) ?? 'identity'
}
