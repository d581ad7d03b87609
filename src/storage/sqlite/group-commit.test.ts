import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Folder, listables, migrated, Records } from '../../../test/lists-model.ts'
import { newFolder } from '../../../test/processes.ts'
import { createAccount } from '../../accounts/store.ts'
import { Failure } from '../../errors.ts'
import type { Histogram } from '../../lib/histogram.ts'
import type { Db, Meter } from '../port.ts'
import { query } from '../schema.ts'
import { Connection, openDatabase } from './connection.ts'
import { compiledForSqlite, GroupCommit } from './group-commit.ts'
import { openSqlite } from './open.ts'
import { indexSome } from './search-index.ts'

type Tables = {
  notes: { text: string }
}
const tables = query.withTables<Tables>()

const insert = ({ text }: { text: string }) => tables.insertInto('notes').values({ text })
const texts = () => tables.selectFrom('notes').select('text').orderBy('text')

interface Fixture {
  readonly path: string
  readonly writer: Connection
  readonly commits: GroupCommit
  /** Returns the committed texts, from a separate connection. */
  committed(): string[]
  commitCount(): number
}

function open(t: TestContext, lockTimeoutMs?: number): Fixture {
  const path = join(newFolder(t), 'test.db')
  const writer = new Connection(openDatabase(path, 0))
  writer.database.exec('create table notes (text text not null unique) strict')
  const reader = new Connection(openDatabase(path, 0, 'pragma query_only = on'))
  t.after(() => {
    reader.database.close()
    writer.database.close()
  })
  const commits = new GroupCommit(writer, lockTimeoutMs)
  const [{ value: commitSeconds }] = commits.meters as [Meter]
  const commitCount = () => (commitSeconds as Histogram).cumulative().at(-1) as number
  const committed = () => reader.execute<{ text: string }>(compiledForSqlite(texts())).map(({ text }) => text)
  return { path, writer, commits, committed, commitCount }
}

const hasCode = (code: string) => (error: unknown) => error instanceof Failure && error.code === code

test('commits the writes of one event-loop tick together', async (t) => {
  const { commits, committed, commitCount } = open(t)
  const names = Array.from({ length: 100 }, (_, n) => String(n).padStart(3, '0'))
  await Promise.all(names.map((text) => commits.write((db) => db.execute(insert({ text })))))
  assert.equal(commitCount(), 1)
  assert.deepEqual(committed(), names)
})

test('commits a flood of writes in groups and in order', async (t) => {
  const { commits, commitCount } = open(t)
  const order: number[] = []
  const writes = Array.from({ length: 300 }, (_, n) =>
    commits.write((db) => db.execute(insert({ text: String(n) }))).then(() => order.push(n)),
  )
  await Promise.all(writes)
  assert.equal(commitCount(), 3)
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  )
})

test('undoes failed transactions and statements without affecting the others', async (t) => {
  const { writer, commits, committed, commitCount } = open(t)
  const store = (texts: string[]) => () =>
    writer.database
      .prepare(`insert into notes values ${texts.map(() => '(?)')} returning text`)
      .all(...texts)
      .map(({ text }) => text)
  const stored = (text: string) => async (db: Db) => (await db.execute(insert({ text }))).length
  const outcomes = await Promise.allSettled([
    commits.write(stored('a')),
    commits.write(async (db) => {
      await stored('half')(db)
      throw new Error('changed its mind')
    }),
    commits.write(async (db) => {
      await stored('other half')(db)
      await stored('a')(db)
    }),
    commits.writeOne(store(['half', 'other half', 'a'])),
    commits.write(async (db) => {
      await stored('b')(db)
      return 'stored'
    }),
    commits.writeOne(store(['c', 'd'])),
  ])
  const results = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))
  const taken = 'UNIQUE constraint failed: notes.text'
  assert.deepEqual(results, [
    0,
    'changed its mind',
    'A statement violates a unique index.',
    taken,
    'stored',
    ['c', 'd'],
  ])
  assert.deepEqual([committed(), commitCount()], [['a', 'b', 'c', 'd'], 1])
})

test('undoes a transaction that fails alone in its commit', async (t) => {
  const { commits, committed } = open(t)
  const failed = commits.write(async (db) => {
    await db.execute(insert({ text: 'half' }))
    throw new Error('changed its mind')
  })
  await assert.rejects(failed, /changed its mind/)
  await commits.write((db) => db.execute(insert({ text: 'whole' })))
  assert.deepEqual(committed(), ['whole'])
})

test('rejects a transaction that SQLite has rolled back by itself', async (t) => {
  const { writer, commits, committed } = open(t)
  await commits.write((db) => db.execute(insert({ text: 'taken' })))
  const swallowed = commits.write(async (db) => {
    await db.execute(insert({ text: 'lost' }))
    assert.throws(() => writer.database.exec("insert or rollback into notes values ('taken')"))
  })
  await assert.rejects(swallowed, /no transaction is active/)
  await commits.write((db) => db.execute(insert({ text: 'next' })))
  assert.deepEqual(committed(), ['next', 'taken'])
})

test('commits with synchronous = FULL, so that a response means that the change is on disk', (t) => {
  const { writer } = open(t)
  assert.equal(writer.database.prepare('pragma synchronous').all()[0]?.synchronous, 2)
  assert.equal(writer.database.prepare('pragma journal_mode').all()[0]?.journal_mode, 'wal')
})

test('shows a write to readers only after its commit, and then to all', async (t) => {
  const { commits, committed } = open(t)
  let seenAmid: string[] | undefined
  const write = commits.write(async (db) => {
    await db.execute(insert({ text: 'new' }))
    await new Promise((resolve) => setTimeout(resolve, 10))
    seenAmid = committed()
    assert.equal((await db.execute(texts())).length, 1)
  })
  await write
  assert.deepEqual(seenAmid, [])
  assert.deepEqual(committed(), ['new'])
})

test('rejects every write of a failed commit, and writes the next group', async (t) => {
  const { writer, commits, committed, commitCount } = open(t)
  writer.database.exec('create table children (note text references notes (text) deferrable initially deferred) strict')
  const orphan = () =>
    query.withTables<{ children: { note: string } }>().insertInto('children').values({ note: 'nobody' })
  const outcomes = await Promise.allSettled([
    commits.write((db) => db.execute(insert({ text: 'good' }))),
    commits.write((db) => db.execute(orphan())),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.deepEqual([committed(), commitCount()], [[], 0])
  await commits.write((db) => db.execute(insert({ text: 'next' })))
  assert.deepEqual(committed(), ['next'])
})

for (const kind of ['transaction', 'statement'] as const)
  test(`returns database_unavailable on a full disk, and loses no acknowledged ${kind}`, async (t) => {
    const { writer, commits, committed } = open(t)
    const store = (text: string) =>
      kind === 'statement'
        ? commits.writeOne(() => writer.execute(compiledForSqlite(insert({ text }))))
        : commits.write((db) => db.execute(insert({ text })))
    const [{ page_count: pages } = {}] = writer.database.prepare('pragma page_count').all()
    writer.database.exec(`pragma max_page_count = ${Number(pages) + 4}`)
    const names = Array.from({ length: 60 }, (_, n) => `${n} `.padEnd(1_000, 'x'))
    const outcomes = await Promise.allSettled(names.map(store))
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    assert.ok(refused.length > 0)
    for (const { reason } of refused) assert.ok(hasCode('database_unavailable')(reason))
    const acknowledged = names.filter((_, n) => outcomes[n]?.status === 'fulfilled')
    assert.deepEqual(committed(), acknowledged.sort())

    writer.database.exec('pragma max_page_count = 100000')
    await store('room again')
    assert.ok(committed().includes('room again'))
  })

test('waits for the write lock of another process without blocking the event loop', async (t) => {
  const { path, commits, committed } = open(t)
  using other = new DatabaseSync(path)
  other.exec('begin immediate')
  const write = commits.write((db) => db.execute(insert({ text: 'patient' })))
  for (let tick = 0; tick < 20; tick++) await wait(5)
  other.exec('rollback')
  await write
  assert.deepEqual(committed(), ['patient'])
})

test('rejects writes with database_unavailable if a write lock is never released', async (t) => {
  const { path, commits, committed } = open(t, 300)
  using other = new DatabaseSync(path)
  other.exec('begin immediate')
  const begun = performance.now()
  const writes = Array.from({ length: 300 }, (_, n) => commits.write((db) => db.execute(insert({ text: String(n) }))))
  for (const outcome of await Promise.allSettled(writes)) {
    assert.ok(outcome.status === 'rejected' && hasCode('database_unavailable')(outcome.reason))
  }
  assert.ok(performance.now() - begun >= 300)
  other.exec('rollback')
  await commits.write((db) => db.execute(insert({ text: 'free' })))
  assert.deepEqual(committed(), ['free'])
})

test('rejects a write if the transaction cannot start', async (t) => {
  const { writer, commits, committed } = open(t)
  writer.database.exec('begin')
  await assert.rejects(
    commits.write((db) => db.execute(insert({ text: 'lost' }))),
    /transaction within a transaction/,
  )
  writer.database.exec('rollback')
  assert.deepEqual(committed(), [])
})

test('commits writes while its connection fills and empties the search index for 100 rounds', async (t) => {
  const folder = await migrated(new Folder())
  t.after(() => folder.remove())
  const records = new Records(folder)
  const connection = new Connection(openDatabase(folder.database, 0))
  t.after(() => [records.db, connection.database].map((database) => database.close()))
  const commits = new GroupCommit(connection)
  for (let round = 0; round < 100; round++) {
    for (let n = 0; n < 10; n++) records.insertAscii(1, `n${n}-${round}.example.com`)
    while (indexSome(connection.database, listables));
    records.db.exec('delete from domains')
    while (indexSome(connection.database, listables));
    assert.equal(await commits.write(async () => round), round)
  }
})

test('rejects writes with overloaded if the queue is full, and runs the queued ones', async (t) => {
  const { commits } = open(t)
  let count = 0
  const writes = Array.from({ length: 10_001 }, () => commits.writeOne(() => count++))
  await assert.rejects(writes.pop() as Promise<unknown>, hasCode('overloaded'))
  await Promise.all(writes)
  assert.equal(count, 10_000)
})

test('waits for all queued writes when it is drained', async (t) => {
  const { commits, committed } = open(t)
  void commits.write((db) => db.execute(insert({ text: 'first' })))
  const drained = commits.drained()
  void commits.write((db) => db.execute(insert({ text: 'second' })))
  await drained
  assert.deepEqual(committed(), ['first', 'second'])
  await commits.drained()
})

test('the write-ahead log stays below 40 MB while 80 MB are written', async (t) => {
  const path = join(newFolder(t), 'test.db')
  const storage = await openSqlite(path)
  t.after(() => storage.close())
  const name = 'x'.repeat(20_000)
  let largest = 0
  for (let n = 0; n < 4_000; n += 100) {
    await Promise.all(Array.from({ length: 100 }, () => createAccount(storage, name)))
    largest = Math.max(largest, statSync(`${path}-wal`).size)
  }
  assert.ok(largest < 40 * 2 ** 20, `${largest} bytes`)
})
