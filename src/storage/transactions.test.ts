/** Isolation of concurrent transactions, on both engines. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newStorage } from '../../test/engine.ts'
import { firstPage } from '../../test/first-page.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount, listAccounts } from '../accounts/store.ts'
import { domainRecords, insertDomain } from '../domains/store.ts'
import { createKey, listKeys, recordUses, revokeKey, rotateKey } from '../keys/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { createFirstAccess } from '../process/access.ts'
import { changeSpace, insertSpace, spaceRecords } from '../spaces/store.ts'
import { Refusal } from '../violations.ts'
import type { Storage } from './port.ts'

async function open(t: TestContext): Promise<{ storage: Storage; account: number }> {
  const storage = await newStorage((work) => t.after(work))
  return { storage, account: (await createAccount(storage, 'Acme')).id }
}

function hostName(text: string) {
  const name = parseHostName(text)
  assert.ok(!(name instanceof Refusal))
  return name
}

const noUrls = { homepage_url: null, not_found_url: null }
const times = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

test('never moves updated_at back, even if the clock does', async (t) => {
  const { storage, account } = await open(t)
  const now = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now })
  const domain = (await insertDomain(storage, systemActor(account), hostName('go.acme.com'), noUrls)).record
  const space = (await insertSpace(storage, systemActor(account), { name: 'Space', color: 1 })).record
  t.mock.timers.setTime(now - 60_000)
  const changed = [
    await domainRecords.change(storage, account, domain.id, { homepage_url: 'https://a.com' }),
    await changeSpace(storage, systemActor(account), space.id, { color: 2 }, null),
  ]
  for (const each of changed) assert.equal(each?.record.updated_at, new Date(now).toISOString())
})

test('stores a name once if many store it at the same time, and uses up no id for it afterwards', async (t) => {
  const { storage, account } = await open(t)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, () => insertDomain(storage, systemActor(account), hostName('go.acme.com'), noUrls)),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  const { record } = await insertDomain(storage, systemActor(account), hostName('next.acme.com'), noUrls)
  for (let n = 0; n < 5; n++) {
    await assert.rejects(insertDomain(storage, systemActor(account), hostName('go.acme.com'), noUrls), {
      code: 'name_taken',
    })
  }
  const last = await insertDomain(storage, systemActor(account), hostName('last.acme.com'), noUrls)
  assert.equal(last.record.id, record.id + 1)
})

test('returns the exact total after concurrent insertions and deletions', async (t) => {
  const { storage, account } = await open(t)
  const { domains } = actionsOn(storage).actions
  const stored = await times(100, (n) =>
    insertDomain(storage, systemActor(account), hostName(`n${n}.acme.com`), noUrls),
  )
  await times(100, async (n) => {
    if (n % 2 === 0) await domains.remove(systemActor(account), stored[n]?.record.id ?? 0, {}, null)
    else await insertDomain(storage, systemActor(account), hostName(`m${n}.acme.com`), noUrls)
  })
  assert.equal((await domainRecords.list(storage, account, firstPage)).total, 100)
})

test('shows a transaction its own writes, and rolls it back if it throws', async (t) => {
  const { storage, account } = await open(t)
  const thrown = storage.write(async (tx) => {
    await insertSpace(tx, systemActor(account), { name: 'One', color: 1 })
    const { record } = await tx.write((inner) =>
      insertDomain(inner, systemActor(account), hostName('go.acme.com'), noUrls),
    )
    assert.deepEqual((await domainRecords.find(tx, account, record.id))?.record, record)
    assert.equal((await domainRecords.list(storage, account, firstPage)).total, 0)
    throw new TypeError('mine')
  })
  await assert.rejects(thrown, { message: 'mine' })
  assert.equal((await domainRecords.list(storage, account, firstPage)).total, 0)
})

test('creates one first key if many processes ask for it at the same time', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const keys = await times(10, () => createFirstAccess(storage))
  assert.equal(keys.filter((key) => key !== undefined).length, 1)
  assert.equal((await listAccounts(storage)).length, 1)
})

test('commits both of two transactions that wait for each other', async (t) => {
  const { storage, account } = await open(t)
  const [one, two] = await times(2, () => insertSpace(storage, systemActor(account), { name: 'Space', color: 1 }))
  const recolor = (ids: (number | undefined)[], color: number) =>
    storage.write(async (tx) => {
      for (const id of ids) await changeSpace(tx, systemActor(account), id ?? 0, { color }, null)
    })
  await Promise.all([recolor([one?.record.id, two?.record.id], 3), recolor([two?.record.id, one?.record.id], 4)])
  const colors = await Promise.all(
    [one, two].map((space) => spaceRecords.find(storage, account, space?.record.id ?? 0)),
  )
  assert.equal(colors[0]?.record.color, colors[1]?.record.color)
})

test('rotates and revokes keys, and records their uses, at the same time', async (t) => {
  const { storage, account } = await open(t)
  // At most the connections of the pool.
  const many = 10
  const actor = systemActor(account)
  const { key } = await createKey(storage, actor, { name: 'ci', scopes: ['*'], lifetimeMs: null })
  const ids = await times(many, async () => (await rotateKey(storage, actor, key.id, 86_400_000)).key.id)
  assert.equal(new Set(ids).size, many)
  const uses = (order: readonly number[]) => new Map(order.map((id) => [id, new Date().toISOString()]))
  await Promise.all([
    ...Array.from({ length: 10 }, (_, n) => recordUses(storage, uses(n % 2 === 0 ? ids : ids.toReversed()))),
    ...ids.map((id) => revokeKey(storage, actor, id)),
  ])
  const keys = await listKeys(storage, account)
  assert.equal(keys.filter(({ revoked_at, last_used_at }) => revoked_at !== null && last_used_at !== null).length, many)
  await assert.rejects(revokeKey(storage, actor, 9_007_199_254_740_991), { code: 'not_found' })
})
