/** Logos from files, some of which are attacks. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { deflateSync } from 'node:zlib'
import { createSemaphores } from '../app/semaphores.ts'
import { isLogo } from './code.ts'
import { decodeRgbaPng, encodePng } from './image.ts'
import { processOptions, readLogo } from './logo.ts'
import { respond } from './logo-reader.ts'

const look = { dark: '#000000', background: '#ffffff', text: 'https://go.acme.com/example' }
const svg = (content: string, attributes = 'viewBox="0 0 10 10"') =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${content}</svg>`)
const square = '<rect width="10" height="10" fill="#d9480f"/>'

/** What the process responds: the size of the logo, and its color in the center; or the problem. */
function read(file: Buffer) {
  const png = respond({ ...look, file })
  if (typeof png === 'string') return png
  assert.ok(isLogo(png))
  const { width, height, data } = decodeRgbaPng(png, 256) ?? { width: 0, height: 0, data: Buffer.alloc(0) }
  const center = 4 * (Math.floor(height / 2) * width + Math.floor(width / 2))
  return [width, height, ...data.subarray(center, center + 4)]
}

/** A PNG of one color. `width` and `height` are what its header states. */
function plainPng(width: number, height: number, lines = height): Buffer {
  const data = deflateSync(Buffer.alloc(lines * (1 + 4 * width), 0).fill(255, 1, 5))
  return encodePng({ width, height, format: 'rgba', data })
}

/** 16 × 8 pixels of one color, as a browser encodes it. */
const jpeg = Buffer.from(
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////////////wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAA//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AJAEd//Z',
  'base64',
)

test('reads PNG, JPEG and SVG by their content', () => {
  const orange = [217, 72, 15, 255]
  assert.deepEqual(read(svg(square)), [256, 256, ...orange])
  assert.deepEqual(read(svg(square, 'width="1000" height="10" viewBox="0 0 10 10"')), [256, 3, ...orange])
  assert.deepEqual(
    read(svg(square, 'width="10" height="1e9" viewBox="0 0 10 10" preserveAspectRatio="none"')),
    'damaged',
  )
  assert.deepEqual(read(Buffer.concat([Buffer.from('\ufeff<?xml version="1.0"?>\n<!-- x -->'), svg(square)])), [
    256,
    256,
    ...orange,
  ])
  assert.deepEqual(read(plainPng(3, 2).fill(0, 0, 0)), [3, 2, 0, 0, 0, 0])
  const [width, height, red = 0, green = 0, blue = 0, alpha] = read(jpeg) as number[]
  assert.deepEqual([width, height, alpha], [16, 8, 255])
  assert.ok(Math.abs(red - 217) < 40 && Math.abs(green - 72) < 40 && Math.abs(blue - 15) < 40, `${[red, green, blue]}`)
})

test('reduces a photo until it fits into a line of an export', () => {
  const pixels = Buffer.alloc(300 * 1_201)
  for (let at = 0; at < pixels.length; at++) pixels[at] = at % 1_201 === 0 ? 0 : at % 4 === 0 ? 255 : (at * at) % 251
  const png = encodePng({ width: 300, height: 300, format: 'rgba', data: deflateSync(pixels) })
  const [width, height] = read(png) as number[]
  assert.deepEqual([width, height], [96, 96])
})

test('rejects other files, empty images, and images with too many pixels', () => {
  const webp = Buffer.from('RIFF$\0\0\0WEBPVP8 ')
  for (const file of [
    Buffer.from('no image'),
    Buffer.from('GIF89a'),
    webp,
    Buffer.from('<html></html>'),
    Buffer.of(0xff),
  ]) {
    assert.equal(read(file), 'type')
  }
  assert.equal(read(svg('')), 'empty')
  assert.equal(read(svg('<text y="9">Acme</text>')), 'empty')
  assert.equal(read(plainPng(10_000, 10_000, 1)), 'size')
  assert.equal(read(plainPng(2_049, 1)), 'size')
  assert.deepEqual((read(plainPng(2_048, 1)) as number[]).slice(0, 2), [256, 1])
  const damaged = [
    plainPng(9, 9).subarray(0, 60),
    plainPng(9, 9).subarray(0, 12),
    plainPng(0, 9),
    jpeg.subarray(0, 100),
  ]
  for (const file of [...damaged, jpeg.subarray(0, 4), svg(square).subarray(0, -3), svg('&nothing;')]) {
    assert.equal(read(file), 'damaged')
  }
})

test('rejects a logo that looks like a part of a code', () => {
  const finder = '<path d="M0 0h7v7h-7z"/><path fill="#fff" d="M1 1h5v5h-5z"/><path d="M2 2h3v3h-3z"/>'
  assert.equal(read(svg(finder, 'viewBox="0 0 7 7"')), 'unreadable')
})

test('ignores scripts and external references in an SVG', async (t) => {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`
  const file = svg(`${square}<script>while(true);</script><script href="${url}"/><style>@import url(${url});</style>
    <image width="10" height="10" href="${url}"/><image width="10" height="10" href="file://${import.meta.filename}"/>
    <use href="${url}#x"/><foreignObject width="10" height="10"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${url}"/></foreignObject>
    <animate attributeName="x" to="1"/>`)
  // A busy machine may need more than the usual time.
  const logo = await readLogo({ ...look, file }, 60_000)
  assert.ok(logo instanceof Buffer && isLogo(logo))
  assert.deepEqual(read(file), read(svg(square)))
  assert.equal(requests, 0)
})

test('rejects SVGs that grow without end, in time and in memory', async () => {
  const entities = Array.from({ length: 9 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`).join('')
  const doctype = (definitions: string) => Buffer.from(`<!DOCTYPE svg [${definitions}]>`)
  const groups = Array.from({ length: 9 }, (_, n) => `<g id="g${n + 1}">${`<use href="#g${n}"/>`.repeat(10)}</g>`).join(
    '',
  )
  for (const file of [
    Buffer.concat([doctype(`<!ENTITY e0 "x">${entities}`), svg('<text>&e9;</text>')]),
    Buffer.concat([doctype('<!ENTITY x SYSTEM "file:///etc/passwd">'), svg(`${square}<text>&x;</text>`)]),
    svg(`${'<g>'.repeat(20_000)}${square}${'</g>'.repeat(20_000)}`),
    svg(`<g id="g0">${square}</g>${groups}<use href="#g9"/>`),
  ]) {
    assert.equal(read(file), 'damaged')
  }
  const pixels = encodePng({
    width: 12_000,
    height: 12_000,
    format: 'bilevel',
    data: deflateSync(Buffer.alloc(12_000 * 1_501)),
  })
  const large = svg(`<image width="9" height="9" href="data:image/png;base64,${pixels.toString('base64')}"/>`)
  assert.equal(await readLogo({ ...look, file: large }), 'damaged')
  const slow = '<filter id="f"><feTurbulence baseFrequency=".5" numOctaves="2000000000"/></filter>'
  const endless = svg(`${slow}<g filter="url(#f)">${square}</g>`)
  assert.equal(await readLogo({ ...look, file: endless }, 1_000), 'damaged')
})

test('the process can only read its own code', async () => {
  const codes = [
    `fs.readFileSync(${JSON.stringify(join(import.meta.dirname, '../main.js'))})`,
    'fs.writeFileSync("x", "")',
    'await once(new net.Socket().connect(9, "127.0.0.1"), "connect")',
    'await dns.promises.lookup("localhost")',
    'child_process.execFileSync("true")',
    'new worker_threads.Worker("", { eval: true })',
  ]
  const attempts = codes.map((code) => `async () => { ${code} }`).join(',')
  const program = `const { once } = events
    for (const attempt of [${attempts}]) process.stdout.write(await attempt().catch(({ code }) => code) + '\\n')`
  const options = [...processOptions, '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, options, { env: {} })
  assert.deepEqual(
    stdout.trimEnd().split('\n'),
    codes.map(() => 'ERR_ACCESS_DENIED'),
  )
})

test('throws overloaded when an account sends more files than wait for it', async () => {
  const file = Buffer.from('no image')
  const { logos } = createSemaphores()
  const readNext = () => logos.run(() => readLogo({ ...look, file }, 1), '1')
  // The timeout ends the processes before they read the file.
  const all = await Promise.allSettled(Array.from({ length: 5 }, readNext))
  const outcomes = all.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code))
  assert.deepEqual(outcomes.sort(), ['damaged', 'damaged', 'damaged', 'overloaded', 'overloaded'])
})
