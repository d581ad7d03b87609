/**
 * The process that reads a logo from an untrusted file. It can only read its own code, so an exploit of the decoder can't
 * reach the network or the database. It reads the file from the standard input, and writes a PNG or a `LogoProblem` to the
 * standard output. Its arguments are the text and the colors of a `LogoRequest`. Only tests import it.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateSync } from 'node:zlib'
import { initWasm, Resvg } from '@resvg/resvg-wasm'
import decodeQR from 'qr/decode.js'
import { encodeModules, maxLogoBytes, maxLogoSide, paintRows } from './code.ts'
import { encodePng, type Raster, resizedLines, withFilterTypes } from './image.ts'
import type { LogoProblem, LogoRequest } from './logo.ts'

/** The longest side of a PNG or JPEG in pixels. */
const maxImageSide = 2048
/** The sides that a logo may have, the first of which that fits into `maxLogoBytes` is used. */
const sides = [maxLogoSide, 192, 128, 96]

type ImageType = 'png' | 'jpeg' | 'svg'

/** Draws an image file. */
function draw(file: Buffer): Raster | LogoProblem {
  const type = detectImageType(file)
  if (type === null) return 'type'
  try {
    return type === 'svg' ? drawSvgFile(file.toString('utf8')) : drawBitmap(file, type)
  } catch {
    return 'damaged'
  }
}

/** Returns the type of an image; null for any other file. */
function detectImageType(file: Buffer): ImageType | null {
  if (file.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (file.toString('latin1', 0, 3) === '\xff\xd8\xff') return 'jpeg'
  const start = file.toString('utf8', 0, 1_000).trimStart()
  return start.startsWith('<') && /<svg[\s>]/.test(file.toString('utf8')) ? 'svg' : null
}

/** Without fonts, text shows nothing. The library ignores scripts and references to other files. */
const font = { loadSystemFonts: false }

function drawSvgFile(svg: string): Raster | LogoProblem {
  const { width, height } = new Resvg(svg, { font })
  const image = render(
    new Resvg(svg, { font, fitTo: { mode: width > height ? 'width' : 'height', value: maxLogoSide } }),
  )
  return isEmpty(image) ? 'empty' : image
}

function drawBitmap(file: Buffer, type: Exclude<ImageType, 'svg'>): Raster | LogoProblem {
  const href = `data:image/${type};base64,${file.toString('base64')}`
  // The document has the size that the header of the image states.
  const svg = new Resvg(`<svg xmlns="http://www.w3.org/2000/svg"><image href="${href}"/></svg>`, { font })
  if (Math.max(svg.width, svg.height) > maxImageSide) return 'size'
  const image = render(svg)
  // The library leaves out an image that it can't decode.
  return isEmpty(image) ? 'damaged' : image
}

/** Returns whether all pixels are transparent. */
function isEmpty({ data }: Raster): boolean {
  return !data.some((value, at) => at % 4 === 3 && value > 0)
}

function render(svg: InstanceType<typeof Resvg>): Raster {
  const { width, height, pixels } = svg.render()
  for (let at = 0; at < pixels.length; at += 4) {
    const alpha = pixels[at + 3] as number
    for (let c = 0; c < 3 && alpha > 0; c++) pixels[at + c] = Math.min(255, ((pixels[at + c] as number) * 255) / alpha)
  }
  return { width, height, data: pixels }
}

/** Encodes the image with the largest side that fits. Returns null if none does. */
function encodeLogo(image: Raster): Buffer | null {
  const longest = Math.max(image.width, image.height)
  for (const side of sides) {
    const scale = Math.min(1, side / longest)
    const width = Math.max(1, Math.round(image.width * scale))
    const height = Math.max(1, Math.round(image.height * scale))
    const line = resizedLines(image, width, height)
    const lines = Array.from({ length: height }, (_, y) => line(y))
    const data = deflateSync(withFilterTypes(lines), { level: 9 })
    const logo = encodePng({ width, height, format: 'rgba', data })
    if (logo.length <= maxLogoBytes) return logo
  }
  return null
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
export function respond(request: LogoRequest): Buffer | LogoProblem {
  const image = draw(request.file)
  if (typeof image === 'string') return image
  const logo = encodeLogo(image)
  if (logo === null) return 'size'
  return isReadable(logo, request) ? logo : 'unreadable'
}

if (import.meta.main) {
  const [text = '', dark = '', background = ''] = process.argv.slice(2)
  process.stdout.write(respond({ file: readFileSync(0), text, dark, background }))
}
