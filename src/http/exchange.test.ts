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

test('the X-Request-Id of the caller is taken over, and logged', async () => {
  for (const id of ['abc-1.2_3', 'x'.repeat(64), 'wm_short', '6ba7b810-9dad-11d1-80b4-00c04fd430c8']) {
    assert.equal(await idOf(id), id)
    assert.ok(app.logs.some((line) => line.request_id === id))
  }
})

test('an X-Request-Id that is too long, or has other characters, is replaced', async () => {
  for (const id of ['x'.repeat(65), 'a b', 'a"b', 'a,b']) assert.notEqual(await idOf(id), id)
})

test('an X-Request-Id that is an API key, or holds one, is replaced and never logged or sent back', async () => {
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

test('an API key in X-Request-Id of a request that fails is not in the answer or the log either', async () => {
  const { body } = await app.send('GET', '/nowhere', { headers: { 'x-request-id': app.key } })
  assert.ok(!JSON.stringify(body).includes(app.key))
  assert.ok(!JSON.stringify(app.logs).includes(app.key))
})

test('no two new ids are the same', () => {
  const ids = Array.from({ length: 1_000 }, newRequestId)
  assert.equal(new Set(ids).size, ids.length)
})
