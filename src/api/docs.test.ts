import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { startApp, type TestApp } from '../../test/app.ts'
import { explanations } from '../../tools/docs/problem-texts.ts'
import { operations } from '../app/operations.ts'
import { failures } from '../http/failures.ts'

const app = await startApp()
const html = 'text/html; charset=utf-8'
const json = 'application/json; charset=utf-8'

test('302 from / to the dashboard', async () => {
  const { status, headers } = await app.send('GET', '/', { key: null })
  assert.equal(status, 302)
  assert.equal(headers.location, '/app')
})

test('200 with the document for the requested address, without a key', async () => {
  const { status, headers, body } = await app.send('GET', '/openapi.json', { key: null })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], json)
  const built = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
  assert.deepEqual(body, { ...built, servers: [{ ...built.servers[0], url: app.origin }] })
  const elsewhere = await app.send('GET', '/openapi.json', { key: null, headers: { host: 'links.example.com' } })
  assert.equal(elsewhere.body.servers[0].url, 'http://links.example.com')
  assert.notEqual(elsewhere.headers.etag, headers.etag)
  // Unknown parameters are ignored, as everywhere outside the API.
  assert.equal((await app.send('GET', '/openapi.json?bodies=json', { key: null })).headers.etag, headers.etag)
})

test('200 with the document for any number of addresses, compressed only for the first few', async () => {
  const app = await startApp()
  const ask = (host: string) => get(app, '/openapi.json', { host, 'accept-encoding': 'gzip' })
  assert.equal((await ask('first.example.com')).headers['content-encoding'], 'gzip')
  for (let i = 0; i < 8; i++) await ask(`host${i}.example.com`)
  const { headers, bytes } = await ask('late.example.com')
  assert.equal(headers['content-encoding'], undefined)
  assert.equal(JSON.parse(bytes.toString()).servers[0].url, 'http://late.example.com')
  assert.equal((await ask('first.example.com')).headers['content-encoding'], 'gzip')
})

test('200 with the reference at /docs, which loads nothing from other hosts, and 302 to it from its other URLs', async () => {
  const { status, headers, text } = await app.send('GET', '/docs', { key: null })
  assert.equal(status, 200)
  assert.equal(headers['content-type'], html)
  assert.match(String(headers['content-security-policy']), /^default-src 'none';/)
  // Also over plain HTTP.
  assert.doesNotMatch(String(headers['content-security-policy']), /https?:|\*|unsafe|upgrade-insecure-requests/)
  assert.doesNotMatch(text, /(?:src|href)="(?!\/|#)|=\s*"\/\/|undefined|\[object/)
  for (const path of ['/docs/', '/docs?a=1', '/docs/?a=1', '/docs/static/']) {
    const answer = await app.send('GET', path, { key: null })
    assert.deepEqual([answer.status, answer.headers.location], [302, '/docs'], path)
  }
})

test('200 with each page of docs/ below /docs, whose links all work, and 404 for other names', async () => {
  const read = async (path: string) => (await app.send('GET', path, { key: null })).text
  const { status, headers, text } = await app.send('GET', '/docs/dashboard', { key: null })
  assert.deepEqual([status, headers['content-type']], [200, html])
  assert.match(text, /<h1>The dashboard<\/h1>[\s\S]*<h2 id="keyboard-shortcuts">/)
  const pages = readdirSync(new URL('../../docs/', import.meta.url)).filter((name) => name.endsWith('.md'))
  const texts = new Map(
    ['/docs', ...pages.map((name) => `/docs/${name.slice(0, -3)}`)].map((path) => [path, read(path)]),
  )
  for (const [path, reading] of texts) {
    const own = await reading
    assert.ok(path === '/docs' || own.includes(`href="${path}" aria-current="page"`), `no page lists ${path}`)
    for (const [, target = ''] of own.matchAll(/ href="([^"]*)"/g)) {
      if (/^https?:|^\/(?:app|openapi|problems|docs\/static)/.test(target) || path === '/docs') continue
      const [page = '', anchor] = target.split('#')
      const linked = await (page === '' ? reading : texts.get(page))
      assert.ok(
        linked && (anchor === undefined || linked.includes(` id="${anchor}"`)),
        `${path} has a link to ${target}`,
      )
    }
    assert.doesNotMatch(own, /undefined|\[object|<!--|<img src="(?!\/docs\/static)/, path)
  }
  for (const name of ['nothing', 'adr/README', 'README.md', '..%2Fpackage', '__proto__', 'openapi'])
    assert.equal((await app.send('GET', `/docs/${name}`, { key: null })).status, 404, name)
})

test('follows the color scheme of the dashboard', async () => {
  for (const path of ['/docs', '/docs/dashboard', '/problems/not_found']) {
    for (const scheme of ['light', 'dark']) {
      const cookie = `waymark_scheme=${scheme}`
      const { text } = await app.send('GET', path, { key: null, headers: { cookie } })
      assert.ok(text.includes(`<html lang="en" data-scheme="${scheme}">`), path)
    }
    const { text } = await app.send('GET', path, { key: null, headers: { cookie: 'waymark_scheme=pink' } })
    assert.ok(text.includes('<html lang="en">'), path)
  }
})

test('shows the JSON type of each field, and whether it is optional or nullable', async () => {
  const { text } = await app.send('GET', '/docs', { key: null })
  const fieldIn = (id: string, name: string) => {
    const section = text.split(` id="${id}"`)[1]?.split('</details>')[0] ?? ''
    return section.match(new RegExp(`<dt><code>${name}</code> (.*)</dt>`))?.[1]?.replace(/<.*?>/g, '')
  }
  assert.equal(fieldIn('storeLink', 'space_id'), 'integer, 1 or more optional nullable')
  assert.equal(fieldIn('storeLink', 'url'), 'URL, up to 8,192 characters required')
  assert.equal(fieldIn('updateLink', 'disabled'), 'boolean optional')
  assert.equal(fieldIn('updateLink', 'redirect_status'), '301, 302, 307 or 308 optional')
  assert.equal(fieldIn('updateLink', 'tags'), 'list of string, up to 50 characters optional nullable')
  assert.equal(fieldIn('updateLinks', 'set'), 'object optional')
  assert.equal(fieldIn('Link', 'space_id'), 'integer, 1 or more nullable')
  assert.equal(fieldIn('Link', 'id'), 'integer, 1 or more')
  assert.equal(fieldIn('Problem', 'reason'), 'database_corrupt, disk_full or read_only optional')
})

test('offers the media types of each body', async () => {
  const { text } = await app.send('GET', '/docs', { key: null })
  const offered = (id: string) =>
    text
      .match(new RegExp(`<select id="${id}-body-type" class="type">(.*?)</select>`))?.[1]
      ?.replace(/<.*?>/g, ' ')
      .trim()
  assert.deepEqual(
    [offered('storeLink'), offered('deleteLinks'), offered('storeLinks')],
    ['JSON  Form', 'JSON  Form', 'JSON'],
  )
})

/** The reference leaves out fields that can only be sent back. */
const isReadOnly = (field: { readonly schema: { readonly readOnly?: boolean } } | undefined) =>
  field?.schema.readOnly === true

test('shows every operation, parameter and field of the document in the reference, with unique ids', async () => {
  const { text } = await app.send('GET', '/docs', { key: null })
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, ids.length)
  for (const { id, query, body } of operations) {
    const section = text.split(`<details class="operation" id="${id}"`)[1]?.split('</form>')[0] ?? ''
    const names = [query, body?.form].flatMap((form) => Object.keys(form?.fields ?? {}))
    const shown = names.filter((name) => !isReadOnly(body?.form.fields[name as never]))
    for (const name of shown) assert.ok(section.includes(`<code>${name}</code>`), `${id} lacks ${name}`)
  }
  for (const [, target] of text.matchAll(/ href="#([^"]+)"/g))
    assert.ok(ids.includes(target), `#${target} is not on the page`)
})

for (const path of ['/docs', '/docs/static/reference.js', '/openapi.json']) {
  test(`200 with ${path}, then 304 while it is the same, and 412 for any other`, async () => {
    const first = await get(app, path, { 'x-request-id': 'mine' })
    assert.equal(first.status, 200)
    assert.equal(first.headers['x-request-id'], 'mine')
    assert.equal(first.headers['x-content-type-options'], 'nosniff')
    assert.equal(first.headers.vary, 'Accept-Encoding')
    const tag = String(first.headers.etag)
    for (const known of [tag, `W/${tag}`, '*'])
      assert.equal((await get(app, path, { 'if-none-match': known })).status, 304)
    assert.equal((await get(app, path, { 'if-none-match': '"other"' })).status, 200)
    assert.equal((await get(app, path, { 'if-match': '"other"' })).status, 412)
  })

  test(`200 with ${path} in the best coding that the client accepts`, async () => {
    const plain = await get(app, path, {})
    assert.equal(plain.headers['content-encoding'], undefined)
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['GZIP', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['*', 'br'],
      ['br;q=0, *;q=0', undefined],
      ['identity, deflate', undefined],
      ['br;q=nonsense', undefined],
    ] as const) {
      const answer = await get(app, path, { 'accept-encoding': accepted })
      assert.equal(answer.headers['content-encoding'], coding, accepted)
      const decode = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes }[
        coding ?? 'identity'
      ]
      assert.ok(decode(answer.bytes).equals(plain.bytes), accepted)
      assert.equal(answer.headers.etag === plain.headers.etag, coding === undefined, accepted)
    }
  })
}

test('the reference loads less than 10 KB, and 4 KB for each group of operations', async () => {
  const files = ['', '/static/reference.css', '/static/reference.js', '/static/examples.js', '/static/icon.svg']
  const answers = await Promise.all(files.map((file) => get(app, `/docs${file}`, { 'accept-encoding': 'br' })))
  const size = answers.reduce((sum, { status, bytes }) => sum + (status === 200 ? bytes.length : Infinity), 0)
  const groups = new Set(operations.map(({ tag }) => tag.name))
  assert.ok(size < 10_000 + 4_000 * groups.size, `${size} bytes for ${groups.size} groups`)
})

test('404 for an unknown file of the reference, as for any other path', async () => {
  for (const name of ['nothing', 'static/nothing.js', 'static/%2e%2e/package.json', 'static/%00']) {
    const path = `/docs/${name}`
    const { status, body } = await app.send('GET', path, { key: null })
    assert.deepEqual([status, body.code], [404, 'route_not_found'], path)
  }
})

test('405 for anything but GET', async () => {
  for (const path of ['/', '/openapi.json', '/docs', '/docs/static/reference.css', '/problems/not_found']) {
    const { status, headers } = await app.send('POST', path, { key: null })
    assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, OPTIONS'], path)
  }
})

test('shows a page for every problem, which loads and runs nothing', async () => {
  for (const [code, { title }] of Object.entries(failures)) {
    const { status, headers, text } = await app.send('GET', `/problems/${code}`, { key: null })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], html)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe/)
    assert.ok(text.includes(`<h1>${title}</h1>`) && text.includes('href="/app"'))
  }
})

test('explains problems in JSON to clients that accept JSON and not HTML', async () => {
  const asked = async (accept: string) => app.send('GET', '/problems/name_taken', { key: null, headers: { accept } })
  const { headers, body } = await asked('application/json')
  assert.equal(headers['content-type'], json)
  assert.equal(headers.vary, 'Accept')
  assert.deepEqual(body, { code: 'name_taken', ...failures.name_taken, explanation: explanations.name_taken })
  assert.equal((await asked('text/html, application/json')).headers['content-type'], html)
  assert.equal((await asked('*/*')).headers['content-type'], html)
})

test('404 for an unknown problem', async () => {
  for (const code of ['nothing', 'toString', '__proto__', 'NOT_FOUND', '']) {
    const { status, body } = await app.send('GET', `/problems/${code}`, { key: null })
    assert.deepEqual([status, body.code], [404, 'not_found'], code)
  }
})

/** Returns the raw response. Repeats the request while the server is overloaded. */
async function get(app: TestApp, path: string, headers: OutgoingHttpHeaders) {
  for (;;) {
    const [response] = await once(request({ port: app.port, path, headers, agent: false }).end(), 'response')
    const bytes = Buffer.concat(await response.toArray())
    const answer = response as IncomingMessage
    if (answer.statusCode !== 503) return { status: answer.statusCode, headers: answer.headers, bytes }
  }
}
