/** The errors of requests while PostgreSQL is unavailable, and the recovery afterwards. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { firstPage } from '../../../test/first-page.ts'
import { execute, newName } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { eventually } from '../../../test/processes.ts'
import { Wire } from '../../../test/wire.ts'
import { systemActor } from '../../access/actor.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { insertSpace, spaceRecords } from '../../spaces/store.ts'
import type { Storage } from '../port.ts'
import { query } from '../schema.ts'
import { openPostgres } from './open.ts'
import { PostgresStorage } from './storage.ts'

const isUnavailable = (error: unknown) => {
  const { code, facts } = error as { code: unknown; facts: { retryAfter: unknown } }
  assert.deepEqual([code, facts.retryAfter], ['database_unavailable', 1])
  return true
}

interface Fixture {
  readonly storage: Storage
  readonly account: number
  readonly url: string
  readonly wire: Wire
}

async function open(t: TestContext, pool = 2): Promise<Fixture> {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const storage = await openPostgres(await wire.url(), pool)
  t.after(async () => {
    await storage.close()
    wire.close()
    await drop()
  })
  return { storage, account: (await createAccount(storage, 'Acme')).id, url, wire }
}

const slow = ({ seconds }: { seconds: number }) =>
  query.selectNoFrom(sql<string>`pg_sleep(${seconds}::double precision)::text`.as('slept'))

/** Fails if the work outlasts a timer. A busy machine delays both. */
async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
  }, ms)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
    assert.ok(!isOver, `took longer than ${ms} ms`)
  }
}

/** Calls every kind of operation. */
function everything({ storage, account }: Fixture): Promise<unknown>[] {
  return [
    storage.condition(),
    listAccounts(storage),
    insertSpace(storage, systemActor(account), { name: 'x', color: 1 }),
    insertSpace(storage, systemActor(account), { name: 'z', color: 1 }),
    spaceRecords.find(storage, account, 1),
    spaceRecords.list(storage, account, firstPage),
    spaceRecords.list(storage, account, { ...firstPage, search: ['x'] }),
    storage.write((tx) => insertSpace(tx, systemActor(account), { name: 'y', color: 1 })),
  ]
}

async function assertUnavailable(fixture: Fixture): Promise<void> {
  const outcomes = await Promise.allSettled(everything(fixture))
  for (const outcome of outcomes) {
    assert.equal(outcome.status, 'rejected')
    isUnavailable(outcome.reason)
  }
}

const isFulfilled = [() => true, () => false] as const

test('fails immediately while the database rejects connections, and recovers when it accepts them', async (t) => {
  const fixture = await open(t)
  fixture.wire.cut()
  await within(1_400, () => assertUnavailable(fixture))
  await within(1_400, () => assertUnavailable(fixture))
  fixture.wire.mend()
  await Promise.all(everything(fixture))
})

test('fails within 4.5 s while the database is silent, and recovers when it responds', async (t) => {
  const fixture = await open(t)
  await Promise.all(everything(fixture))
  fixture.wire.silence()
  await within(5_500, () => assertUnavailable(fixture))
  await within(5_500, () => assertUnavailable(fixture))
  fixture.wire.mend()
  await eventually(() => fixture.storage.condition().then(...isFulfilled))
  await Promise.all(everything(fixture))
})

test('fails after 1.5 s without a free connection', async (t) => {
  const { storage } = await open(t, 1)
  const busy = storage.write((tx) => tx.execute(slow({ seconds: 2 })))
  await within(2_500, () => assert.rejects(storage.condition(), isUnavailable))
  await busy
  await storage.condition()
})

test('cancels a statement after 2.5 s, and keeps its connection', async (t) => {
  const { storage } = await open(t, 1)
  await within(4_500, () => assert.rejects(storage.execute(slow({ seconds: 30 })), isUnavailable))
  await storage.condition()
})

test('rejects searches of an account when too many wait, without delaying short reads and other accounts', async (t) => {
  const { storage, account, url } = await open(t)
  const other = (await createAccount(storage, 'Other')).id
  const locker = new pg.Client({ connectionString: url })
  await locker.connect()
  await locker.query('begin; lock table spaces in access exclusive mode')
  const search = (of = account) => spaceRecords.list(storage, of, { ...firstPage, search: ['x'] })
  const searches = () => Promise.allSettled(Array.from({ length: 300 }, () => search()))
  const first = search()
  const many = searches()
  await Promise.all([storage.condition(), listAccounts(storage)])
  for (const outcome of await many) {
    assert.ok(outcome.status === 'rejected')
    assert.equal(outcome.reason.code, 'overloaded')
  }
  const again = searches()
  const one = search(other)
  await locker.end()
  await Promise.all([first, one])
  assert.ok((await again).some(({ status }) => status === 'rejected'))
})

test('fails immediately when the server has no free connection, and finishes running queries', async (t) => {
  const { url } = await open(t)
  const role = newName('role')
  await execute(url, `create role ${role} login password 'secret' connection limit 1`)
  const limited = Object.assign(new URL(url), { username: role, password: 'secret' })
  const storage = new PostgresStorage(limited.href, 2)
  const working = storage.execute(slow({ seconds: 2 }))
  await eventually(
    async () => (await execute(url, `select 1 from pg_stat_activity where usename = '${role}'`)).length > 0,
  )
  await within(1_400, () => assert.rejects(storage.condition(), isUnavailable))
  await working
  await storage.condition()
  await storage.close()
  await execute(url, `drop role ${role}`)
})

test('rejects writes and answers reads while the database is read-only, then recovers without a rejected write', async (t) => {
  const fixture = await open(t)
  const { storage, account, url } = fixture
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
  await execute(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`,
  )
  const isIn = (condition: string) => () =>
    storage.condition().then(
      (present) => present === condition,
      () => false,
    )
  await eventually(isIn('read_only'))
  await assert.rejects(insertSpace(storage, systemActor(account), { name: 'x', color: 1 }), isUnavailable)
  await assert.rejects(
    storage.write((tx) => insertSpace(tx, systemActor(account), { name: 'x', color: 1 })),
    isUnavailable,
  )
  assert.equal((await spaceRecords.list(storage, account, firstPage)).total, 0)
  await execute(
    url,
    `begin read write; alter database ${new URL(url).pathname.slice(1)} reset default_transaction_read_only; commit`,
  )
  await eventually(isIn('ok'))
  // Read-only connections are dropped, so that the operator need not close older ones.
  await eventually(() => insertSpace(storage, systemActor(account), { name: 'x', color: 1 }).then(...isFulfilled))
  const reopened = await openPostgres(url, 1)
  assert.equal((await listAccounts(reopened)).length, 1)
  await reopened.close()
})

test('reports an error in a statement as a bug, not as an unavailable database', async (t) => {
  const { storage, url } = await open(t)
  await execute(url, 'alter table accounts rename to elsewhere')
  await assert.rejects(listAccounts(storage), { code: '42P01' })
  await execute(url, 'alter table spaces rename to somewhere')
  await assert.rejects(spaceRecords.list(storage, 1, firstPage), { code: '42P01' })
  await assert.rejects(
    storage.write(() => Promise.reject(new Error('mine'))),
    { message: 'mine' },
  )
})
