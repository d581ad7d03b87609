import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { newMember } from '../../test/members.ts'
import { systemActor } from '../access/actor.ts'
import { scopesOfRole } from '../access/roles.ts'
import { createAccount } from '../accounts/store.ts'
import { listRecordEvents } from '../events/store.ts'
import { changeMember } from '../members/changes.ts'
import type { Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { createKey, type Key, listActiveMemberKeys, listKeys, revokeKey, rotateKey } from './store.ts'

const day = 86_400_000
const actor = systemActor(1)

/** Creates a database with key 1. */
async function withKey(t: TestContext, lifetimeMs: number | null): Promise<Storage> {
  const storage = await newStorage((work) => t.after(work))
  const { id } = await createAccount(storage, 'Acme')
  await createKey(storage, systemActor(id), { name: 'ci', scopes: ['spaces:read'], lifetimeMs })
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
  const { key } = await rotateKey(storage, actor, 1, 7 * day)
  assert.deepEqual([key.id, key.name, key.scopes, lifetimeOf(key)], [2, 'ci', ['spaces:read'], 90 * day])
  isNearly((await lifetimes(storage))[0], 7 * day)
})

test('a rotated key keeps its creator, and shows the scopes that their role still has', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  await newMember(storage, account)
  const { id } = await newMember(storage, account, { name: 'Ben' })
  const ben = { ...systemActor(account), kind: 'member', id, name: 'Ben' } as const
  const { key } = await createKey(storage, ben, { name: 'ci', scopes: ['*'], lifetimeMs: null })
  const rotated = (await rotateKey(storage, systemActor(account), key.id, day)).key
  assert.deepEqual([rotated.member_id, rotated.created_by], [id, 'Ben'])
  await changeMember(storage, systemActor(account), id, { role: 'viewer' })
  const expected = scopesOfRole('viewer')
  const active = await listActiveMemberKeys(storage, account, id)
  for (const { scopes } of [...(await listKeys(storage, account)), ...active]) assert.deepEqual(scopes, expected)
  assert.equal(active.length, 2)
})

test('rotates an old key again without extending it', async (t) => {
  for (const lifetime of [90 * day, null]) {
    const storage = await withKey(t, lifetime)
    await rotateKey(storage, actor, 1, 7 * day)
    assert.equal(lifetimeOf((await rotateKey(storage, actor, 1, 30 * day)).key), lifetime)
    isNearly((await lifetimes(storage))[0], 7 * day)
    assert.equal(lifetimeOf((await rotateKey(storage, actor, 1, day)).key), lifetime)
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
    await assert.rejects(revokeKey(storage, systemActor(account), id), { code: 'not_found' })
    await assert.rejects(rotateKey(storage, systemActor(account), id, day), { code: 'not_found' })
  }
  const [key, ...others] = await listKeys(storage, null)
  assert.deepEqual([key?.revoked_at, key?.expires_at, others], [null, null, []])
  const { revoked_at } = await revokeKey(storage, actor, 1)
  assert.notEqual(revoked_at, null)
  assert.equal((await revokeKey(storage, actor, 1)).revoked_at, revoked_at)
})

test('stores each issue, rotation and revocation of a key as an event without the secret', async (t) => {
  const storage = await withKey(t, null)
  const eventsOf = async (id: number) =>
    (await listRecordEvents(storage, 1, { record: 'key', id }, 10)).map(({ action, name, changes, kept }) => {
      assert.equal(kept, undefined)
      return { action, name, changes }
    })
  const created = { action: 'created', name: 'ci', changes: { name: [null, 'ci'], scopes: [null, ['spaces:read']] } }
  assert.deepEqual(await eventsOf(1), [created])
  const { key, secret } = await rotateKey(storage, actor, 1, day)
  assert.deepEqual(await eventsOf(key.id), [created])
  const [old] = await listKeys(storage, 1)
  const rotated = { action: 'rotated', name: 'ci', changes: { expires_at: [null, old?.expires_at] } }
  assert.deepEqual(await eventsOf(1), [rotated, created])
  const { revoked_at } = await revokeKey(storage, actor, key.id)
  await revokeKey(storage, actor, key.id)
  const revoked = { action: 'revoked', name: 'ci', changes: { revoked_at: [null, revoked_at] } }
  assert.deepEqual(await eventsOf(key.id), [revoked, created])
  assert.ok(!JSON.stringify(await storage.execute(query.selectFrom('events').selectAll())).includes(secret))
})

test('a rotation that does not shorten the life of the old key is an event without changes', async (t) => {
  const storage = await withKey(t, day)
  await rotateKey(storage, actor, 1, 7 * day)
  const [event] = await listRecordEvents(storage, 1, { record: 'key', id: 1 }, 1)
  assert.deepEqual([event?.action, event?.changes], ['rotated', {}])
})
