/** Versions of records in the stores, and concurrent changes. */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { newLocation, newStorage } from '../../test/engine.ts'
import { twoNodes } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { changeSpace, insertSpace, spaceRecords } from '../spaces/store.ts'
import { openStorage } from './open.ts'
import type { Db, StorageLocation } from './port.ts'

const insert = (db: Db, account: number) => insertSpace(db, systemActor(account), { name: 'Space', color: 1 })
const rename = (db: Db, account: number, id: number, n: number) =>
  changeSpace(db, systemActor(account), id, { name: `Space ${n}` }, null)
const recolor = (db: Db, account: number, id: number) => changeSpace(db, systemActor(account), id, { color: 6 }, null)

async function opened(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const { record } = await insert(storage, account)
  return { storage, account, id: record.id }
}

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

test('stores all 31 concurrent changes of a record on two nodes', async (t) => {
  const { storage, other, account } = await twoNodes((work) => t.after(work))
  const { id } = (await insert(storage, account)).record
  const changes = Array.from({ length: 30 }, (_, n) => rename(n % 2 ? storage : other, account, id, n))
  await Promise.all([recolor(storage, account, id), ...changes])
  const last = await spaceRecords.find(storage, account, id)
  assert.match(String(last?.version), /^32-/)
  assert.deepEqual(await recolor(other, account, id), last)
})
