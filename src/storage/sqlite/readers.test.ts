import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { Folder, listables, migrated, Records } from '../../../test/lists-model.ts'
import { eventually } from '../../../test/processes.ts'
import { Failure } from '../../errors.ts'
import { compiledForSqlite } from './group-commit.ts'
import { Readers } from './readers.ts'

interface Fixture {
  readonly folder: Folder
  readonly records: Records
  readonly readers: Readers
}

async function open(t: TestContext): Promise<Fixture> {
  const folder = await migrated(new Folder())
  const records = new Records(folder)
  const readers = new Readers(folder.database, listables, () => undefined)
  t.after(async () => {
    await readers.close()
    if (records.db.isOpen) records.db.close()
    folder.remove()
  })
  return { folder, records, readers }
}

const count = compiledForSqlite(sql`select count(*) as total from spaces`)
const pending = compiledForSqlite(sql`select count(*) as total from search_changes`)
/** Takes hundreds of milliseconds. */
const slow = compiledForSqlite(
  sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select count(*) as total from n`,
)

const hasCode = (code: string) => (error: unknown) => error instanceof Failure && error.code === code

test('sees all earlier commits', async (t) => {
  const { records, readers } = await open(t)
  for (let total = 1; total <= 20; total++) {
    records.insert('spaces', 1, `Shop ${total}`)
    deepEqual(await readers.select('search', count, 1), [[total]])
    deepEqual(await readers.select('scan', count, 1), [[total]])
  }
})

test('indexes in the background, even while scans run', async (t) => {
  const { records, readers } = await open(t)
  for (let n = 0; n < 250; n++) records.insert('spaces', 1, `Shop ${n}`)
  readers.start()
  void readers.select('scan', slow, 1)
  await eventually(async () => (await readers.select('search', pending, 1))[0]?.[0] === 0)
  const found = sql`select count(*) as total from spaces_search where spaces_search match '" 24"'`
  deepEqual(await readers.select('search', compiledForSqlite(found), 1), [[11]])
})

test('answers searches while a scan runs', async (t) => {
  const { readers } = await open(t)
  await Promise.all([readers.select('search', count, 1), readers.select('scan', count, 1)])
  const order: string[] = []
  const scan = readers.select('scan', slow, 1).then(() => order.push('scan'))
  await readers.select('search', count, 1).then(() => order.push('search'))
  await scan
  deepEqual(order, ['search', 'scan'])
})

test('lets accounts take turns', async (t) => {
  const { readers } = await open(t)
  const order: number[] = []
  const asked = [1, 1, 1, 1, 1, 1, 2].map((account) =>
    readers.select('scan', count, account).then(() => order.push(account)),
  )
  await Promise.all(asked)
  ok(order.indexOf(2) <= 3, String(order))
})

test('rejects a query that cannot run, and answers the next', async (t) => {
  const { records, readers } = await open(t)
  records.db.exec('alter table spaces rename to elsewhere')
  await rejects(readers.select('scan', count, 1), /no such table/)
  records.db.exec('alter table elsewhere rename to spaces')
  deepEqual(await readers.select('scan', count, 1), [[0]])
})

test('rejects queries beyond the longest queue of a thread or of an account, and answers the others', async (t) => {
  const { readers } = await open(t)
  const answered = async (accounts: number[]) => {
    const settled = await Promise.allSettled(accounts.map((account) => readers.select('scan', count, account)))
    ok(settled.every((each) => each.status === 'fulfilled' || hasCode('overloaded')(each.reason)))
    return accounts.filter((_, at) => settled[at]?.status === 'fulfilled')
  }
  equal((await answered(Array.from({ length: 300 }, (_, n) => n % 10))).length, 256)
  const manyThenOne = await answered([...Array.from({ length: 300 }, () => 1), 2])
  deepEqual([manyThenOne.length, manyThenOne.at(-1)], [35, 2])
})

test('fails without creating a missing database, and restarts the thread later', async (t) => {
  const folder = new Folder()
  const readers = new Readers(folder.database, {}, () => undefined)
  t.after(async () => {
    await readers.close()
    folder.remove()
  })
  await rejects(readers.select('search', count, 1), hasCode('database_unavailable'))
  equal(existsSync(folder.database), false)
  await migrated(folder)
  await eventually(() =>
    readers.select('search', count, 1).then(
      () => true,
      () => false,
    ),
  )
})
