/** The reads of one turn of the event loop go to PostgreSQL together, and each is answered for itself. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { Wire } from '../../../test/wire.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { findSpace, insertSpace } from '../../spaces/store.ts'
import { statement } from '../statement.ts'
import { openPostgres } from './open.ts'
import { Pool } from './pool.ts'
import { runText } from './run.ts'
import { TurnReader } from './turn-reader.ts'

async function open(t: TestContext, size = 3) {
  const { url, drop } = await newDatabase()
  const storage = await openPostgres(url, size)
  t.after(async () => {
    await storage.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  return { storage, url, account, store: (name: string) => insertSpace(storage, account, { name, color: 1 }) }
}

const zero = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`1 / 0`.as('never')))
const pid = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid')))
const isDivision = { code: '22012' }

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

test('reads that wait for a lock do not hold up the others of their turn for long', async (t) => {
  const { storage, url, account, store } = await open(t)
  const { id } = (await store('locked')).record
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query('begin; lock table spaces in access exclusive mode')
  const blocked = [findSpace(storage, account, id), findSpace(storage, account, id)]
  const start = performance.now()
  await Promise.all([listAccounts(storage), storage.condition()])
  assert.ok(performance.now() - start < 2_000)
  await other.end()
  for (const found of await Promise.all(blocked)) assert.equal(found?.record.name, 'locked')
})

test('reads behind a slow one are sent again once, however many of those before them are slow', async (t) => {
  const { url } = await open(t)
  const pool = new Pool(url, 3)
  const reader = new TurnReader(pool)
  const calls: Promise<unknown>[][] = [[], [], []]
  const reads = calls.map((own, at) =>
    reader.read((client) => {
      const isSlow = at < 2 && own.length === 0
      own.push(runText(client, 'select pg_sleep($1)', [isSlow ? 0.6 : 0]))
      return own.at(-1) as Promise<unknown>
    }),
  )
  await Promise.all(reads)
  await Promise.all(calls.flat())
  await pool.close()
  assert.deepEqual(
    calls.map((own) => own.length),
    [1, 2, 2],
  )
})

test('a statement that cannot be prepared fails every read of the turn for the same reason', async (t) => {
  const { storage, url, account } = await open(t)
  await execute(url, 'alter table spaces rename to elsewhere')
  const reads = await Promise.allSettled([1, 2, 3].map((id) => findSpace(storage, account, id)))
  for (const read of reads) assert.equal(read.status === 'rejected' && read.reason.code, '42P01')
})

test('a read fails on a connection that has lost its prepared statements, and is not sent again and again', async (t) => {
  const { storage, url } = await open(t, 1)
  await execute(
    url,
    `create function forget() returns integer language plpgsql as $$ begin deallocate all; return 1; end $$`,
  )
  const forget = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`forget()`.as('done')))
  await storage.all(pid, {})
  await storage.all(forget, {})
  for (const count of [1, 2]) {
    const reads = await Promise.allSettled(Array.from({ length: count }, () => storage.all(pid, {})))
    for (const read of reads) assert.equal(read.status === 'rejected' && read.reason.code, 'database_unavailable')
  }
})

test('a connection is given up when a read on it hears that the server is shutting down', async (t) => {
  const { storage, url } = await open(t, 1)
  await execute(
    url,
    `create function going() returns integer language plpgsql as
      $$ begin raise exception 'going away' using errcode = '57P01'; end $$`,
  )
  const going = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`going()`.as('never')))
  const [before] = await storage.all(pid, {})
  await assert.rejects(storage.all(going, {}), { code: 'database_unavailable' })
  const [after] = await storage.all(pid, {})
  assert.notEqual(after?.pid, before?.pid)
})

test('32 reads of one turn leave in one packet, over one connection', async (t) => {
  const { url } = await open(t)
  const wire = new Wire(url)
  const storage = await openPostgres(await wire.url(), 3)
  t.after(async () => {
    await storage.close()
    wire.close()
  })
  await storage.condition()
  let packets = 0
  wire.onSent = (bytes) => {
    packets += 1
    return bytes
  }
  const rows = await Promise.all(Array.from({ length: 32 }, () => storage.all(pid, {})))
  assert.equal(new Set(rows.map(([row]) => row?.pid)).size, 1)
  assert.equal(packets, 1)
})
