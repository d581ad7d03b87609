/**
 * The process that reads a logo from an untrusted file. It can only read its own code, so an exploit of the decoder can't
 * reach the network or the database. It reads a `LogoRequest` from the standard input, and writes a `LogoResponse` to the
 * standard output. Only tests import it.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateSync } from 'node:zlib'
import { initWasm, Resvg } from '@resvg/resvg-wasm'
import decodeQR from 'qr/decode.js'
import { encodeModules, maxLogoBytes, maxLogoSide, paintRows } from './code.ts'
import { encodePng, type Raster, resize, withFilterTypes } from './image.ts'
import type { LogoProblem, LogoRequest, LogoResponse } from './logo.ts'

/** The longest side of a PNG or JPEG in pixels. */
const maxImageSide = 2048
/** The sides that a logo may have, the first of which that fits into `maxLogoBytes` is used. */
const sides = [maxLogoSide, 192, 128, 96]

class Rejection extends Error {
  readonly problem: LogoProblem

  constructor(problem: LogoProblem) {
    super(problem)
    this.problem = problem
  }
}

type ImageType = 'png' | 'jpeg' | 'svg'

interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Draws an image file. Throws `Rejection`. */
function draw(file: Buffer): Raster {
  const type = imageTypeOf(file)
  if (type === null) throw new Rejection('type')
  try {
    return type === 'svg' ? drawSvgFile(file.toString('utf8')) : drawBitmap(file, type)
  } catch (error) {
    throw error instanceof Rejection ? error : new Rejection('damaged')
  }
}

/** Returns the type of an image; null for any other file. */
function imageTypeOf(file: Buffer): ImageType | null {
  if (file.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (file.toString('latin1', 0, 3) === '\xff\xd8\xff') return 'jpeg'
  const start = file.toString('utf8', 0, 1_000).trimStart()
  return start.startsWith('<') && /<svg[\s>]/.test(file.toString('utf8')) ? 'svg' : null
}

/** Returns the size in pixels that the header states; null if it has none. */
function imageSizeOf(file: Buffer, type: 'png' | 'jpeg'): ImageSize | null {
  return type === 'png' ? pngSizeOf(file) : jpegSizeOf(file)
}

function pngSizeOf(file: Buffer): ImageSize | null {
  return file.length < 24 ? null : { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
}

/** The segments of JPEG that start a frame (ITU-T T.81, table B.1): 0xC0 to 0xCF but tables and extensions. */
const notFrames = [0xc4, 0xc8, 0xcc]

function jpegSizeOf(file: Buffer): ImageSize | null {
  for (let at = 2; at + 9 <= file.length && file[at] === 0xff; ) {
    const marker = file[at + 1] as number
    if (marker >= 0xc0 && marker <= 0xcf && !notFrames.includes(marker)) {
      return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) }
    }
    at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2)
  }
  return null
}

/** Without fonts, text shows nothing. The library ignores scripts and references to other files. */
const font = { loadSystemFonts: false }

function drawSvgFile(svg: string): Raster {
  const { width, height } = new Resvg(svg, { font })
  return render(svg, width > height ? 'width' : 'height', maxLogoSide)
}

function drawBitmap(file: Buffer, type: Exclude<ImageType, 'svg'>): Raster {
  const size = imageSizeOf(file, type)
  if (size === null) throw new Rejection('damaged')
  const { width, height } = size
  if (Math.max(width, height) > maxImageSide) throw new Rejection('size')
  const href = `data:image/${type};base64,${file.toString('base64')}`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><image width="${width}" height="${height}" href="${href}"/></svg>`
  const image = render(svg, 'width', width)
  // The library leaves out an image that it can't decode.
  if (isEmpty(image)) throw new Rejection('damaged')
  return image
}

/** Returns whether all pixels are transparent. */
function isEmpty({ data }: Raster): boolean {
  return !data.some((value, at) => at % 4 === 3 && value > 0)
}

function render(svg: string, mode: 'width' | 'height', value: number): Raster {
  const { width, height, pixels } = new Resvg(svg, { font, fitTo: { mode, value } }).render()
  for (let at = 0; at < pixels.length; at += 4) {
    const alpha = pixels[at + 3] as number
    for (let c = 0; c < 3 && alpha > 0; c++) pixels[at + c] = Math.min(255, ((pixels[at + c] as number) * 255) / alpha)
  }
  return { width, height, data: pixels }
}

/** Encodes the image with the largest side that fits. */
function encodeLogo(image: Raster): Buffer {
  const longest = Math.max(image.width, image.height)
  for (const side of sides) {
    const scale = Math.min(1, side / longest)
    const [width, height] = [image.width, image.height].map((length) => Math.max(1, Math.round(length * scale)))
    const logo = encode(resize(image, width as number, height as number))
    if (logo.length <= maxLogoBytes) return logo
  }
  throw new Rejection('size')
}

function encode({ width, height, data }: Raster): Buffer {
  const lines = Array.from({ length: height }, (_, y) => Buffer.from(data.subarray(4 * width * y, 4 * width * (y + 1))))
  return encodePng({ width, height, format: 'rgba', data: deflateSync(withFilterTypes(lines), { level: 9 }) })
}

/** The sizes in pixels at which the code must be readable. */
const checkedSizes = [200, 600]

/** Returns whether a scanner reads the code of the text. */
function isReadable(logo: Buffer, { text, dark, background }: LogoRequest): boolean {
  const modules = encodeModules(text, 'H')
  return checkedSizes.every((size) => {
    const rows = paintRows(modules, { size, margin: 4 }, { dark, background, logo })
    try {
      const image = { width: size, height: size, data: Buffer.concat([...rows]) }
      return decodeQR(image, { timeLimit: Number.POSITIVE_INFINITY }) === text
    } catch {
      return false
    }
  })
}

await initWasm(readFileSync(fileURLToPath(import.meta.resolve('@resvg/resvg-wasm/index_bg.wasm'))))

/** Reads the logo from the file, and scans the code with it. */
export function respond(request: LogoRequest): LogoResponse {
  try {
    const image = draw(Buffer.from(request.file, 'base64'))
    if (isEmpty(image)) return { problem: 'empty' }
    const logo = encodeLogo(image)
    return isReadable(logo, request) ? { logo: logo.toString('base64') } : { problem: 'unreadable' }
  } catch (error) {
    if (error instanceof Rejection) return { problem: error.problem }
    throw error
  }
}

if (import.meta.main) process.stdout.write(JSON.stringify(respond(JSON.parse(readFileSync(0, 'utf8')))))
