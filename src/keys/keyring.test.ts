import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { Failure } from '../errors.ts'
import type { Storage } from '../storage/port.ts'
import { generateKey } from './key.ts'
import { Keyring } from './keyring.ts'
import { createKey, listKeys, revokeKey } from './store.ts'

async function open(t: TestContext): Promise<{ storage: Storage; issue: (count: number) => Promise<string[]> }> {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const issue = (count: number) =>
    storage.write(async (tx) => {
      const secrets: string[] = []
      for (let n = 0; n < count; n++) {
        const { secret } = await createKey(tx, systemActor(account), { name: 'ci', scopes: ['*'], lifetimeMs: null })
        secrets.push(secret)
      }
      return secrets
    })
  return { storage, issue }
}

test('caches a limited number of keys and evicts the least recently used', async (t) => {
  const { storage, issue } = await open(t)
  const keyring = new Keyring(storage, 100)
  t.after(() => keyring.close())
  const [first = '', ...others] = await issue(101)
  for (const secret of others) await keyring.identify(secret)
  const [second = '', third = ''] = others
  const isRemembered = (secret: string) => !(keyring.identify(secret) instanceof Promise)
  assert.ok(isRemembered(second))
  await keyring.identify(first)
  assert.ok(isRemembered(first))
  assert.ok(isRemembered(second))
  assert.ok(!isRemembered(third))
})

test('caches 401 for unknown and revoked keys for five seconds, without evicting valid keys', async (t) => {
  const { storage, issue } = await open(t)
  const keyring = new Keyring(storage, 10)
  t.after(() => keyring.close())
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const [good = '', revoked = ''] = await issue(2)
  await keyring.identify(good)
  await revokeKey(storage, systemActor(1), 2)
  for (const secret of [revoked, ...Array.from({ length: 20 }, generateKey)]) {
    const first = keyring.identify(secret)
    assert.ok(first instanceof Promise)
    const failure = await first
    assert.ok(failure instanceof Failure)
    assert.equal(keyring.identify(secret), failure)
    assert.equal(failure.code, secret === revoked ? 'revoked_api_key' : 'invalid_api_key')
  }
  assert.ok(keyring.identify(revoked) instanceof Promise)
  assert.ok(!(keyring.identify(good) instanceof Promise))

  const secret = generateKey()
  await keyring.identify(secret)
  now += 4_999
  assert.ok(!(keyring.identify(secret) instanceof Promise))
  now += 2
  assert.ok(keyring.identify(secret) instanceof Promise)
})

test('the last use is written when the keyring is closed', async (t) => {
  const { storage, issue } = await open(t)
  const keyring = new Keyring(storage)
  const [used = ''] = await issue(2)
  await keyring.identify(used)
  await keyring.close()
  const [first, second] = await listKeys(storage, null)
  assert.match(String(first?.last_used_at), /^\d{4}-.*Z$/)
  assert.equal(second?.last_used_at, null)
})

test('writes uses later if the database fails, and fails no request', async (t) => {
  // Before the pool of PostgreSQL starts its timers, because a mocked `clearTimeout` doesn't clear real ones.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { storage, issue } = await open(t)
  const [used = ''] = await issue(1)
  let isAvailable = false
  let attempts = 0
  const write: Storage['write'] = async (...parameters) => {
    attempts += 1
    if (!isAvailable) throw new Error('not now')
    return storage.write(...parameters)
  }
  const db = withMethods(storage, { write })
  const keyring = new Keyring(db)
  await keyring.identify(used)
  t.mock.timers.tick(30_000)
  t.mock.timers.reset()
  await eventually(async () => attempts === 1)
  assert.equal((await listKeys(storage, null))[0]?.last_used_at, null)
  isAvailable = true
  await keyring.close()
  assert.notEqual((await listKeys(storage, null))[0]?.last_used_at, null)
})
