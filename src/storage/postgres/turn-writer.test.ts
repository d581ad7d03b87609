/** What becomes of the writes of one turn: each row of the table at `runTogether`, on the real server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { Wire } from '../../../test/wire.ts'
import { createAccount } from '../../accounts/store.ts'
import { changeSpace, findSpace, insertSpace, removeSpace } from '../../spaces/store.ts'
import { statement } from '../statement.ts'
import { openPostgres } from './open.ts'

async function open(t: TestContext) {
  const { url, drop } = await newDatabase()
  const wire = new Wire(url)
  const storage = await openPostgres(await wire.url(), 3)
  t.after(async () => {
    await storage.close()
    wire.close()
    await drop()
  })
  const { id: account } = await createAccount(storage, 'Acme')
  const again = storage.meters.find(({ name }) => name === 'writes_run_again')?.value as () => number
  return {
    storage,
    url,
    wire,
    account,
    again,
    store: (name: string) => insertSpace(storage, account, { name, color: 1 }),
  }
}

type Fixture = Awaited<ReturnType<typeof open>>

const divideByZero = statement((db: Kysely<object>) => db.selectNoFrom(sql<number>`1 / 0`.as('never')))
const endConnection = statement((db: Kysely<object>) =>
  db.selectNoFrom(sql<boolean>`pg_terminate_backend(pg_backend_pid())`.as('done')),
)
const uncompilable = statement((): never => {
  throw Object.assign(new Error('not compiled'), { code: 'not_compiled' })
})

interface Case {
  readonly answer: 'COMMIT' | 'ROLLBACK' | 'an error' | 'none' | 'not asked'
  readonly because: string
  readonly prepare?: (fixture: Fixture) => unknown
  /** The write between those that store One and Two. */
  readonly second: (fixture: Fixture) => Promise<unknown>
  /** What the three writes are told: null for success, else the code of the error. */
  readonly told: readonly (string | null)[]
  readonly kept: readonly string[]
  /** Whether the writes ran again, alone. */
  readonly runsAgain: boolean
  /** The number of transactions that stored what is kept. */
  readonly transactions: number
}

const unavailable = ['database_unavailable', 'database_unavailable', 'database_unavailable']

const cases: readonly Case[] = [
  {
    answer: 'COMMIT',
    because: 'no write failed',
    second: ({ store }) => store('Three'),
    told: [null, null, null],
    kept: ['One', 'Three', 'Two'],
    runsAgain: false,
    transactions: 1,
  },
  {
    answer: 'COMMIT',
    because: 'a write failed before it was sent',
    second: ({ storage }) => storage.writeOne(uncompilable, {}),
    told: [null, 'not_compiled', null],
    kept: ['One', 'Two'],
    runsAgain: false,
    transactions: 1,
  },
  {
    answer: 'COMMIT',
    because: '`begin` failed',
    prepare: ({ wire }) => {
      wire.onSent = (bytes) =>
        Buffer.from(bytes.toString('latin1').replace('begin isolation', 'begim isolation'), 'latin1')
    },
    second: ({ storage }) => storage.writeOne(divideByZero, {}),
    told: [null, '22012', null],
    kept: ['One', 'Two'],
    runsAgain: false,
    transactions: 2,
  },
  {
    answer: 'ROLLBACK',
    because: 'a write failed',
    second: ({ storage }) => storage.writeOne(divideByZero, {}),
    told: [null, '22012', null],
    kept: ['One', 'Two'],
    runsAgain: true,
    transactions: 2,
  },
  {
    answer: 'an error',
    because: 'a deferred constraint refused the commit',
    prepare: ({ url }) =>
      execute(
        url,
        `create function refuse() returns trigger language plpgsql as
          $$ begin raise exception 'no' using errcode = '23514'; end $$;
        create constraint trigger late after insert on spaces initially deferred for each row
          when (new.name = 'bad') execute function refuse()`,
      ),
    second: ({ store }) => store('bad'),
    told: [null, '23514', null],
    kept: ['One', 'Two'],
    runsAgain: true,
    transactions: 2,
  },
  {
    answer: 'none',
    because: 'the connection broke before the commit',
    second: ({ storage }) => storage.writeOne(endConnection, {}),
    told: unavailable,
    kept: [],
    runsAgain: false,
    transactions: 0,
  },
  {
    answer: 'none',
    because: 'the connection broke during the commit, so that the server kept what the client cannot know of',
    prepare: ({ wire }) => {
      wire.onAnswer = (bytes) => (bytes.includes('COMMIT') ? null : bytes)
    },
    second: ({ store }) => store('Three'),
    told: unavailable,
    kept: ['One', 'Three', 'Two'],
    runsAgain: false,
    transactions: 1,
  },
  {
    answer: 'not asked',
    because: 'there was no connection',
    prepare: ({ wire }) => wire.cut(),
    second: ({ store }) => store('Three'),
    told: unavailable,
    kept: [],
    runsAgain: false,
    transactions: 0,
  },
]

for (const { answer, because, prepare, second, told, kept, runsAgain, transactions } of cases) {
  test(`${answer}: ${because}`, async (t) => {
    const fixture = await open(t)
    await prepare?.(fixture)
    const outcomes = await Promise.allSettled([fixture.store('One'), second(fixture), fixture.store('Two')])
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? null : outcome.reason.code)),
      told,
    )
    const rows = await execute(fixture.url, 'select name, xmin::text as transaction from spaces order by name')
    assert.deepEqual(
      rows.map(({ name }) => name),
      kept,
    )
    assert.equal(new Set(rows.map(({ transaction }) => transaction)).size, transactions)
    assert.equal(fixture.again(), runsAgain ? 3 : 0)
  })
}

test('ROLLBACK: a write waited for a lock. It goes on waiting alone, and holds up no other', async (t) => {
  const { storage, url, account, store, again } = await open(t)
  const { id } = (await store('locked')).record
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query(`begin; select from spaces where id = ${id} for update`)
  let isRemoved = false
  const removing = removeSpace(storage, account, id, null).then(() => {
    isRemoved = true
  })
  await Promise.all(['One', 'Two'].map(store))
  assert.equal(isRemoved, false)
  assert.equal(again(), 3)
  await other.end()
  await removing
  assert.equal(await findSpace(storage, account, id), undefined)
})

test('writes of one turn share a transaction, 32 at most', async (t) => {
  const { url, store } = await open(t)
  await Promise.all(Array.from({ length: 40 }, (_, n) => store(`Space ${n}`)))
  const shared = await execute(url, 'select count(*)::integer as n from spaces group by xmin::text order by n')
  assert.deepEqual(shared, [{ n: 8 }, { n: 32 }])
})

test('a change runs again after a serialization failure, whatever the default isolation', async (t) => {
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
  const asked = [storage.writeOne(divideByZero, {}), store('One'), store('Two'), storage.condition()]
  const closed = storage.close()
  const outcomes = await Promise.allSettled(asked)
  await closed
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  assert.equal((await execute(url, 'select from spaces')).length, 2)
})

test('a transaction that catches the error of a statement is refused, and nothing of it is kept', async (t) => {
  const { storage, url, account } = await open(t)
  const work = storage.write(async (tx) => {
    await insertSpace(tx, account, { name: 'Lost', color: 1 })
    await tx.all(divideByZero, {}).catch(() => undefined)
  })
  await assert.rejects(work, /had failed/)
  assert.equal((await execute(url, 'select from spaces')).length, 0)
})
