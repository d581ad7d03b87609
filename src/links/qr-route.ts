import { hash } from 'node:crypto'
import { type Api, idOf, type Operation } from '../api/operations.ts'
import { Failure, found, validationFailed } from '../errors.ts'
import { form, optional, type Rule } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { integerFrom, oneOf } from '../forms/rules.ts'
import { addEntityTag, type Condition, conditionOf } from '../http/conditions.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, dispositionOf, send } from '../http/response.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import {
  capacity,
  countModules,
  drawPng,
  drawSvg,
  encodeModules,
  type Frame,
  type Level,
  levels,
  type Modules,
} from './qr.ts'
import { linkOperations } from './schema.ts'
import { findLink } from './store.ts'

const formats = ['svg', 'png'] as const
const [minSize, maxSize, maxMargin] = [64, 2048, 16]

const between = (minimum: number, maximum: number, description: string): Rule<number> => ({
  schema: Type.Integer({ minimum, maximum, description }),
  parse: (text, label) => integerFrom(minimum, maximum, text, label),
})

export const qrQuery = form({
  format: optional(oneOf(formats, 'SVG, which scales to any size, or PNG.'), 'svg'),
  size: optional(between(minSize, maxSize, 'Width and height in pixels, at least one for each module.'), 512),
  margin: optional(
    between(0, maxMargin, 'The white on each side, in modules: the squares that a code consists of.'),
    4,
  ),
  level: optional(oneOf(levels, 'How much of the code may be damaged: about 7 (L), 15 (M), 25 (Q) or 30 % (H).'), 'M'),
})

export const showLinkQr: Operation = {
  id: 'showLinkQr',
  method: 'GET',
  path: '/links/:id/qr',
  tag: linkOperations.show.tag,
  summary: 'Show the QR code of a link',
  description:
    'The short URL as a QR code: black on white, as a picture. A long short URL has more modules. If `size` or `level` does not fit them, the error names the one that does.',
  scope: 'links:read',
  query: qrQuery,
  headers: ['If-Match', 'If-None-Match'],
  refused: { format: 'gif', size: '4096' },
  success: {
    status: 200,
    description: 'The picture.',
    media: { 'image/svg+xml': { schema: Type.String() }, 'image/png': {} },
    headers: ['ETag', 'Content-Disposition', 'Content-Security-Policy'],
  },
  failures: ['not_found', 'precondition_failed', 'validation_failed'],
}

/** Adds `GET /links/{id}/qr`. */
export function linkQrRoute(api: Api, storage: Storage, shortUrl: ShortUrl): void {
  api.add(showLinkQr, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const { record } = found(await findLink(storage, caller.account, idOf(exchange, 'link')), 'link')
    const request = {
      name: `link-${record.id}`,
      shortUrl: shortUrl(record.domain_name ?? '', record.alias),
      query: exchange.query,
      disposition: 'inline' as const,
    }
    return sendQr(exchange, request, condition)
  })
}

export interface QrRequest {
  /** The file name without its extension. */
  readonly name: string
  readonly shortUrl: string
  readonly query: Fields
  /** Whether a browser shows or downloads the image. */
  readonly disposition: 'inline' | 'attachment'
  /** Headers of a successful response. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends the QR code of a link in the format, size, margin and level of the query, or 304 if the client has it. Returns
 * `validation_failed`.
 */
export async function sendQr(
  exchange: Exchange,
  { name: file, shortUrl, query: sent, disposition, headers = {} }: QrRequest,
  condition: Condition | null,
): Promise<Outcome> {
  const query = qrQuery.check(sent)
  if (query instanceof Failure) return query
  const modules = encodeFitting(shortUrl, query)
  if (modules instanceof Failure) return modules
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
  const isSvg = query.format === 'svg'
  const picture = isSvg ? drawSvg(modules, query) : await drawPng(modules, query)
  if (addEntityTag(exchange, hash('sha1', picture, 'base64url'), condition)) return send(exchange, 304)
  addHeader(exchange, 'content-type', isSvg ? 'image/svg+xml' : 'image/png')
  addHeader(exchange, 'content-disposition', dispositionOf(disposition, `${file}.${query.format}`))
  // A browser runs scripts in an SVG document that it opens directly.
  addHeader(exchange, 'content-security-policy', "default-src 'none'; sandbox")
  return send(exchange, 200, picture)
}

/** Encodes the short URL. Returns `validation_failed` if it exceeds the level, or the image lacks a pixel per module. */
function encodeFitting(shortUrl: string, { level, ...frame }: Frame & { readonly level: Level }): Modules | Failure {
  if (shortUrl.length > capacity[level]) {
    const highest = levels.findLast((each) => shortUrl.length <= capacity[each])
    const message = `The level ${level} cannot hold this short URL, which is ${shortUrl.length} characters long. Send level=${highest}.`
    return validationFailed([{ field: 'level', code: 'not_allowed', message }])
  }
  const modules = encodeModules(shortUrl, level)
  const smallest = countModules(modules, frame.margin)
  if (frame.size >= smallest) return modules
  const message = `The size must be at least ${smallest} for this short URL, so that each module has a pixel.`
  return validationFailed([{ field: 'size', code: 'out_of_range', message }])
}
