import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { systemActor } from '../../access/actor.ts'
import { createAccount } from '../../accounts/store.ts'
import { changeSpace, insertSpace } from '../../spaces/store.ts'
import { query } from '../schema.ts'
import { openPostgres } from './open.ts'
import { retry } from './queries.ts'

async function open(t: TestContext, size = 3) {
  const { url, drop } = await newDatabase()
  const storage = await openPostgres(url, size)
  t.after(async () => {
    await storage.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  return {
    storage,
    url,
    account,
    store: (name: string) => insertSpace(storage, systemActor(account), { name, color: 1 }),
  }
}

const divideByZero = query.selectNoFrom(sql<number>`1 / 0`.as('never'))
const pid = query.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid'))

test('retries a write after a serialization failure in any default isolation', async (t) => {
  const { storage, url, account, store } = await open(t)
  const { id } = (await store('contended')).record
  await execute(
    url,
    `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
  )
  const other = await openPostgres(url, 3)
  t.after(() => other.close())
  const changes = [storage, other].map(async (each) => {
    for (let n = 0; n < 20; n++) await changeSpace(each, systemActor(account), id, { color: 1 + (n % 6) }, null)
  })
  await Promise.all(changes)
})

test('waits for running queries before it closes', async (t) => {
  const { storage, url, store } = await open(t)
  const running = [storage.execute(divideByZero), store('One'), store('Two'), storage.condition()]
  const closed = storage.close()
  const outcomes = await Promise.allSettled(running)
  await closed
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  assert.equal((await execute(url, 'select from spaces')).length, 2)
})

test('rejects and rolls back a transaction that catches the error of a statement', async (t) => {
  const { storage, url, account } = await open(t)
  const work = storage.write(async (tx) => {
    await insertSpace(tx, systemActor(account), { name: 'Lost', color: 1 })
    await tx.execute(divideByZero).catch(() => undefined)
  })
  await assert.rejects(work, /had failed/)
  assert.equal((await execute(url, 'select from spaces')).length, 0)
})

test('replaces a connection after a read on it reports that the server is shutting down', async (t) => {
  const { storage, url } = await open(t, 1)
  await execute(
    url,
    `create function shut_down() returns integer language plpgsql as
      $$ begin raise exception 'shutting down' using errcode = '57P01'; end $$`,
  )
  const [before] = await storage.execute(pid)
  const shutDown = query.selectNoFrom(sql<number>`shut_down()`.as('never'))
  await assert.rejects(storage.execute(shutDown), { code: 'database_unavailable' })
  const [after] = await storage.execute(pid)
  assert.notEqual(after?.pid, before?.pid)
})

const conflict = Object.assign(new pg.DatabaseError('could not serialize access', 0, 'error'), { code: '40001' })

/** A transaction that fails `times` times before it succeeds, and the number of its attempts. */
function failing(times: number, error: Error) {
  const transaction = {
    attempts: 0,
    run: async () => {
      transaction.attempts += 1
      if (transaction.attempts <= times) throw error
      return 'done'
    },
  }
  return transaction
}

test('runs a transaction again after a serialization failure', async () => {
  const transaction = failing(2, conflict)
  assert.equal(await retry(transaction.run), 'done')
  assert.equal(transaction.attempts, 3)
})

test('throws a serialization failure after ten attempts, and any other error after one', async () => {
  const conflicting = failing(10, conflict)
  await assert.rejects(retry(conflicting.run), conflict)
  assert.equal(conflicting.attempts, 10)
  const broken = failing(10, new Error('broken'))
  await assert.rejects(retry(broken.run), /broken/)
  assert.equal(broken.attempts, 1)
})
