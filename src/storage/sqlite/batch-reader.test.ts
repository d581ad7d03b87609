import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { damage } from '../../../test/lists-model.ts'
import { newFolder } from '../../../test/processes.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { domainRecords, insertDomain } from '../../domains/store.ts'
import { Failure } from '../../errors.ts'
import { query } from '../schema.ts'
import { compiledForSqlite } from './group-commit.ts'
import { openSqlite } from './open.ts'
import { BatchReader } from './readers.ts'

const names = compiledForSqlite(query.selectFrom('accounts').select('name').where('id', '>', 0))

async function opened(t: TestContext) {
  const path = join(newFolder(t), 'waymark.db')
  const storage = await openSqlite(path)
  t.after(() => storage.close())
  return { path, storage }
}

test('shows a write to the next read, even if reads were already queued', async (t) => {
  const { storage } = await opened(t)
  for (let round = 1; round <= 20; round++) {
    const before = listAccounts(storage)
    await createAccount(storage, `Account ${round}`)
    assert.equal((await listAccounts(storage)).length, round)
    assert.equal((await before).length, round - 1)
  }
})

test('reads one state in each tick, and commits of other processes in the next tick', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)
  t.after(() => reader.close())
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  const count = () => reader.read((connection) => connection.execute(names).length)
  const store = () => other.exec(`insert into accounts (name, created_at) values ('Other', '2026-11-20T12:00:00.000Z')`)

  assert.deepEqual(await Promise.all([count(), reader.read(store), count()]), [0, undefined, 0])

  assert.equal(await count(), 1)
})

test('rejects reads of a damaged page only', async (t) => {
  const { path, storage } = await opened(t)
  const { id } = await createAccount(storage, 'Acme')
  const places = Array.from({ length: 1_000 }, (_, n) => n)
  await Promise.all(
    places.map((n) =>
      insertDomain(
        storage,
        id,
        { name: `n${n}.example`, nameUnicode: `n${n}.example` },
        { homepage_url: `https://home-${n}.example/`, not_found_url: null },
      ),
    ),
  )
  await storage.close()
  damage(path, 'https://home-500.example/')

  const again = await openSqlite(path)
  t.after(() => again.close())
  const unavailable: number[] = []
  for (const n of places) {
    const found = await domainRecords.find(again, id, n + 1).catch((error: unknown) => error)
    if (!(found instanceof Failure)) continue
    assert.equal(found.code, 'database_unavailable')
    unavailable.push(n)
    if (n % 2 === 0) await nextTurn()
  }
  assert.ok(unavailable.includes(500))
  assert.ok(unavailable.length < 200, String(unavailable.length))
})

test('returns the results of other reads if one fails', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)
  t.after(() => reader.close())

  const [before, broken, after] = await Promise.allSettled([
    reader.read((connection) => connection.execute(names)),
    reader.read(({ database }) => database.exec('select broken')),
    reader.read((connection) => connection.execute(names)),
  ])

  assert.deepEqual([before.status, broken.status, after.status], ['fulfilled', 'rejected', 'fulfilled'])
})

test('rejects every read if the transaction cannot start, and survives a rollback within a read', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)
  t.after(() => reader.close())
  const count = () => reader.read((connection) => connection.execute(names).length)
  const database = await reader.read((connection) => connection.database)

  database.exec('begin')
  const refused = await Promise.allSettled([count(), count()])
  database.exec('rollback')
  await reader.read(() => database.exec('rollback'))

  for (const { status } of refused) assert.equal(status, 'rejected')
  assert.equal(await count(), 0)
})

test('cannot write', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)
  t.after(() => reader.close())

  await assert.rejects(
    reader.read(({ database }) => database.exec('delete from accounts')),
    /readonly/,
  )
})

test('closes after the queued reads', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)

  const count = reader.read((connection) => connection.execute(names).length)
  await reader.close()

  assert.equal(await count, 0)
})
