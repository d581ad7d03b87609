/** QR codes of short URLs (ISO/IEC 18004), as SVG and PNG. */

import { hash } from 'node:crypto'
import { type Operation, readId } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, validationFailed } from '../errors.ts'
import { form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { integer, oneOf } from '../forms/rules.ts'
import { addEntityTag, type Condition, readCondition } from '../http/conditions.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, formatDisposition, send } from '../http/response.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { capacity, drawPng, drawSvg, encodeModules, type Frame, type Level, levels, type Modules } from '../qr/code.ts'
import { findQrStyle } from '../qr/store.ts'
import { plainStyle, type QrStyle } from '../qr/style.ts'
import type { Db, Storage } from '../storage/port.ts'
import { Refusal } from '../violations.ts'
import { findAddresses } from './addresses.ts'
import { reference } from './fields.ts'
import { linkOperations } from './operations.ts'
import type { LinkRow } from './schema.ts'
import { findLink } from './store.ts'

const size = 'Width and height in pixels. Each module needs at least one.'
const margin = 'The white margin on each side, in modules (the squares of the code).'

export const qrQuery = form({
  format: optional(oneOf(['svg', 'png'], 'The image format. SVG scales to any size.'), 'svg'),
  size: optional(integer({ minimum: 64, maximum: 2048, description: size }), 512),
  margin: optional(integer({ minimum: 0, maximum: 16, description: margin }), 4),
  level: optional(
    oneOf(levels, 'The error correction level: 7% (L), 15% (M), 25% (Q) or 30% (H) of the code may be damaged.'),
    'M',
  ),
  address_id: optional(reference('The further address whose short URL is drawn. Default: the main one.'), null),
  style: optional(
    oneOf(
      ['plain', 'domain'],
      'Black on white, or the colors, margin and logo that the dashboard shows for the domain.',
    ),
    'plain',
  ),
})

/** Returns the short URL that a query draws, and its domain. Throws `validation_failed` for an unknown address. */
export async function drawnAddress(db: Db, account: number, link: LinkRow, sent: Fields, shortUrl: ShortUrl) {
  const { address_id: id = null } = qrQuery.read(sent).values
  const all = id === null ? undefined : await findAddresses(db, account, [link.id])
  const { domain_id, domain_name, alias } =
    id === null ? link : (all?.get(link.id)?.find((address) => address.id === id) ?? { ...link, domain_name: null })
  if (domain_name === null) throw validationFailed([new Refusal('unknown_address', { id: id ?? 0 }).at('address_id')])
  return { shortUrl: shortUrl(domain_name, alias), domain_id }
}

export const showLinkQr: Operation = {
  id: 'showLinkQr',
  method: 'GET',
  path: '/links/:id/qr',
  tag: linkOperations.show.tag,
  summary: 'Show the QR code of a link',
  description:
    'Returns the short URL as a QR code. A longer short URL needs more modules. If `size` or `level` does not fit, the error names a value that works.',
  scope: 'links:read',
  query: qrQuery,
  headers: ['If-Match', 'If-None-Match'],
  refused: { format: 'gif', size: '4096' },
  success: {
    status: 200,
    description: 'The image.',
    media: { 'image/svg+xml': { schema: Type.String() }, 'image/png': {} },
    headers: ['ETag', 'Content-Disposition', 'Content-Security-Policy'],
  },
  failures: ['not_found', 'precondition_failed', 'validation_failed'],
}

/** Adds `GET /links/{id}/qr`. */
export function linkQrRoute(api: Api, storage: Storage, shortUrl: ShortUrl): void {
  api.add(showLinkQr, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const { record } = found(await findLink(storage, actor.account, readId(exchange, 'link')), 'link')
    const drawn = await drawnAddress(storage, actor.account, record, exchange.query, shortUrl)
    const { style } = qrQuery.read(exchange.query).values
    const request = {
      name: `link-${record.id}`,
      shortUrl: drawn.shortUrl,
      style: style === 'domain' ? await findQrStyle(storage, actor.account, drawn.domain_id) : undefined,
      query: exchange.query,
      disposition: 'inline' as const,
    }
    return sendQr(exchange, request, condition)
  })
}

interface QrRequest {
  /** The file name without its extension. */
  readonly name: string
  readonly shortUrl: string
  readonly query: Fields
  /** Whether a browser shows or downloads the image. */
  readonly disposition: 'inline' | 'attachment'
  /** The style of the code, whose margin the query can change; plain by default. */
  readonly style?: QrStyle | undefined
  /** Headers of a successful response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the QR code that the query describes, or 304 if the client has it. Returns `validation_failed`. */
export async function sendQr(
  exchange: Exchange,
  { name: file, shortUrl, query: sent, disposition, headers = {}, ...request }: QrRequest,
  condition: Condition | null,
): Promise<HandlerResult> {
  const image = await drawQr(shortUrl, sent, request.style)
  if (image instanceof Failure) return image
  const { format, picture, hasLogo } = image
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
  if (addEntityTag(exchange, hash('sha1', picture, 'base64url'), condition)) return send(exchange, 304)
  addHeader(exchange, 'content-type', format === 'svg' ? 'image/svg+xml' : 'image/png')
  addHeader(exchange, 'content-disposition', formatDisposition(disposition, `${file}.${format}`))
  // A browser runs scripts in an SVG document that it opens directly.
  const images = hasLogo ? ' img-src data:;' : ''
  addHeader(exchange, 'content-security-policy', `default-src 'none';${images} sandbox`)
  return send(exchange, 200, picture)
}

/** Draws the QR code that the query describes. Returns `validation_failed`. */
export async function drawQr(shortUrl: string, sent: Fields, given = plainStyle) {
  const style = fittingStyle(given, shortUrl)
  const hasLogo = style.logo !== null
  const query = qrQuery.check({ margin: String(style.margin), ...sent, ...(hasLogo && { level: 'H' }) })
  if (query instanceof Failure) return query
  const modules = encodeFitting(shortUrl, query)
  if (modules instanceof Failure) return modules
  const { format } = query
  const picture = format === 'svg' ? drawSvg(modules, query, style) : await drawPng(modules, query, style)
  return { format, picture, hasLogo }
}

/** Returns the style without its logo if the short URL is too long for the level that a logo needs. */
function fittingStyle(style: QrStyle, shortUrl: string): QrStyle {
  return shortUrl.length > capacity.H ? { ...style, logo: null } : style
}

/** Encodes the short URL. Returns `validation_failed` if it exceeds the level, or the image lacks a pixel per module. */
function encodeFitting(shortUrl: string, { level, ...frame }: Frame & { readonly level: Level }): Modules | Failure {
  if (shortUrl.length > capacity[level]) {
    const highest = levels.findLast((each) => shortUrl.length <= capacity[each])
    const params = { level, length: shortUrl.length, highest: String(highest) }
    return validationFailed([new Refusal('not_allowed.level', params).at('level')])
  }
  const modules = encodeModules(shortUrl, level)
  const smallest = modules.length + 2 * frame.margin
  if (frame.size >= smallest) return modules
  return validationFailed([new Refusal('out_of_range.size', { least: smallest }).at('size')])
}
