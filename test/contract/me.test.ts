/** `GET /api/v1/me`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'

const path = '/api/v1/me'

describe('GET /me', () => {
  test('200 with the key, its account and its limit, for any scope', async () => {
    const app = await startApp({ rateLimit: 5_000 })
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { key, secret } = await app.issueKey({ scopes: ['spaces:read'], expiresAt })
    const { status, body, text } = await app.send('GET', path, { key: secret })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      data: {
        id: key.id,
        name: 'test',
        scopes: ['spaces:read'],
        expires_at: key.expires_at,
        rate_limit: 5_000,
        account: { id: app.account, name: 'Acme' },
        member: null,
      },
    })
    assert.ok(!text.includes(secret))
  })

  test('200 with null if the key has no expiry and no limit', async () => {
    const app = await startApp({ rateLimit: 0 })
    const account = await app.createAccount()
    const { body } = await app.send('GET', path, { key: await app.createKey({ account }) })
    const { expires_at, rate_limit, scopes } = body.data
    assert.deepEqual(
      [expires_at, rate_limit, scopes, body.data.account],
      [null, null, ['*'], { id: account, name: 'Another' }],
    )
  })
})
