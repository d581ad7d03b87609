/** Requests from pages of other origins. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'

const origin = 'https://app.example.com'
const path = '/api/v1/spaces'

describe('CORS_ORIGINS', () => {
  test('200 without CORS headers if it is unset', async () => {
    const app = await startApp()
    const { headers } = await app.send('GET', path, { headers: { origin } })
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
    )
  })

  test('200 with CORS headers for a listed origin, which expose the headers of the API', async () => {
    const app = await startApp({ corsOrigins: [origin, 'http://localhost:5173'] })
    const { headers } = await app.send('GET', path, { headers: { origin } })
    assert.equal(headers['access-control-allow-origin'], origin)
    assert.match(String(headers.vary), /Origin/)
    const exposed = String(headers['access-control-expose-headers']).split(', ')
    for (const name of 'ETag Link Location Retry-After X-Request-Id RateLimit Idempotency-Replayed'.split(' ')) {
      assert.ok(exposed.includes(name), name)
    }
    assert.equal(headers['access-control-allow-credentials'], undefined)
  })

  test('200 without CORS headers for another origin, and with Vary for caches', async () => {
    const app = await startApp({ corsOrigins: [origin] })
    for (const other of ['https://evil.example', 'null', `${origin}.evil.example`, origin.toUpperCase()]) {
      const { headers } = await app.send('GET', path, { headers: { origin: other } })
      assert.equal(headers['access-control-allow-origin'], undefined, other)
      assert.match(String(headers.vary), /Origin/)
    }
  })

  test('4xx with CORS headers for any origin if * is allowed', async () => {
    const app = await startApp({ corsOrigins: '*' })
    for (const [target, status, key] of [
      [path, 401, null],
      [`${path}/x`, 404, app.key],
      ['/api/v1/nothing', 404, app.key],
      [`${path}?per_page=7`, 422, app.key],
    ] as const) {
      const answer = await app.send('GET', target, { key, headers: { origin } })
      assert.deepEqual([answer.status, answer.headers['access-control-allow-origin']], [status, '*'], target)
    }
  })

  test('204 for a preflight, with the methods of the path and the request headers of the API', async () => {
    const app = await startApp({ corsOrigins: [origin] })
    const headers = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'if-match' }
    const { status, headers: said } = await app.send('OPTIONS', `${path}/1`, { key: null, headers })
    assert.equal(status, 204)
    assert.equal(said['access-control-allow-origin'], origin)
    assert.equal(said['access-control-allow-methods'], 'GET, HEAD, PUT, PATCH, DELETE')
    const allowed = String(said['access-control-allow-headers']).toLowerCase().split(', ')
    for (const name of ['authorization', 'content-type', 'if-match', 'if-none-match', 'idempotency-key']) {
      assert.ok(allowed.includes(name), name)
    }
    assert.ok(Number(said['access-control-max-age']) > 0)
  })

  test('204 with only Allow for other OPTIONS requests, and for a preflight of an unknown origin', async () => {
    const app = await startApp({ corsOrigins: [origin] })
    for (const headers of [{ origin }, { origin: 'https://evil.example', 'access-control-request-method': 'POST' }]) {
      const answer = await app.send('OPTIONS', path, { key: null, headers })
      assert.equal(answer.status, 204)
      assert.equal(answer.headers['access-control-allow-methods'], undefined)
      assert.equal(answer.headers.allow, 'GET, HEAD, POST, OPTIONS')
    }
  })

  test('200 with CORS headers for a percent-encoded path', async () => {
    const app = await startApp({ corsOrigins: '*' })
    const { status, headers } = await app.send('GET', '/%61pi/v1/me', { headers: { origin } })
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, '*'])
  })

  test('200 and 404 without CORS headers outside of the API', async () => {
    const app = await startApp({ corsOrigins: '*' })
    for (const target of ['/health', '/openapi.json', '/problems/not_found', '/nothing']) {
      const { headers } = await app.send('GET', target, { key: null, headers: { origin } })
      assert.equal(headers['access-control-allow-origin'], undefined, target)
    }
  })
})
