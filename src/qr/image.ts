/** Images: their pixels, resizing, and PNG (ISO/IEC 15948). */
import { crc32, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Bit depth and color type. Lines are padded to whole bytes. */
const formats = {
  /** One bit per pixel, 1 for white. */
  bilevel: [1, 0],
  /** One bit per pixel: an index of two colors. */
  palette: [1, 3],
  rgb: [8, 2],
  rgba: [8, 6],
} as const

interface PngImage {
  readonly width: number
  readonly height: number
  readonly format: keyof typeof formats
  /** The colors of a palette, three bytes each. */
  readonly palette?: Buffer
  /** The compressed lines, each after a zero byte: without a filter. */
  readonly data: Buffer
}

export function encodePng({ width, height, format, palette, data }: PngImage): Buffer {
  const colors = palette === undefined ? [] : [chunk('PLTE', palette)]
  const header = chunk('IHDR', encodeHeader(width, height, format))
  return Buffer.concat([signature, header, ...colors, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function encodeHeader(width: number, height: number, format: PngImage['format']): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set(formats[format], 8)
  return header
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  const named = Buffer.concat([Buffer.from(type), data])
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

const unfiltered = Buffer.of(0)

/** Returns the data of an image before compression. */
export function withFilterTypes(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line) => [unfiltered, line]))
}

/** The positions of the parts of a PNG from `encodePng` with the format `rgba`. */
const [dataAt, endBytes] = [signature.length + 25, 12]

/** Decodes a PNG that `encodePng` wrote with the format `rgba`. Returns null for any other bytes, or a wider or higher image. */
export function decodeRgbaPng(png: Buffer, maxSide: number): Raster | null {
  if (png.length < dataAt + 12 + endBytes) return null
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (![width, height].every((side) => side >= 1 && side <= maxSide)) return null
  const packed = png.subarray(dataAt + 8, png.length - endBytes - 4)
  if (!encodePng({ width, height, format: 'rgba', data: packed }).equals(png)) return null
  const stride = 1 + 4 * width
  const inflated = inflate(packed, height * stride)
  if (inflated?.length !== height * stride) return null
  const lines = Array.from({ length: height }, (_, y) => inflated.subarray(y * stride + 1, (y + 1) * stride))
  return withFilterTypes(lines).equals(inflated) ? { width, height, data: Buffer.concat(lines) } : null
}

/** Returns at most `max` bytes; null if there are more, or if other bytes follow the packed ones. */
function inflate(packed: Buffer, max: number): Buffer | null {
  try {
    return inflateSync(packed, { maxOutputLength: max, rejectGarbageAfterEnd: true })
  } catch {
    return null
  }
}

export interface Raster {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** The source pixels of each target pixel, and their weights. */
interface Window {
  readonly start: number
  readonly weights: readonly number[]
}

/**
 * Resamples an image with a triangle filter: a smaller image blends all pixels of the original. Returns a function that
 * returns one line, so that no event-loop tick is long.
 */
export function resizedLines(raster: Raster, toWidth: number, toHeight: number): (y: number) => Buffer {
  const { width, height, data } = raster
  const columns = computeWindows(width, toWidth)
  const narrowed = new Float32Array(4 * toWidth * height)
  for (let y = 0; y < height; y++) {
    const row = premultiplied(data.subarray(4 * width * y, 4 * width * (y + 1)))
    for (const [x, window] of columns.entries()) addPixels(row, window, 4, narrowed, 4 * (toWidth * y + x))
  }
  const rows = computeWindows(height, toHeight)
  return (y) => {
    const line = new Float32Array(4 * toWidth)
    for (let x = 0; x < toWidth; x++) {
      addPixels(narrowed.subarray(4 * x), rows[y] as Window, 4 * toWidth, line, 4 * x)
    }
    return straightened(line)
  }
}

function computeWindows(from: number, to: number): Window[] {
  const scale = from / to
  const reach = Math.max(1, scale)
  return Array.from({ length: to }, (_, index) => {
    const center = (index + 0.5) * scale - 0.5
    const start = Math.max(0, Math.ceil(center - reach))
    const end = Math.min(from - 1, Math.floor(center + reach))
    const weights = Array.from({ length: end - start + 1 }, (__, n) => 1 - Math.abs(start + n - center) / reach)
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return { start, weights: weights.map((weight) => weight / sum) }
  })
}

/** Adds the weighted pixels of a window, which are `step` values apart, to the target pixel at `at`. */
function addPixels(from: Float32Array, { start, weights }: Window, step: number, to: Float32Array, at: number): void {
  for (let n = 0; n < weights.length; n++) {
    const [source, weight] = [(start + n) * step, weights[n] as number]
    for (let c = 0; c < 4; c++) to[at + c] = (to[at + c] as number) + weight * (from[source + c] as number)
  }
}

function premultiplied(data: Uint8Array): Float32Array {
  const values = new Float32Array(data.length)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number
    for (let c = 0; c < 3; c++) values[at + c] = ((data[at + c] as number) * alpha) / 255
    values[at + 3] = alpha
  }
  return values
}

function straightened(premultiplied: Float32Array): Buffer {
  const data = Buffer.alloc(premultiplied.length)
  for (let at = 0; at < data.length; at += 4) {
    const alpha = premultiplied[at + 3] as number
    if (alpha < 0.5) continue
    for (let c = 0; c < 3; c++) data[at + c] = Math.min(255, ((premultiplied[at + c] as number) * 255) / alpha + 0.5)
    data[at + 3] = Math.min(255, alpha + 0.5)
  }
  return data
}
