import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { createAccount } from '../accounts/store.ts'
import type { Storage } from '../storage/port.ts'
import { createKey, type Key, listKeys, revokeKey, rotateKey } from './store.ts'

const day = 86_400_000

/** Creates a database with key 1. */
async function withKey(t: TestContext, lifetimeMs: number | null): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work))
  const { id } = await createAccount(storage, 'Acme')
  await createKey(storage, { account: id, name: 'ci', scopes: ['spaces:read'], lifetimeMs })
  return storage
}

async function lifetimes(storage: Storage): Promise<(number | null)[]> {
  return (await listKeys(storage, null)).map(lifetimeOf)
}

function lifetimeOf({ created_at, expires_at }: Key): number | null {
  return expires_at === null ? null : Date.parse(expires_at) - Date.parse(created_at)
}

const isNearly = (actual: number | null | undefined, expected: number) =>
  assert.ok(Math.abs(Number(actual) - expected) < 30_000, `${actual} ms`)

test('rotation issues a key with the original lifetime', async (t) => {
  const storage = await withKey(t, 90 * day)
  const { key } = await rotateKey(storage, 1, 1, 7 * day)
  assert.deepEqual([key.id, key.name, key.scopes, lifetimeOf(key)], [2, 'ci', ['spaces:read'], 90 * day])
  isNearly((await lifetimes(storage))[0], 7 * day)
})

test('rotates an old key again without extending it', async (t) => {
  for (const lifetime of [90 * day, null]) {
    const storage = await withKey(t, lifetime)
    await rotateKey(storage, 1, 1, 7 * day)
    assert.equal(lifetimeOf((await rotateKey(storage, 1, 1, 30 * day)).key), lifetime)
    isNearly((await lifetimes(storage))[0], 7 * day)
    assert.equal(lifetimeOf((await rotateKey(storage, 1, 1, day)).key), lifetime)
    isNearly((await lifetimes(storage))[0], day)
  }
})

test('throws not_found for another account’s key', async (t) => {
  const storage = await withKey(t, null)
  const { id: other } = await createAccount(storage, 'Other')
  for (const [account, id] of [
    [other, 1],
    [1, 2],
  ] as const) {
    await assert.rejects(revokeKey(storage, account, id), { code: 'not_found' })
    await assert.rejects(rotateKey(storage, account, id, day), { code: 'not_found' })
  }
  const [key, ...others] = await listKeys(storage, null)
  assert.deepEqual([key?.revoked_at, key?.expires_at, others], [null, null, []])
  const { revoked_at } = await revokeKey(storage, 1, 1)
  assert.notEqual(revoked_at, null)
  assert.equal((await revokeKey(storage, 1, 1)).revoked_at, revoked_at)
})
