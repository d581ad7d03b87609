/** Codes with colors and logos: readers decode the pictures. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import decodeQR from 'qr/decode.js'
import { drawPng, drawSvg, encodeModules, isLogo, type Look, paintRows, plainLook } from './code.ts'
import { decodeRgbaPng, encodePng, type Raster, resizedLines, withFilterTypes } from './image.ts'

/** A PNG of these filtered lines. */
function rgba(width: number, height: number, data: Buffer): Buffer {
  return encodePng({ width, height, format: 'rgba', data: deflateSync(data) })
}

/** A logo with random opaque pixels, which damages as many modules as any. */
function noisyLogo(width: number, height: number): Buffer {
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % 256
  }
  const lines = Array.from({ length: height }, () =>
    Buffer.from(Array.from({ length: 4 * width }, (_, at) => (at % 4 === 3 ? 255 : random()))),
  )
  return rgba(width, height, withFilterTypes(lines))
}

const logo = noisyLogo(64, 64)
const effort = { effort: Number.POSITIVE_INFINITY, timeLimit: Number.POSITIVE_INFINITY }

/** Returns the parts of a PNG: its header, its palette and its lines. */
function read(png: Buffer) {
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const [header = Buffer.alloc(13), data = Buffer.alloc(0)] = [chunks.get('IHDR'), chunks.get('IDAT')]
  return {
    width: header.readUInt32BE(0),
    format: [...header.subarray(8)],
    palette: chunks.get('PLTE'),
    lines: inflateSync(data),
  }
}

/** Returns the text of the code on a PNG with three bytes per pixel. */
function decode(png: Buffer): string {
  const { width, format, lines } = read(png)
  assert.deepEqual(format, [8, 2, 0, 0, 0])
  const data = Buffer.alloc(3 * width * width)
  for (let y = 0; y < width; y++) lines.copy(data, 3 * width * y, y * (1 + 3 * width) + 1, (y + 1) * (1 + 3 * width))
  return decodeQR({ width, height: width, data }, effort)
}

test('codes with a logo are readable in colors that only just have enough contrast, at all sizes', async () => {
  const pale = { dark: '#757575', background: '#ffffff', logo }
  const dim = { dark: '#000000', background: '#acacac', logo }
  for (const [look, length, size] of [
    [pale, 14, 128],
    [dim, 25, 200],
    [pale, 25, 2_048],
    [dim, 60, 512],
    [pale, 400, 1_024],
  ] as const) {
    const text = `https://${'x'.repeat(length - 8)}`
    const png = await drawPng(encodeModules(text, 'H'), { size, margin: 4 }, look)
    assert.equal(decode(png), text, `${look.dark} ${length} ${size}`)
  }
})

test('a logo has its proportions, and is in the center on the color of the background', () => {
  const modules = encodeModules('https://go.acme.com/sale', 'H')
  const frame = { size: 10 * (modules.length + 8), margin: 4 }
  const wide = rgba(2, 1, Buffer.from([0, 255, 0, 0, 255, 0, 0, 255, 0]))
  const rows = [...paintRows(modules, frame, { dark: '#000000', background: '#fff4e0', logo: wide })]
  assert.deepEqual([rows.length, rows[0]?.length], [frame.size, 3 * frame.size])
  const colorAt = (x: number, y: number) => rows[y]?.toString('hex', 3 * x, 3 * x + 3)
  const center = frame.size / 2
  // 7 of 29 modules are empty, and the logo takes 6.
  assert.equal(modules.length, 29)
  assert.deepEqual([colorAt(center - 30, center - 15), colorAt(center - 30, center + 14)], ['ff0000', 'ff0000'])
  for (const [x, y] of [
    [center - 31, center],
    [center - 30, center - 16],
    [center - 30, center + 15],
    [center + 29, center],
    [center + 34, center + 34],
  ] as const) {
    assert.equal(colorAt(x, y), 'fff4e0', `${x} ${y}`)
  }
})

test('an SVG has the colors, and the logo in the free center', () => {
  const modules = encodeModules('https://go.acme.com/sale', 'H')
  const look: Look = { dark: '#0b5c6b', background: '#fff4e0', logo }
  const svg = drawSvg(modules, { size: 600, margin: 2 }, look)
  assert.match(svg, /<rect width="33" height="33" fill="#fff4e0"\/><path fill="#0b5c6b" d="M/)
  const image = `<image x="13.5" y="13.5" width="6" height="6" xlink:href="data:image/png;base64,${logo.toString('base64')}"/></svg>`
  assert.ok(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width'))
  assert.ok(svg.endsWith(image))
  const covered = [...svg.matchAll(/M(\d+) (\d+)h(\d+)v/g)].filter(
    ([, x, y, width]) => Number(y) >= 13 && Number(y) < 20 && Number(x) < 20 && Number(x) + Number(width) > 13,
  )
  assert.deepEqual(covered, [])
})

test('a PNG in colors without a logo has one bit per pixel', async () => {
  const modules = encodeModules('https://go.acme.com/sale', 'M')
  const frame = { size: 100, margin: 4 }
  const { format, palette, lines } = read(
    await drawPng(modules, frame, { dark: '#0b5c6b', background: '#fff4e0', logo: null }),
  )
  assert.deepEqual([format, palette?.toString('hex')], [[1, 3, 0, 0, 0], '0b5c6bfff4e0'])
  const plain = read(await drawPng(modules, frame, plainLook))
  assert.deepEqual([plain.format, plain.lines], [[1, 0, 0, 0, 0], lines])
})

test('blocks the event loop for less than 20 ms with the largest picture with a logo', async () => {
  const large = noisyLogo(90, 90)
  const spent: number[] = []
  for (let round = 0; round < 5; round++) {
    const rows = paintRows(
      encodeModules('https://go.acme.com/sale', 'H'),
      { size: 2_048, margin: 0 },
      { ...plainLook, logo: large },
    )
    const before = process.threadCpuUsage()
    rows.next()
    const { user, system } = process.threadCpuUsage(before)
    spent.push((user + system) / 1_000)
  }
  // V8 compiles the code during the first rounds.
  assert.ok(Math.min(...spent) < 20, `${spent}`)
})

test('accepts only a logo as Waymark stores it', () => {
  assert.ok(isLogo(logo))
  const pixel = Buffer.from([0, 1, 2, 3, 4])
  const packed = (format: 'rgb' | 'rgba', data: Buffer) => encodePng({ width: 1, height: 1, format, data })
  assert.ok(isLogo(rgba(1, 1, pixel)))
  for (const [name, png] of Object.entries({
    'no bytes': Buffer.alloc(0),
    'a shortened file': logo.subarray(0, -1),
    'more bytes': Buffer.concat([logo, Buffer.of(0)]),
    'another color type': packed('rgb', deflateSync(pixel)),
    'no pixels': rgba(0, 0, Buffer.alloc(0)),
    'too many pixels': noisyLogo(257, 1),
    'too many bytes': noisyLogo(150, 150),
    'fewer lines than stated': rgba(1, 2, pixel),
    'more lines than stated': rgba(1, 1, Buffer.alloc(10_000_000)),
    'a filtered line': rgba(1, 1, Buffer.from([1, 1, 2, 3, 4])),
    'broken compression': packed('rgba', Buffer.from('nothing')),
    'bytes after the compressed ones': packed('rgba', Buffer.concat([deflateSync(pixel), Buffer.alloc(100)])),
  })) {
    assert.equal(isLogo(png), false, name)
  }
})

test('an image is the same after it is decoded, and blends all pixels when it shrinks', () => {
  const resize = (raster: Raster, width: number, height: number) => {
    const line = resizedLines(raster, width, height)
    return Buffer.concat(Array.from({ length: height }, (_, y) => line(y)))
  }
  const raster = decodeRgbaPng(logo, 64)
  assert.ok(raster && resize(raster, 64, 64).equals(raster.data))
  const half = { width: 2, height: 2, data: Uint8Array.from([255, 0, 0, 255, 9, 9, 9, 0, 255, 0, 0, 255, 9, 9, 9, 0]) }
  assert.deepEqual([...resize(half, 1, 1)], [255, 0, 0, 128])
  const pixel = [1, 2, 3, 255]
  assert.deepEqual([...resize({ width: 1, height: 1, data: Uint8Array.from(pixel) }, 2, 1)], [...pixel, ...pixel])
})
