/** Versions of records in the stores, and concurrent changes. */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newLocation, newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { preconditionFailed } from '../errors.ts'
import { changeSpace, insertSpace, spaceRecords } from '../spaces/store.ts'
import { openStorage } from './open.ts'
import type { Db, StorageLocation } from './port.ts'
import type { Precondition } from './records.ts'

const insert = (db: Db, account: number) => insertSpace(db, systemActor(account), { name: 'Space', color: 1 })
const rename = (db: Db, account: number, id: number, n: number, when: Precondition | null = null) =>
  changeSpace(db, systemActor(account), id, { name: `Space ${n}` }, when)
const recolor = (db: Db, account: number, id: number) => changeSpace(db, systemActor(account), id, { color: 6 }, null)

async function opened(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const { record, version } = await insert(storage, account)
  return { storage, account, id: record.id, version }
}

const only = (version: string): Precondition => ({
  check: (present) => {
    if (present !== version) throw preconditionFailed(present)
  },
})

test('returns two versions for two changes of a record within a millisecond', async (t) => {
  const { storage, account, id } = await opened(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 1_000 })
  const before = await rename(storage, account, id, 0)
  const after = await rename(storage, account, id, 1)
  assert.equal(after?.record.updated_at, before?.record.updated_at)
  assert.notEqual(after?.version, before?.version)
})

test('returns different versions for a change of a record before and after a backup is restored', async (t) => {
  const location = await newLocation((work) => t.after(work), 'sqlite')
  const { path } = location as Extract<StorageLocation, { engine: 'sqlite' }>
  const storage = await openStorage(location)
  const account = (await createAccount(storage, 'Acme')).id
  const { id } = (await insert(storage, account)).record
  await storage.close()
  copyFileSync(path, `${path}.backup`)
  const versions: (string | undefined)[] = []
  for (const file of [path, `${path}.backup`]) {
    const again = await openStorage({ engine: 'sqlite', path: file })
    t.after(() => again.close())
    versions.push((await rename(again, account, id, 1))?.version)
    while (new Date().toISOString() <= String((await spaceRecords.find(again, account, id))?.record.updated_at));
  }
  assert.notEqual(versions[0], versions[1])
})

test('stores all concurrent changes of a record', async (t) => {
  const { storage, account, id } = await opened(t)
  const changes = Array.from({ length: 30 }, (_, n) => rename(storage, account, id, n))
  await Promise.all([recolor(storage, account, id), ...changes])
  const last = await spaceRecords.find(storage, account, id)
  assert.match(String(last?.version), /^32-/)
  assert.deepEqual(await recolor(storage, account, id), last)
})

test('runs one of many changes and deletions of a record that require the same version', async (t) => {
  const { storage, account, id, version } = await opened(t)
  const { spaces } = actionsOn(storage).actions
  const asked = Array.from({ length: 20 }, (_, n) =>
    n % 2 === 0
      ? rename(storage, account, id, n, only(version)).then((changed) => changed !== undefined)
      : spaces.remove(systemActor(account), id, {}, only(version)).then(() => true),
  )
  const outcomes = await Promise.allSettled(asked)
  assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length, 1)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'precondition_failed')
  }
})
