import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { generateKey } from '../keys/key.ts'

const app = await startApp()
const idOf = async (sent: string) => {
  const { headers } = await app.send('GET', '/api/v1/domains', { headers: { 'x-request-id': sent } })
  return headers['x-request-id'] as string
}

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
