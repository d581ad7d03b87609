/** QR codes (ISO/IEC 18004): their modules, and how they look as SVG and PNG. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createDeflate, deflate } from 'node:zlib'
import encodeQR from 'qr'
import { decodeRgbaPng, encodePng, resizedLines, withFilterTypes } from './image.ts'

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

/** The size of the image in pixels, and the smallest empty margin on each side in modules. */
export interface Frame {
  readonly size: number
  readonly margin: number
}

/** The colors, such as #0b5c6b, and the logo in the center. */
export interface Look {
  readonly dark: string
  readonly background: string
  /** A PNG from `encodePng` with the format `rgba`. */
  readonly logo: Buffer | null
}

/** The longest side of a stored logo in pixels. */
export const maxLogoSide = 256
/** The maximum size of a stored logo in bytes: in Base64, it fits into a line of an export. */
export const maxLogoBytes = 45_000

/** Returns whether the bytes are a logo as `Look` has it. */
export function isLogo(png: Buffer): boolean {
  return png.length <= maxLogoBytes && decodeRgbaPng(png, maxLogoSide) !== null
}

export const plainLook: Look = { dark: '#000000', background: '#ffffff', logo: null }

/**
 * Returns the side of the empty square for a logo, in modules. It is at most a quarter of the width, so that it damages far
 * less than level H corrects. It is odd, so that the square is exactly in the center, far from the finder patterns.
 */
function logoSide(width: number): number {
  const quarter = Math.floor(width / 4)
  return quarter % 2 === 1 ? quarter : quarter - 1
}

/** The margin between a logo and the modules, in modules. */
const logoMargin = 0.5

/** Returns the modules without those under the logo. */
function withoutCenter(modules: Modules): Modules {
  const start = (modules.length - logoSide(modules.length)) / 2
  const isCenter = (at: number) => at >= start && at < modules.length - start
  return modules.map((row, y) => (isCenter(y) ? row.map((isDark, x) => isDark && !isCenter(x)) : row))
}

/** Draws the code as an SVG document. */
export function drawSvg(code: Modules, { size, margin }: Frame, { dark, background, logo }: Look): string {
  const modules = logo === null ? code : withoutCenter(code)
  const side = modules.length + 2 * margin
  const path = modules.map((row, y) => drawRow(row, margin, y + margin)).join('')
  const fill = dark === plainLook.dark ? '' : ` fill="${dark}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg"${logo === null ? '' : xlink} width="${size}" height="${size}" viewBox="0 0 ${side} ${side}"`,
    ` shape-rendering="crispEdges"><rect width="${side}" height="${side}" fill="${shortColor(background)}"/>`,
    `<path${fill} d="${path}"/>${logo === null ? '' : drawLogo(logo, side, logoSide(modules.length))}</svg>`,
  ].join('')
}

/** Design tools that read SVG 1.1 only know `xlink:href`. */
const xlink = ' xmlns:xlink="http://www.w3.org/1999/xlink"'

function shortColor(color: string): string {
  return color === plainLook.background ? '#fff' : color
}

function drawLogo(logo: Buffer, side: number, hole: number): string {
  const start = (side - hole) / 2 + logoMargin
  const position = `x="${start}" y="${start}" width="${hole - 2 * logoMargin}" height="${hole - 2 * logoMargin}"`
  return `<image ${position} xlink:href="data:image/png;base64,${logo.toString('base64')}"/>`
}

/** Returns an SVG path with one rectangle per run of dark modules. */
function drawRow(row: readonly boolean[], left: number, y: number): string {
  return runsIn(row)
    .map(([start, end]) => `M${start + left} ${y}h${end - start}v1h${start - end}z`)
    .join('')
}

/** Returns the start and the end of each run of dark modules. */
function runsIn(row: readonly boolean[]): [start: number, end: number][] {
  const runs: [number, number][] = []
  for (let start = row.indexOf(true); start >= 0; ) {
    const light = row.indexOf(false, start)
    const end = light < 0 ? row.length : light
    runs.push([start, end])
    start = row.indexOf(true, end)
  }
  return runs
}

/** The pixels of each module, and the first pixel of the code. */
function fitScale(modules: Modules, { size, margin }: Frame) {
  const scale = Math.floor(size / (modules.length + 2 * margin))
  return { scale, start: Math.floor((size - scale * modules.length) / 2) }
}

/** Draws the code as a PNG. Each module has the same whole number of pixels, and the rest widens the margin. */
export async function drawPng(modules: Modules, frame: Frame, look: Look): Promise<Buffer> {
  const image = { width: frame.size, height: frame.size }
  const { dark, background, logo } = look
  if (logo !== null) {
    const data = await compressRows(paintRows(modules, frame, { ...look, logo }))
    return encodePng({ ...image, format: 'rgb', data })
  }
  const data = await promisify(deflate)(withFilterTypes(drawLines(modules, frame)))
  const isPlain = dark === plainLook.dark && background === plainLook.background
  if (isPlain) return encodePng({ ...image, format: 'bilevel', data })
  return encodePng({
    ...image,
    format: 'palette',
    palette: Buffer.from([...parseColor(dark), ...parseColor(background)]),
    data,
  })
}

/** Returns the lines of an image with one bit per pixel, 0 for dark. */
function drawLines(modules: Modules, frame: Frame): Buffer[] {
  const { scale, start } = fitScale(modules, frame)
  const light = Buffer.alloc(Math.ceil(frame.size / 8), 0xff)
  const lines: Buffer[] = Array(frame.size).fill(light)
  for (const [y, row] of modules.entries()) {
    lines.fill(drawLine(row, scale, start, light), start + y * scale, start + (y + 1) * scale)
  }
  return lines
}

/** Draws a row, in which each module has `scale` pixels. The first begins at the pixel `start`. */
function drawLine(row: readonly boolean[], scale: number, start: number, light: Buffer): Buffer {
  const line = Buffer.from(light)
  for (let x = 0; x < row.length * scale; x++) {
    const bit = start + x
    if (row[Math.floor(x / scale)]) line[bit >> 3] = (line[bit >> 3] as number) & ~(0x80 >> (bit & 7))
  }
  return line
}

/** Returns the red, green and blue of a color such as #0b5c6b. */
export function parseColor(color: string): Buffer {
  return Buffer.from(color.slice(1), 'hex')
}

/** Yields the rows of an image with a logo, with three bytes per pixel. */
export function* paintRows(code: Modules, frame: Frame, look: Look & { readonly logo: Buffer }): Generator<Buffer> {
  const modules = withoutCenter(code)
  const { scale, start } = fitScale(modules, frame)
  const [dark, background] = [parseColor(look.dark), parseColor(look.background)]
  const empty = Buffer.alloc(3 * frame.size, background)
  const logo = fittedLogo(look.logo, scale * (logoSide(modules.length) - 2 * logoMargin))
  const center = start + (scale * modules.length) / 2
  const [left, top] = [Math.round(center - logo.width / 2), Math.round(center - logo.height / 2)]
  let row = empty
  for (let pixel = 0; pixel < frame.size; pixel++) {
    // The pixel rows of one row of modules are the same.
    if ((pixel - start) % scale === 0) {
      row = Buffer.from(empty)
      const runs = runsIn(modules[(pixel - start) / scale] ?? [])
      for (const [from, to] of runs) row.fill(dark, 3 * (start + from * scale), 3 * (start + to * scale))
    }
    const line = pixel - top
    yield line >= 0 && line < logo.height ? blend(row, logo.line(line), left) : row
  }
}

/** Returns the size and the lines of the logo, as large as it fits into a square. */
function fittedLogo(png: Buffer, side: number) {
  const logo = decodeRgbaPng(png, maxLogoSide)
  if (logo === null) throw new Error('The stored logo is damaged.')
  const scale = side / Math.max(logo.width, logo.height)
  const scaleLength = (length: number) => Math.max(1, Math.round(length * scale))
  const [width, height] = [scaleLength(logo.width), scaleLength(logo.height)]
  return { width, height, line: resizedLines(logo, width, height) }
}

/** Returns the row with a line of the logo on it. */
function blend(row: Buffer, line: Uint8Array, left: number): Buffer {
  const blended = Buffer.from(row)
  for (let x = 0; 4 * x < line.length; x++) {
    const [from, to] = [4 * x, 3 * (left + x)]
    const alpha = (line[from + 3] as number) / 255
    for (let c = 0; c < 3; c++) {
      const below = blended[to + c] as number
      blended[to + c] = Math.round(below + alpha * ((line[from + c] as number) - below))
    }
  }
  return blended
}

/** Rows that are compressed together. */
const rowsPerChunk = 64

/** Compresses rows in the thread pool, chunk by chunk, which keeps ticks short and memory small. */
function compressRows(rows: Iterable<Buffer>): Promise<Buffer> {
  return pipeline(Readable.from(chunksOf(rows), { highWaterMark: 1 }), createDeflate(), buffer)
}

function* chunksOf(rows: Iterable<Buffer>): Generator<Buffer> {
  let chunk: Buffer[] = []
  for (const row of rows) {
    if (chunk.push(row) < rowsPerChunk) continue
    yield withFilterTypes(chunk)
    chunk = []
  }
  if (chunk.length > 0) yield withFilterTypes(chunk)
}
