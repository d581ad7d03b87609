/** Compression of long JSON responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codingFor } from '../../src/http/response.ts'
import { startApp } from '../app.ts'

const app = await startApp()
const authorization = `Bearer ${app.key}`
const gzip = { 'accept-encoding': 'gzip, deflate, br' }
const plain = { 'accept-encoding': 'identity' }
const long = `https://acme.com/${'x'.repeat(2_030)}`
for (let n = 0; n < 100; n++) {
  const form = { name: `go${n}.acme.com`, homepage_url: long, not_found_url: long }
  await app.send('POST', '/api/v1/domains', { form })
}

/** Sends a request as `fetch` does, which decompresses the response. */
const ask = (path: string, headers: Record<string, string>) =>
  fetch(`${app.origin}/api/v1${path}`, { headers: { authorization, ...headers } })

test('200 with gzip for a list over 1 KiB and over 400 KB, with the same content', async () => {
  for (const path of ['/domains?per_page=10', '/domains?per_page=100']) {
    const [whole, packed] = [await ask(path, plain), await ask(path, gzip)]
    const codings = [whole, packed].map((answer) => answer.headers.get('content-encoding'))
    assert.deepEqual(codings, [null, 'gzip'])
    for (const answer of [whole, packed]) assert.match(String(answer.headers.get('vary')), /Accept-Encoding/)
    const text = await packed.text()
    assert.ok(Number(packed.headers.get('content-length')) < text.length / 3)
    assert.equal(text, await whole.text())
    // A strong tag belongs to one representation.
    assert.equal(packed.headers.get('etag'), String(whole.headers.get('etag')).replace(/"$/, '-gzip"'))
    assert.ok(text.length > (path.endsWith('=100') ? 400_000 : 1_024))
  }
})

test('304 to the tag of either representation, with the same tag', async () => {
  for (const encoding of [gzip, plain]) {
    const etag = String((await ask('/domains', encoding)).headers.get('etag'))
    const again = await ask('/domains', { ...encoding, 'if-none-match': etag })
    assert.deepEqual([again.status, again.headers.get('etag')], [304, etag])
  }
})

test('200 for a change whose If-Match has the tag of a compressed record, then 412', async () => {
  const etag = String((await ask('/domains/1', gzip)).headers.get('etag'))
  assert.match(etag, /-gzip"$/)
  const change = { form: { not_found_url: '' }, headers: { 'if-match': etag } }
  assert.equal((await app.send('PATCH', '/api/v1/domains/1', change)).status, 200)
  assert.equal((await app.send('PATCH', '/api/v1/domains/1', change)).status, 412)
})

test('200 uncompressed for short responses, and for clients that do not ask', async () => {
  const short = await app.send('GET', '/api/v1/spaces', { headers: gzip })
  assert.equal(short.headers['content-encoding'], undefined)
  const own = await app.send('GET', '/api/v1/me', { headers: gzip })
  assert.deepEqual([own.headers['content-encoding'], own.headers.vary], [undefined, undefined])
  assert.equal((await app.send('GET', '/api/v1/domains')).headers['content-encoding'], undefined)
})

test('the weights of the header decide', () => {
  const zipped = ['gzip', 'GZIP', 'br, gzip;q=0.1', '*', 'identity;q=1, *;q=0.5', 'deflate , gzip ; q=1.0']
  const none = [undefined, '', 'br', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'identity', 'x-gzip2', 'gzip;q=x']
  for (const header of zipped) assert.equal(codingFor(header, ['gzip']), 'gzip', header)
  for (const header of [...none, `${'br,'.repeat(400)}gzip`])
    assert.equal(codingFor(header, ['gzip']), 'identity', String(header))
})
