import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newFolder } from '../../../test/processes.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { query } from '../schema.ts'
import { BatchReader } from './batch-reader.ts'
import { compiledForSqlite } from './group-commit.ts'
import { openSqlite } from './open.ts'

const names = compiledForSqlite(query.selectFrom('accounts').select('name').where('id', '>', 0))

async function opened(t: TestContext) {
  const path = join(newFolder(t), 'waymark.db')
  const storage = await openSqlite(path)
  const reader = new BatchReader(path)
  t.after(async () => {
    await reader.close()
    await storage.close()
  })
  return { path, storage, reader, count: () => reader.read((connection) => connection.execute(names).length) }
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
  const { path, reader, count } = await opened(t)
  using other = new DatabaseSync(path)
  const store = () => other.exec(`insert into accounts (name, created_at) values ('Other', '2026-11-20T12:00:00.000Z')`)
  assert.deepEqual(await Promise.all([count(), reader.read(store), count()]), [0, undefined, 0])
  assert.equal(await count(), 1)
})

test('returns the results of other reads if one fails or tries to write', async (t) => {
  const { reader, count } = await opened(t)
  const run = (text: string) => reader.read(({ database }) => database.exec(text))
  const [before, broken, write, after] = await Promise.allSettled([
    count(),
    run('select broken'),
    run('delete from accounts'),
    count(),
  ])
  assert.deepEqual([before.status, broken.status, after.status], ['fulfilled', 'rejected', 'fulfilled'])
  assert.match(String(write.status === 'rejected' && write.reason), /readonly/)
})

test('rejects every read if the transaction cannot start, and survives a rollback within a read', async (t) => {
  const { reader, count } = await opened(t)
  const database = await reader.read((connection) => connection.database)
  database.exec('begin')
  const refused = await Promise.allSettled([count(), count()])
  database.exec('rollback')
  await reader.read(() => database.exec('rollback'))
  for (const { status } of refused) assert.equal(status, 'rejected')
  assert.equal(await count(), 0)
})

test('closes after the queued reads', async (t) => {
  const { path } = await opened(t)
  const reader = new BatchReader(path)
  const count = reader.read((connection) => connection.execute(names).length)
  await reader.close()
  assert.equal(await count, 0)
})
