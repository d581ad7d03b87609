/** Compression of long JSON responses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codingFor } from '../../src/http/response.ts'
import { startApp } from '../app.ts'

const gzip = { 'accept-encoding': 'gzip, deflate, br' }

async function startWithSpaces() {
  const app = await startApp()
  for (let n = 0; n < 25; n++) await app.send('POST', '/api/v1/spaces', { form: { name: `Space ${n}` } })
  return app
}

describe('Accept-Encoding', () => {
  test('200 with gzip for a list over 1 KiB, with the same content', async () => {
    const app = await startWithSpaces()
    const path = '/api/v1/spaces?per_page=25'
    const url = `${app.origin}${path}`
    const headers = { authorization: `Bearer ${app.key}` }
    const plain = await fetch(url, { headers: { ...headers, 'accept-encoding': 'identity' } })
    const packed = await fetch(url, { headers: { ...headers, ...gzip } })
    assert.deepEqual(
      [plain, packed].map((answer) => answer.headers.get('content-encoding')),
      [null, 'gzip'],
    )
    for (const answer of [plain, packed]) assert.match(String(answer.headers.get('vary')), /Accept-Encoding/)
    assert.ok(Number(packed.headers.get('content-length')) < Number(plain.headers.get('content-length')) / 3)
    assert.equal(await packed.text(), await plain.text())
    // A strong tag belongs to one representation.
    assert.equal(packed.headers.get('etag'), String(plain.headers.get('etag')).replace(/"$/, '-gzip"'))
  })

  test('200 with gzip for a list over 400 KB, with the same content', async () => {
    const app = await startApp()
    const long = `https://acme.com/${'x'.repeat(2_030)}`
    for (let n = 0; n < 100; n++) {
      const form = { name: `go${n}.acme.com`, homepage_url: long, not_found_url: long }
      await app.send('POST', '/api/v1/domains', { form })
    }
    const ask = (headers: Record<string, string>) =>
      fetch(`${app.origin}/api/v1/domains?per_page=100`, {
        headers: { authorization: `Bearer ${app.key}`, ...headers },
      })
    const packed = await ask(gzip)
    assert.equal(packed.headers.get('content-encoding'), 'gzip')
    const text = await packed.text()
    assert.ok(text.length > 400_000)
    assert.equal(text, await (await ask({ 'accept-encoding': 'identity' })).text())
  })

  test('304 to the tag of either representation, with the same tag', async () => {
    const app = await startWithSpaces()
    const url = `${app.origin}/api/v1/spaces?per_page=25`
    const authorization = `Bearer ${app.key}`
    for (const encoding of ['gzip', 'identity']) {
      const headers = { authorization, 'accept-encoding': encoding }
      const etag = String((await fetch(url, { headers })).headers.get('etag'))
      const again = await fetch(url, { headers: { ...headers, 'if-none-match': etag } })
      assert.deepEqual([again.status, again.headers.get('etag')], [304, etag])
    }
  })

  test('200 for a change whose If-Match has the tag of a compressed record', async () => {
    const app = await startApp()
    const long = `https://acme.com/${'x'.repeat(1_500)}`
    const authorization = `Bearer ${app.key}`
    const stored = await app.send('POST', '/api/v1/domains', { form: { name: 'go.acme.com', homepage_url: long } })
    const url = `${app.origin}/api/v1/domains/${stored.body.data.id}`
    const etag = String((await fetch(url, { headers: { authorization, ...gzip } })).headers.get('etag'))
    assert.match(etag, /-gzip"$/)
    const body = new URLSearchParams({ homepage_url: '' })
    const changed = await fetch(url, { method: 'PATCH', headers: { authorization, 'if-match': etag }, body })
    assert.equal(changed.status, 200)
    const late = await fetch(url, { method: 'PATCH', headers: { authorization, 'if-match': etag }, body })
    assert.equal(late.status, 412)
  })

  test('200 uncompressed for short responses, and for clients that do not ask', async () => {
    const app = await startWithSpaces()
    const short = await app.send('GET', '/api/v1/spaces/1', { headers: gzip })
    assert.deepEqual([short.headers['content-encoding'], short.headers.vary], [undefined, undefined])
    const long = await app.send('GET', '/api/v1/spaces?per_page=25')
    assert.equal(long.headers['content-encoding'], undefined)
  })

  test('the weights of the header decide', () => {
    for (const header of ['gzip', 'GZIP', 'br, gzip;q=0.1', '*', 'identity;q=1, *;q=0.5', 'deflate , gzip ; q=1.0']) {
      assert.equal(codingFor(header, ['gzip']), 'gzip', header)
    }
    for (const header of [
      undefined,
      '',
      'br',
      'gzip;q=0',
      'gzip;q=0.000, *',
      '*;q=0',
      'identity',
      'x-gzip2',
      `${'br,'.repeat(400)}gzip`,
      'gzip;q=x',
    ]) {
      assert.equal(codingFor(header, ['gzip']), 'identity', String(header))
    }
  })
})
