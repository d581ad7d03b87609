import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { generateKey } from '../keys/key.ts'
import { newRequestId } from './exchange.ts'

const app = await startApp()
const idOf = async (sent: string) => {
  const { headers } = await app.send('GET', '/api/v1/domains', { headers: { 'x-request-id': sent } })
  return headers['x-request-id'] as string
}

test('uses and logs the X-Request-Id of the client', async () => {
  for (const id of ['abc-1.2_3', 'x'.repeat(64), 'wm_short', '6ba7b810-9dad-11d1-80b4-00c04fd430c8']) {
    assert.equal(await idOf(id), id)
    assert.ok(app.logs.some((line) => line.request_id === id))
  }
})

test('replaces an X-Request-Id that is too long or has other characters', async () => {
  for (const id of ['x'.repeat(65), 'a b', 'a"b', 'a,b']) assert.notEqual(await idOf(id), id)
})

test('replaces an X-Request-Id with an API key, and never logs or returns it', async () => {
  for (const [before, after] of [
    ['', ''],
    ['id-', ''],
    ['', '-7'],
    ['x', '.y'],
  ]) {
    for (const secret of [app.key, generateKey()]) {
      const id = await idOf(`${before}${secret}${after}`)
      assert.ok(!id.includes(secret))
      assert.ok(!JSON.stringify(app.logs).includes(secret))
    }
  }
})

test('never logs or returns an API key in X-Request-Id of a failed request', async () => {
  const { body } = await app.send('GET', '/nowhere', { headers: { 'x-request-id': app.key } })
  assert.ok(!JSON.stringify(body).includes(app.key))
  assert.ok(!JSON.stringify(app.logs).includes(app.key))
})

test('generates unique ids', () => {
  const ids = Array.from({ length: 1_000 }, newRequestId)
  assert.equal(new Set(ids).size, ids.length)
})
