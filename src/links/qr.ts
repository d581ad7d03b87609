/**
 * Texts as QR codes (ISO/IEC 18004), and QR codes as pictures. Pure.
 */
import encodeQR from 'qr'
import { pngOf } from './png.ts'

/** How much of a code may be lost: about 7, 15, 25 and 30 %. */
export const levels = ['L', 'M', 'Q', 'H'] as const
export type Level = (typeof levels)[number]

const names = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const

/** Bytes that the largest code holds (table 7 of the standard). */
export const capacity: Readonly<Record<Level, number>> = { L: 2953, M: 2331, Q: 1663, H: 1273 }

/** The dark and light squares of a code, row by row, without its margin: true is dark. */
export type Modules = readonly (readonly boolean[])[]

/** The code of an ASCII text that is no longer than the level's capacity. */
export function modulesOf(text: string, level: Level): Modules {
  const framed = encodeQR(text, 'raw', { ecc: names[level], encoding: 'byte', border: 1 })
  return framed.slice(1, -1).map((row) => row.slice(1, -1))
}

/** How a code is drawn: into a square of `size` pixels, with at least `margin` modules of white on each side. */
export interface Frame {
  readonly size: number
  readonly margin: number
}

/** Modules from side to side, the margin included: the smallest size with a pixel for each of them. */
export function breadthOf(modules: Modules, margin: number): number {
  return modules.length + 2 * margin
}

/** The code as an SVG document. It scales to any size. */
export function svgOf(modules: Modules, { size, margin }: Frame): string {
  const breadth = breadthOf(modules, margin)
  const path = modules.map((row, y) => pathOf(row, margin, y + margin)).join('')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${breadth} ${breadth}"`,
    ` shape-rendering="crispEdges"><rect width="${breadth}" height="${breadth}" fill="#fff"/><path d="${path}"/></svg>`,
  ].join('')
}

/** A rectangle for each run of dark modules. */
function pathOf(row: readonly boolean[], left: number, y: number): string {
  let path = ''
  for (let x = row.indexOf(true); x >= 0; x = row.indexOf(true, x)) {
    const light = row.indexOf(false, x)
    const end = light < 0 ? row.length : light
    path += `M${x + left} ${y}h${end - x}v1h${x - end}z`
    x = end
  }
  return path
}

/** The code as a PNG. All modules are of the same whole number of pixels; what is left over widens the margin. */
export function pictureOf(modules: Modules, { size, margin }: Frame): Promise<Buffer> {
  const scale = Math.floor(size / breadthOf(modules, margin))
  const start = Math.floor((size - scale * modules.length) / 2)
  const white = Buffer.alloc(Math.ceil(size / 8), 0xff)
  const lines: Buffer[] = Array(size).fill(white)
  for (const [y, row] of modules.entries()) {
    lines.fill(lineOf(row, { scale, start, white }), start + y * scale, start + (y + 1) * scale)
  }
  return pngOf(size, lines)
}

interface Drawn {
  /** Pixels of a module. */
  readonly scale: number
  /** Where the first one begins. */
  readonly start: number
  readonly white: Buffer
}

function lineOf(row: readonly boolean[], { scale, start, white }: Drawn): Buffer {
  const line = Buffer.from(white)
  for (const [index, isDark] of row.entries()) {
    if (isDark) blacken(line, start + index * scale, start + (index + 1) * scale)
  }
  return line
}

/** Clears the bits from the first up to the last, whole bytes at once. */
function blacken(line: Buffer, first: number, end: number): void {
  for (let bit = first; bit < end; ) {
    const isWhole = bit % 8 === 0 && bit + 8 <= end
    line[bit >> 3] = isWhole ? 0 : (line[bit >> 3] as number) & ~(0x80 >> (bit & 7))
    bit += isWhole ? 8 : 1
  }
}
