/** QR codes of short URLs (ISO/IEC 18004), as SVG and PNG. */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import encodeQR from 'qr'
import { type Api, idOf, type Operation } from '../api/operations.ts'
import { Failure, found, validationFailed } from '../errors.ts'
import { form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { integer, oneOf } from '../forms/rules.ts'
import { addEntityTag, type Condition, conditionOf } from '../http/conditions.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, dispositionOf, send } from '../http/response.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { Refusal } from '../violations.ts'
import { linkOperations } from './schema.ts'
import { findLink } from './store.ts'

/** Error correction levels: about 7, 15, 25 and 30 % of a code may be damaged. */
const levels = ['L', 'M', 'Q', 'H'] as const
type Level = (typeof levels)[number]

const names = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const

/** The bytes in the largest code (table 7 of the standard). */
const capacity: Readonly<Record<Level, number>> = { L: 2953, M: 2331, Q: 1663, H: 1273 }

const size = 'Width and height in pixels. Each module needs at least one.'
const margin = 'The white margin on each side, in modules (the squares of the code).'

const qrQuery = form({
  format: optional(oneOf(['svg', 'png'], 'The image format. SVG scales to any size.'), 'svg'),
  size: optional(integer({ minimum: 64, maximum: 2048, description: size }), 512),
  margin: optional(integer({ minimum: 0, maximum: 16, description: margin }), 4),
  level: optional(
    oneOf(levels, 'The error correction level: 7% (L), 15% (M), 25% (Q) or 30% (H) of the code may be damaged.'),
    'M',
  ),
})

export const showLinkQr: Operation = {
  id: 'showLinkQr',
  method: 'GET',
  path: '/links/:id/qr',
  tag: linkOperations.show.tag,
  summary: 'Show the QR code of a link',
  description:
    'Returns the short URL as a QR code, black on white. A longer short URL needs more modules. If `size` or `level` does not fit, the error names a value that works.',
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

interface QrRequest {
  /** The file name without its extension. */
  readonly name: string
  readonly shortUrl: string
  readonly query: Fields
  /** Whether a browser shows or downloads the image. */
  readonly disposition: 'inline' | 'attachment'
  /** Headers of a successful response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the QR code that the query describes, or 304 if the client has it. Returns `validation_failed`. */
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
    const params = { level, length: shortUrl.length, highest: String(highest) }
    return validationFailed([new Refusal('not_allowed.level', params).at('level')])
  }
  const modules = encodeModules(shortUrl, level)
  const smallest = modules.length + 2 * frame.margin
  if (frame.size >= smallest) return modules
  return validationFailed([new Refusal('out_of_range.size', { least: smallest }).at('size')])
}

/** The modules of a code, row by row, without its margin: true is dark. */
type Modules = readonly (readonly boolean[])[]

/** Encodes an ASCII text, which must fit into the level's capacity. */
export function encodeModules(text: string, level: Level): Modules {
  const framed = encodeQR(text, 'raw', { ecc: names[level], encoding: 'byte', border: 1 })
  return framed.slice(1, -1).map((row) => row.slice(1, -1))
}

/** The size of the image in pixels, and the smallest white margin on each side in modules. */
interface Frame {
  readonly size: number
  readonly margin: number
}

/** Draws the code as an SVG document. */
function drawSvg(modules: Modules, { size, margin }: Frame): string {
  const side = modules.length + 2 * margin
  const path = modules.map((row, y) => drawRow(row, margin, y + margin)).join('')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${side} ${side}"`,
    ` shape-rendering="crispEdges"><rect width="${side}" height="${side}" fill="#fff"/><path d="${path}"/></svg>`,
  ].join('')
}

/** Returns an SVG path with one rectangle per run of dark modules. */
function drawRow(row: readonly boolean[], left: number, y: number): string {
  let path = ''
  for (let x = row.indexOf(true); x >= 0; x = row.indexOf(true, x)) {
    const light = row.indexOf(false, x)
    const end = light < 0 ? row.length : light
    path += `M${x + left} ${y}h${end - x}v1h${x - end}z`
    x = end
  }
  return path
}

/** Draws the code as a PNG. Each module has the same whole number of pixels, and the rest widens the margin. */
export function drawPng(modules: Modules, { size, margin }: Frame): Promise<Buffer> {
  const scale = Math.floor(size / (modules.length + 2 * margin))
  const start = Math.floor((size - scale * modules.length) / 2)
  const white = Buffer.alloc(Math.ceil(size / 8), 0xff)
  const lines: Buffer[] = Array(size).fill(white)
  for (const [y, row] of modules.entries()) {
    lines.fill(drawLine(row, scale, start, white), start + y * scale, start + (y + 1) * scale)
  }
  return encodePng(size, lines)
}

/** Draws a row, in which each module has `scale` pixels. The first begins at the pixel `start`. */
function drawLine(row: readonly boolean[], scale: number, start: number, white: Buffer): Buffer {
  const line = Buffer.from(white)
  for (let x = 0; x < row.length * scale; x++) {
    const bit = start + x
    if (row[Math.floor(x / scale)]) line[bit >> 3] = (line[bit >> 3] as number) & ~(0x80 >> (bit & 7))
  }
  return line
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** One bit per pixel, grayscale, and the only methods that exist. */
const imageHeader = [1, 0, 0, 0, 0]

/** Encodes an image as PNG (ISO/IEC 15948). Lines are padded to whole bytes and have one bit per pixel, 1 for white. */
async function encodePng(width: number, lines: readonly Buffer[]): Promise<Buffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(lines.length, 4)
  header.set(imageHeader, 8)
  const unfiltered = Buffer.of(0)
  const data = await promisify(deflate)(Buffer.concat(lines.flatMap((line) => [unfiltered, line])))
  return Buffer.concat([pngSignature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  const named = Buffer.concat([Buffer.from(type), data])
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
