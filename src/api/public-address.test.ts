/** The host of links in responses: BASE_URL, or otherwise the requested host. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'

const path = '/api/v1/spaces'
const app = await startApp({ trustProxy: 1 })
const forwarded = { 'x-forwarded-host': 'links.example.com', 'x-forwarded-proto': 'https' }

test('201 and 200 with links to BASE_URL, whatever the Host is', async () => {
  const app = await startApp({ baseUrl: 'https://links.example.com', trustProxy: 1 })
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }
  const stored = await app.send('POST', path, { form: { name: 'x' }, headers })
  assert.equal(stored.headers.location, `https://links.example.com${path}/${stored.body.data.id}`)
  const list = await app.send('GET', path, { headers })
  assert.equal(list.body.links.first, `https://links.example.com${path}?page=1`)
  assert.equal(list.body.meta.path, `https://links.example.com${path}`)
  const { body } = await app.send('GET', '/openapi.json', { headers })
  assert.equal(body.servers[0].url, 'https://links.example.com')
  assert.ok(!list.text.includes('evil') && !String(list.headers.link).includes('evil'))
})

test('every response, but none to visitors, has Strict-Transport-Security if BASE_URL is https', async () => {
  const targets = [
    'GET /app/sign-in',
    'GET /health',
    'GET /nowhere',
    'GET /openapi.json',
    `GET ${path}`,
    `OPTIONS ${path}`,
  ]
  for (const [scheme, expected] of [
    ['https', 'max-age=31536000'],
    ['http', undefined],
  ] as const) {
    const { send, raw, visit } = await startApp({ baseUrl: `${scheme}://links.example.com` })
    const answers = await Promise.all(targets.map((target) => send(...(target.split(' ') as [string, string]))))
    answers.push(...(await raw('not HTTP\r\n\r\n')))
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers['strict-transport-security']]),
      [200, 200, 404, 200, 200, 204, 400].map((status) => [status, expected]),
    )
    assert.equal((await visit('http://links.example.com/')).headers['strict-transport-security'], undefined)
  }
})

test('200 with links to the host that a trusted proxy forwards', async () => {
  const { body } = await app.send('GET', path, { headers: forwarded })
  assert.equal(body.meta.path, `https://links.example.com${path}`)
  const document = await app.send('GET', '/openapi.json', { key: null, headers: forwarded })
  assert.equal(document.body.servers[0].url, 'https://links.example.com')
})

test('400 malformed_request for an invalid host or scheme from a trusted proxy', async () => {
  for (const [name, value] of [
    ['x-forwarded-host', 'a/b'],
    ['x-forwarded-host', 'a"b'],
    ['x-forwarded-proto', 'javascript'],
  ] as const) {
    const { status, body } = await app.send('GET', path, { headers: { [name]: value } })
    assert.deepEqual([status, body.code], [400, 'malformed_request'])
  }
  const withoutHost = `GET ${path} HTTP/1.0\r\nX-Forwarded-Proto: ftp\r\nAuthorization: Bearer ${app.key}\r\n\r\n`
  assert.equal((await app.raw(withoutHost))[0]?.body.code, 'malformed_request')
})
