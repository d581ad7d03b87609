/** `GET /links/{id}/qr`: readers decode the pictures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Resvg } from '@resvg/resvg-wasm'
import decodeQR from 'qr/decode.js'
import { startApp } from '../../test/app.ts'
import { drawPng, encodeModules, plainLook } from '../qr/code.ts'
// It initializes the renderer, which works once per process.
import '../qr/logo-reader.ts'

interface Picture {
  readonly width: number
  readonly height: number
  /** Red, green, blue and alpha of each pixel. */
  readonly data: Uint8ClampedArray
}

/** Draws an SVG in this width, or in its own. */
function drawnSvg(svg: string, width?: number): Picture {
  const image = new Resvg(svg, width === undefined ? {} : { fitTo: { mode: 'width', value: width } }).render()
  return { width: image.width, height: image.height, data: new Uint8ClampedArray(image.pixels) }
}

/** Draws a PNG `scale` times as large. */
function drawnPng(png: Buffer, scale: number): Picture {
  const [width, height] = [scale * png.readUInt32BE(16), scale * png.readUInt32BE(20)]
  const image = `<image width="${width}" height="${height}" image-rendering="optimizeSpeed" href="data:image/png;base64,${png.toString('base64')}"/>`
  return drawnSvg(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${image}</svg>`)
}

/** Pixels of white on the left, on the right, above and below. */
function whiteAround({ width, height, data }: Picture): number[] {
  const isDark = (x: number, y: number) => data[4 * (y * width + x)] === 0
  const columns = Array.from({ length: width }, (_, x) => x)
  const rows = Array.from({ length: height }, (_, y) => y)
  const darkColumns = columns.filter((x) => rows.some((y) => isDark(x, y)))
  const darkRows = rows.filter((y) => columns.some((x) => isDark(x, y)))
  return [
    ...[darkColumns[0] ?? 0, width - 1 - (darkColumns.at(-1) ?? 0)],
    ...[darkRows[0] ?? 0, height - 1 - (darkRows.at(-1) ?? 0)],
  ]
}

const effort = { effort: Number.POSITIVE_INFINITY, timeLimit: Number.POSITIVE_INFINITY }

const app = await startApp()
const { body: domain } = await app.send('POST', '/api/v1/domains', { form: { name: 'bücher.example' } })
assert.equal(domain.data.id, 1)
const aliases = ['sale', 'Ähre-ß', '日本語/リンク', '🏳️‍🌈'.repeat(5), 'ж'.repeat(128), '😀'.repeat(128)]
const links: { readonly id: number; readonly short_url: string }[] = []
for (const alias of aliases) links.push(await app.stored('/links', { url: 'https://acme.com', alias }))
const [first, longest] = [links[0]?.id, links.at(-1)?.id]

/** The bytes of a picture. */
async function bytesOf(path: string): Promise<Buffer> {
  const answer = await fetch(app.origin + path, { headers: { authorization: `Bearer ${app.key}` } })
  // Drawing and reading pictures keeps this process busy, and the app sheds load then.
  if (answer.status === 503) return bytesOf(path)
  assert.equal(answer.status, 200)
  return Buffer.from(await answer.arrayBuffer())
}

for (const { id, short_url } of links) {
  test(`200 with a readable code of ${short_url.length} characters in each level, as SVG and PNG`, async () => {
    for (const level of ['L', 'M', 'Q', 'H']) {
      if (level === 'H' && short_url.length > 1273) continue
      const path = `/api/v1/links/${id}/qr?level=${level}&size=600`
      const { status, text, body } = await app.send('GET', path)
      assert.deepEqual([status, body], [200, undefined])
      assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="600" height="600" viewBox=/)
      assert.equal(decodeQR(drawnSvg(text), effort), short_url)
      const png = drawnPng(await bytesOf(`${path}&format=png`), 1)
      assert.deepEqual([png.width, png.height], [600, 600])
      assert.equal(decodeQR(png, effort), short_url)
    }
  })
}

test('200 with types, file names and a policy against scripts', async () => {
  for (const [query, type, name] of [
    ['', 'image/svg+xml', `link-${first}.svg`],
    ['?format=png', 'image/png', `link-${first}.png`],
  ] as const) {
    const { status, headers } = await app.send('GET', `/api/v1/links/${first}/qr${query}`)
    assert.deepEqual([status, headers['content-type']], [200, type])
    assert.equal(headers['content-disposition'], `inline; filename="${name}"`)
    assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox")
    assert.equal(headers['x-content-type-options'], 'nosniff')
  }
})

test('the margin has the requested width, or more if pixels are left over', async () => {
  const modules = encodeModules(links[0]?.short_url ?? '', 'M').length
  for (const margin of [0, 1, 4, 16]) {
    const path = `/api/v1/links/${first}/qr?margin=${margin}`
    const svg = drawnSvg((await app.send('GET', path)).text, modules + 2 * margin)
    assert.deepEqual([svg.height, ...whiteAround(svg)], [modules + 2 * margin, margin, margin, margin, margin])
    const png = drawnPng(await bytesOf(`${path}&format=png&size=500`), 1)
    const scale = Math.floor(500 / (modules + 2 * margin))
    const spare = 500 - scale * modules
    const [before, after] = [Math.floor(spare / 2), Math.ceil(spare / 2)]
    assert.ok(before >= scale * margin)
    assert.deepEqual([png.width, ...whiteAround(png)], [500, before, after, before, after])
  }
})

test('returns the headers of GET for HEAD, 304 for a known ETag, and an ETag for each picture', async () => {
  const tags = new Set<unknown>()
  const queries = ['', '?format=png', '?size=513', '?margin=3', '?level=H', '?format=png&size=513']
  for (const query of queries) {
    const path = `/api/v1/links/${first}/qr${query}`
    const [got, head] = [await app.send('GET', path), await app.send('HEAD', path)]
    const { etag = '' } = got.headers
    assert.match(etag, /^"[\w-]+"$/)
    assert.deepEqual([head.status, head.headers.etag], [200, etag])
    assert.equal(head.headers['content-length'], got.headers['content-length'])
    assert.equal((await app.send('GET', path, { headers: { 'if-none-match': `"x", ${etag}` } })).status, 304)
    assert.equal((await app.send('GET', path, { headers: { 'if-match': '"x"' } })).status, 412)
    tags.add(etag)
  }
  assert.equal(tags.size, queries.length)
  const before = (await app.send('GET', `/api/v1/links/${links[1]?.id}/qr`)).headers.etag ?? ''
  await app.send('PATCH', `/api/v1/links/${links[1]?.id}`, { form: { title: 'No part of the code' } })
  const path = `/api/v1/links/${links[1]?.id}/qr`
  assert.equal((await app.send('GET', path, { headers: { 'if-none-match': before } })).status, 304)
  await app.send('PATCH', `/api/v1/links/${links[1]?.id}`, { form: { alias: 'another' } })
  assert.equal((await app.send('GET', path, { headers: { 'if-none-match': before } })).status, 200)
})

test('422 with a valid size or level when the code does not fit', async () => {
  const send = (query: string) => app.send('GET', `/api/v1/links/${longest}/qr?${query}`)
  const violationOf = async (query: string) => {
    const { status, body } = await send(query)
    assert.equal(status, 422)
    const [{ field, code, message }] = body.violations
    return [field, code, message]
  }
  const smallest = encodeModules(links.at(-1)?.short_url ?? '', 'M').length + 8
  const size = `The size must be at least ${smallest} for this short URL, so that each module has a pixel.`
  assert.deepEqual(await violationOf(`size=${smallest - 1}`), ['size', 'out_of_range', size])
  const png = drawnPng(await bytesOf(`/api/v1/links/${longest}/qr?format=png&size=${smallest}`), 4)
  assert.equal(decodeQR(png, effort), links.at(-1)?.short_url)
  const length = links.at(-1)?.short_url.length
  const level = `The level H cannot hold this short URL, which is ${length} characters long. Send level=Q.`
  assert.deepEqual(await violationOf('level=H'), ['level', 'not_allowed', level])
})

test('422 for invalid, unknown and repeated fields', async () => {
  const single = 'format=SVG size=63 size=2049 size=0512 margin=17 margin=-1 margin=00 level=X colour=red'.split(' ')
  for (const query of [...single, 'size=64&size=65', 'format=x&size=x&margin=x&level=x&x=x']) {
    const { status, body } = await app.send('GET', `/api/v1/links/${first}/qr?${query}`)
    const fields = body.violations.map(({ field }: { field: string }) => field)
    assert.deepEqual([status, fields], [422, [...new Set(new URLSearchParams(query).keys())]], query)
  }
})

test('200 for the bounds of each parameter', async () => {
  for (const query of ['size=64&margin=0', 'size=2048&margin=16&level=H&format=png', 'size=&margin=&level=&format=']) {
    assert.equal((await app.send('GET', `/api/v1/links/${first}/qr?${query}`)).status, 200)
  }
})

test('blocks the event loop for less than 20 ms with the largest picture of the longest code', async () => {
  const spent: number[] = []
  for (let round = 0; round < 10; round++) {
    const before = process.threadCpuUsage()
    const picture = drawPng(encodeModules(links.at(-1)?.short_url ?? '', 'M'), { size: 2048, margin: 4 }, plainLook)
    const { user, system } = process.threadCpuUsage(before)
    spent.push((user + system) / 1_000)
    await picture
  }
  // V8 compiles the code during the first rounds.
  assert.ok(Math.min(...spent) < 20, `${spent}`)
})
