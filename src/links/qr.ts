/** Encodes texts as QR codes (ISO/IEC 18004), and QR codes as SVG and PNG. */
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import encodeQR from 'qr'

/** Error correction levels: about 7, 15, 25 and 30 % of a code may be damaged. */
export const levels = ['L', 'M', 'Q', 'H'] as const
export type Level = (typeof levels)[number]

const names = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const

/** The bytes in the largest code (table 7 of the standard). */
export const capacity: Readonly<Record<Level, number>> = { L: 2953, M: 2331, Q: 1663, H: 1273 }

/** The modules of a code, row by row, without its margin: true is dark. */
export type Modules = readonly (readonly boolean[])[]

/** Encodes an ASCII text, which must fit into the level's capacity. */
export function encodeModules(text: string, level: Level): Modules {
  const framed = encodeQR(text, 'raw', { ecc: names[level], encoding: 'byte', border: 1 })
  return framed.slice(1, -1).map((row) => row.slice(1, -1))
}

/** The size of the image in pixels, and the smallest white margin on each side in modules. */
export interface Frame {
  readonly size: number
  readonly margin: number
}

/** Returns the modules per side, including the margin: the smallest size with a pixel per module. */
export function countModules(modules: Modules, margin: number): number {
  return modules.length + 2 * margin
}

/** Draws the code as an SVG document. */
export function drawSvg(modules: Modules, { size, margin }: Frame): string {
  const side = countModules(modules, margin)
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
  const scale = Math.floor(size / countModules(modules, margin))
  const start = Math.floor((size - scale * modules.length) / 2)
  const white = Buffer.alloc(Math.ceil(size / 8), 0xff)
  const lines: Buffer[] = Array(size).fill(white)
  for (const [y, row] of modules.entries()) {
    lines.fill(drawLine(row, { scale, start, white }), start + y * scale, start + (y + 1) * scale)
  }
  return encodePng(size, lines)
}

interface Layout {
  /** Pixels per module. */
  readonly scale: number
  /** The first pixel of the first module. */
  readonly start: number
  readonly white: Buffer
}

function drawLine(row: readonly boolean[], { scale, start, white }: Layout): Buffer {
  const line = Buffer.from(white)
  for (const [index, isDark] of row.entries()) {
    if (isDark) blacken(line, start + index * scale, start + (index + 1) * scale)
  }
  return line
}

/** Clears the bits from `first` up to `end`, whole bytes where possible. */
function blacken(line: Buffer, first: number, end: number): void {
  for (let bit = first; bit < end; ) {
    const isWhole = bit % 8 === 0 && bit + 8 <= end
    line[bit >> 3] = isWhole ? 0 : (line[bit >> 3] as number) & ~(0x80 >> (bit & 7))
    bit += isWhole ? 8 : 1
  }
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** One bit per pixel, grayscale, and the only methods that exist. */
const imageHeader = [1, 0, 0, 0, 0]

/**
 * Encodes a black-and-white image as PNG (ISO/IEC 15948). Each line has `width` bits from the left, 1 for white, padded to
 * whole bytes.
 */
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
