/** What one turn of the event loop asks of PostgreSQL goes there together; each is answered for itself. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { changeSpace, findSpace, insertSpace, removeSpace } from '../../spaces/store.ts'
import { statement } from '../statement.ts'
import { openPostgres } from './open.ts'

async function open(t: TestContext, size = 3) {
  const { url, drop } = await newDatabase()
  const storage = await openPostgres(url, size)
  t.after(async () => {
    await storage.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  return { storage, url, account, store: (name: string) => insertSpace(storage, account, name, 1) }
}

const names = (from: number, count: number) => Array.from({ length: count }, (_, at) => `Space ${from + at}`)
const zero = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`1 / 0`.as('never')))
const pid = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid')))
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

test('writes of which the commit is refused are run again alone', async (t) => {
  const { url, store } = await open(t)
  await execute(
    url,
    `create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'no' using errcode = '23514'; end $$;
    create constraint trigger late after insert on spaces initially deferred for each row
      when (new.name = 'bad') execute function refuse()`,
  )
  const outcomes = await Promise.allSettled(['One', 'bad', 'Two'].map(store))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await execute(url, 'select name from spaces order by name'), [{ name: 'One' }, { name: 'Two' }])
})

test('a write that cannot even be sent is the only one of its turn that fails', async (t) => {
  const { storage, url, store } = await open(t)
  const unsendable = statement((): never => {
    throw new Error('not compiled')
  })
  const failing = assert.rejects(storage.writeOne(unsendable, {}), /not compiled/)
  await Promise.all(names(0, 3).map(store))
  await failing
  assert.equal((await execute(url, 'select from spaces')).length, 3)
})

test('writes whose transaction could not begin stand for themselves: none is kept of which the caller hears that it is not', async (t) => {
  const { storage, url, store } = await open(t)
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  t.mock.method(pg.Client.prototype, 'query', function (this: unknown, ...args: unknown[]) {
    const isBeginning = String(args[0]).startsWith('begin isolation level read committed;')
    return query.apply(this, isBeginning ? ['select 1 / 0'] : args)
  })
  const failing = assert.rejects(storage.writeOne(zero, {}), isDivision)
  await Promise.all(names(0, 3).map(store))
  await failing
  assert.equal((await execute(url, 'select from spaces')).length, 3)
})

test('changes that the server gives up for each other are run again, whatever the default isolation', async (t) => {
  const { storage, url, account, store } = await open(t)
  const { id } = (await store('contended')).record
  await execute(
    url,
    `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
  )
  const others = await Promise.all([openPostgres(url, 3), openPostgres(url, 3)])
  t.after(() => Promise.all(others.map((other) => other.close())))
  const changes = [storage, ...others].map(async (each) => {
    for (let n = 0; n < 20; n++) await changeSpace(each, account, id, { color: 1 + (n % 6) }, null)
  })
  await Promise.all(changes)
})

test('what was asked for is done before the storage closes', async (t) => {
  const { storage, url, store } = await open(t)
  const asked = [storage.writeOne(zero, {}), store('One'), store('Two'), listAccounts(storage)]
  const closed = storage.close()
  const outcomes = await Promise.allSettled(asked)
  await closed
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  assert.equal((await execute(url, 'select from spaces')).length, 2)
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

test('reads that wait for somebody else hold up no other of their turn for long', async (t) => {
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

test('a statement that cannot be prepared fails every read of the turn for the same reason', async (t) => {
  const { storage, url, account } = await open(t)
  await execute(url, 'alter table spaces rename to elsewhere')
  const reads = await Promise.allSettled([1, 2, 3].map((id) => findSpace(storage, account, id)))
  for (const read of reads) assert.equal(read.status === 'rejected' && read.reason.code, '42P01')
})

test('a connection that has lost its prepared statements fails the read, and is not asked without end', async (t) => {
  const { storage, url } = await open(t, 1)
  await execute(
    url,
    `create function forget() returns integer language plpgsql as $$ begin deallocate all; return 1; end $$`,
  )
  const forget = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`forget()`.as('done')))
  await storage.all(pid, {})
  await storage.all(forget, {})
  await assert.rejects(storage.all(pid, {}), { code: '26000' })
})

test('a connection on which a read finds that the server is going away is given up', async (t) => {
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

test('reads of one turn take one connection, whatever their number', async (t) => {
  const { storage } = await open(t)
  const rows = await Promise.all(Array.from({ length: 32 }, () => storage.all(pid, {})))
  assert.equal(new Set(rows.map(([row]) => row?.pid)).size, 1)
})
