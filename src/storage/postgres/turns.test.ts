/** What one turn of the event loop asks of PostgreSQL goes there together; each is answered for itself. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { findSpace, insertSpace, removeSpace } from '../../spaces/store.ts'
import { statement } from '../statement.ts'
import { openPostgres } from './open.ts'

async function open(t: TestContext) {
  const { url, drop } = await newDatabase()
  const storage = await openPostgres(url, 3)
  t.after(async () => {
    await storage.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  return { storage, url, account, store: (name: string) => insertSpace(storage, account, name, 1) }
}

const names = (from: number, count: number) => Array.from({ length: count }, (_, at) => `Space ${from + at}`)
const zero = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`1 / 0`.as('never')))
const isDivision = { code: '22012' }

test('writes of one turn share a transaction, 32 at most', async (t) => {
  const { url, store } = await open(t)
  await Promise.all(names(0, 40).map(store))
  const shared = await execute(url, 'select count(*)::integer as n from spaces group by xmin::text order by n')
  assert.deepEqual(shared, [{ n: 8 }, { n: 32 }])
})

test('a write that fails is the only one of its turn that does', async (t) => {
  const { storage, url, store } = await open(t)
  const failing = assert.rejects(storage.writeOne(zero, {}), isDivision)
  const stored = await Promise.all(names(0, 10).map(store))
  await failing
  assert.deepEqual(stored.map(({ record }) => record.name).sort(), names(0, 10))
  assert.equal((await execute(url, 'select from spaces')).length, 10)
})

test('a write that waits for somebody else holds up no other of its turn', async (t) => {
  const { storage, url, account, store } = await open(t)
  const { id } = (await store('locked')).record
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query(`begin; select from spaces where id = ${id} for update`)
  let isRemoved = false
  const removing = removeSpace(storage, account, id, null).then(() => {
    isRemoved = true
  })
  await Promise.all(names(0, 5).map(store))
  assert.equal(isRemoved, false)
  await other.end()
  await removing
  assert.equal(await findSpace(storage, account, id), undefined)
})

test('writes whose connection is lost before the commit are unavailable, all of their turn, and none is kept', async (t) => {
  const { storage, url, store } = await open(t)
  const suicide = statement((db: Kysely<object>) =>
    db.selectNoFrom(sql<boolean>`pg_terminate_backend(pg_backend_pid())`.as('done')),
  )
  const writes = [store('One'), storage.writeOne(suicide, {}), store('Two')]
  for (const outcome of await Promise.allSettled(writes)) {
    assert.equal(outcome.status, 'rejected')
    assert.equal(outcome.reason.code, 'database_unavailable')
  }
  assert.equal((await execute(url, 'select from spaces')).length, 0)
})

test('a read that fails is the only one of its turn that does', async (t) => {
  const { storage } = await open(t)
  const failing = assert.rejects(storage.all(zero, {}), isDivision)
  const reads = await Promise.all([listAccounts(storage), listAccounts(storage)])
  await failing
  assert.deepEqual(
    reads.map((accounts) => accounts.length),
    [1, 1],
  )
})

test('reads of one turn take one connection, whatever their number', async (t) => {
  const { storage } = await open(t)
  const pid = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid')))
  const rows = await Promise.all(Array.from({ length: 32 }, () => storage.all(pid, {})))
  assert.equal(new Set(rows.map(([row]) => row?.pid)).size, 1)
})
