import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { execute, newName } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { Wire } from '../../../test/wire.ts'
import { createAccount } from '../../accounts/store.ts'
import { Failure } from '../../errors.ts'
import { query } from '../schema.ts'
import { PostgresStorage } from './storage.ts'

/** Has PostgreSQL itself fail with an SQLSTATE. */
const fail = ({ state }: { state: string }) => query.selectNoFrom(sql`fail(${state})`.as('nothing'))

/** Opens a database where a trial write fails with `trialState`. */
async function open(t: TestContext, trialState?: string): Promise<{ url: string; storage: PostgresStorage }> {
  const { url, drop } = await newDatabase()
  await execute(
    url,
    `create function fail(state text) returns int language plpgsql as $$ begin
      raise exception 'as told' using errcode = state; end $$;
    create function refuse() returns event_trigger language plpgsql as $$ begin perform fail('${trialState}'); end $$`,
  )
  if (trialState !== undefined) {
    const tags = `tag in ('CREATE TABLE AS')`
    await execute(url, `create event trigger refusal on ddl_command_start when ${tags} execute function refuse()`)
  }
  const storage = new PostgresStorage(url, 2)
  t.after(async () => {
    await storage.close()
    await drop()
  })
  return { url, storage }
}

const unavailable = (reason?: string) => (error: unknown) =>
  error instanceof Failure && error.code === 'database_unavailable' && error.facts.reason === reason

test('returns disk_full after a write failed for lack of space, until space can be allocated', async (t) => {
  const { url, storage } = await open(t, '53100')
  assert.equal(await storage.condition(), 'ok')
  await assert.rejects(storage.execute(fail({ state: '53100' })), unavailable('disk_full'))
  assert.deepEqual(await Promise.all([storage.condition(), storage.condition()]), ['disk_full', 'disk_full'])
  await createAccount(storage, 'Small enough')
  assert.equal(await storage.condition(), 'disk_full')
  await execute(url, 'drop event trigger refusal')
  assert.equal(await storage.condition(), 'ok')
})

test('throws the error of a trial write that fails for another reason', async (t) => {
  const { storage } = await open(t, '57014')
  await assert.rejects(storage.execute(fail({ state: '53100' })))
  await assert.rejects(storage.condition(), unavailable())
})

test('returns ok until the next failed write if the user may not create temporary tables', async (t) => {
  const { url } = await open(t)
  const role = newName('role')
  const name = new URL(url).pathname.slice(1)
  await execute(url, `create role ${role} login password 'secret'; revoke temporary on database ${name} from public`)
  const limited = new PostgresStorage(Object.assign(new URL(url), { username: role, password: 'secret' }).href, 2)
  await assert.rejects(limited.execute(fail({ state: '53100' })))
  assert.equal(await limited.condition(), 'ok')
  await limited.close()
  await execute(url, `drop role ${role}`)
})

test('names max_prepared_statements when a pooler mixes up prepared statements', async (t) => {
  const { storage } = await open(t)
  for (const state of ['42P05', '26000']) {
    await assert.rejects(storage.execute(fail({ state })), {
      code: 'database_unavailable',
      message: /Transaction mode requires PgBouncer 1\.21 or newer with max_prepared_statements = 200\.$/,
    })
  }
})

test('throws database_corrupt after a statement has read damaged data or a damaged index, even if read-only', async (t) => {
  const { url, storage } = await open(t)
  const damaged = new PostgresStorage(url, 1)
  t.after(() => damaged.close())
  await assert.rejects(damaged.execute(fail({ state: 'XX001' })))
  await assert.rejects(damaged.condition(), unavailable('database_corrupt'))
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
  assert.equal(await storage.condition(), 'read_only')
  await assert.rejects(storage.execute(fail({ state: 'XX002' })))
  await assert.rejects(storage.condition(), unavailable('database_corrupt'))
})

/** Health checks need no key, so they may not cost the server a new connection each. */
test('opens one connection per second for health checks while the database is read-only', async (t) => {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const storage = new PostgresStorage(await wire.url(), 3)
  t.after(async () => {
    await storage.close()
    wire.close()
    await drop()
  })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const flood = async (condition: string) => {
    const before = wire.connections
    for (let n = 0; n < 20; n++) {
      const conditions = await Promise.all(Array.from({ length: 100 }, () => storage.condition()))
      assert.deepEqual([...new Set(conditions)], [condition])
    }
    return wire.connections - before
  }
  const database = new URL(url).pathname.slice(1)
  await execute(url, `alter database ${database} set default_transaction_read_only = on`)
  assert.equal(await flood('read_only'), 1)
  now += 999
  assert.equal(await flood('read_only'), 0)
  now += 1
  assert.equal(await flood('read_only'), 1)
  await execute(url, `begin read write; alter database ${database} reset default_transaction_read_only; commit`)
  assert.equal(await flood('read_only'), 0)
  now += 1_000
  assert.equal(await flood('ok'), 1)
  now += 1_000
  assert.equal(await flood('ok'), 0)
})
