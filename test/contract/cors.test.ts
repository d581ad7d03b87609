/** Requests from pages of other origins. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'

const origin = 'https://app.example.com'
const path = '/api/v1/spaces'
const closed = await startApp()
const listed = await startApp({ corsOrigins: [origin, 'http://localhost:5173'] })
const open = await startApp({ corsOrigins: '*' })
const evil = 'https://evil.example'

describe('CORS_ORIGINS', () => {
  test('200 without CORS headers if it is unset', async () => {
    const { headers } = await closed.send('GET', path, { headers: { origin } })
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
    )
  })

  test('200 with CORS headers for a listed origin, which expose the API’s headers', async () => {
    const { headers } = await listed.send('GET', path, { headers: { origin } })
    assert.equal(headers['access-control-allow-origin'], origin)
    assert.match(String(headers.vary), /Origin/)
    const exposed = String(headers['access-control-expose-headers']).split(', ')
    for (const name of 'ETag Link Location Retry-After X-Request-Id RateLimit Idempotency-Replayed'.split(' '))
      assert.ok(exposed.includes(name), name)
    assert.equal(headers['access-control-allow-credentials'], undefined)
  })

  test('200 without CORS headers for another origin, and with Vary for caches', async () => {
    for (const other of [evil, 'null', `${origin}.evil.example`, origin.toUpperCase()]) {
      const { headers } = await listed.send('GET', path, { headers: { origin: other } })
      assert.equal(headers['access-control-allow-origin'], undefined, other)
      assert.match(String(headers.vary), /Origin/)
    }
  })

  test('204 for a preflight, with the methods of the path and the API’s request headers', async () => {
    const headers = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'if-match' }
    const { status, headers: said } = await listed.send('OPTIONS', `${path}/1`, { key: null, headers })
    assert.deepEqual([status, said['access-control-allow-origin']], [204, origin])
    assert.equal(said['access-control-allow-methods'], 'GET, HEAD, PUT, PATCH, DELETE')
    const allowed = String(said['access-control-allow-headers']).toLowerCase().split(', ')
    for (const name of ['authorization', 'content-type', 'if-match', 'if-none-match', 'idempotency-key'])
      assert.ok(allowed.includes(name), name)
    assert.ok(Number(said['access-control-max-age']) > 0)
  })

  test('204 with only Allow for other OPTIONS requests, and for a preflight of an unknown origin', async () => {
    for (const headers of [{ origin }, { origin: evil, 'access-control-request-method': 'POST' }]) {
      const answer = await listed.send('OPTIONS', path, { key: null, headers })
      assert.deepEqual([answer.status, answer.headers['access-control-allow-methods']], [204, undefined])
      assert.equal(answer.headers.allow, 'GET, HEAD, POST, OPTIONS')
    }
  })

  test('CORS headers for any origin on all paths of the API if * is allowed, and on no other path', async () => {
    for (const [target, status, allowed, key] of [
      ['/%61pi/v1/me', 200, '*', open.key],
      [path, 401, '*', null],
      [`${path}/x`, 404, '*', open.key],
      ['/api/v1/nothing', 404, '*', open.key],
      [`${path}?per_page=7`, 422, '*', open.key],
      ['/health', 200, undefined, null],
      ['/openapi.json', 200, undefined, null],
      ['/problems/not_found', 200, undefined, null],
      ['/nothing', 404, undefined, null],
    ] as const) {
      const answer = await open.send('GET', target, { key, headers: { origin } })
      assert.deepEqual([answer.status, answer.headers['access-control-allow-origin']], [status, allowed], target)
    }
  })
})
