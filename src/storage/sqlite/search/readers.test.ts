import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { firstPage } from '../../../../test/first-page.ts'
import { damage, Folder, listables, migrated, Records, type Row } from '../../../../test/lists-model.ts'
import { eventually } from '../../../../test/processes.ts'
import { Failure } from '../../../errors.ts'
import type { Listing } from '../../port.ts'
import { Readers, type ReadersOptions } from './readers.ts'

const folders: Folder[] = []
after(() => {
  for (const folder of folders) folder.remove()
})

async function withReaders(
  options: ReadersOptions,
  work: (readers: Readers, records: Records, folder: Folder) => Promise<void>,
): Promise<void> {
  const folder = await migrated(newFolder())
  const records = new Records(folder)
  const readers = new Readers(folder.database, options)
  try {
    await work(readers, records, folder)
  } finally {
    await readers.close()
    records.db.close()
  }
}

function newFolder(): Folder {
  const folder = new Folder()
  folders.push(folder)
  return folder
}

const indexed: Listing<Row> = { ...firstPage, of: listables.spaces, account: 1, search: 'shop' }
const scanned: Listing<Row> = { ...indexed, search: null }

const hasCode = (code: string) => (error: unknown) => error instanceof Failure && error.code === code

test('a search sees what was committed before it', async () => {
  await withReaders({}, async (readers, records) => {
    for (let n = 0; n < 50; n++) {
      records.insert('spaces', 1, `Shop ${n}`)
      if (n % 3 === 2) records.delete(0)
      if (n % 5 === 4) records.rename(1, 'Gone')
      deepEqual(await readers.list(indexed), records.page(indexed))
    }
  })
})

test('a backlog is searched before it is indexed', async () => {
  await withReaders({}, async (readers, records) => {
    records.db.exec('begin')
    for (let n = 0; n < 5_000; n++) records.insert('spaces', 1, `Shop ${n}`)
    records.db.exec('commit')
    readers.start()
    const pages = await Promise.all(Array.from({ length: 20 }, () => readers.list(indexed)))
    for (const page of pages) deepEqual(page, records.page(indexed))
  })
})

test('changes are reported as forgettable once they are in the index', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  await withReaders({ onIndexed: resolve }, async (readers, records) => {
    records.insert('spaces', 1, 'Shop')
    records.insert('spaces', 1, 'Shop')
    records.delete(0)
    readers.start()
    equal(await promise, 1)
    records.db.exec('delete from search_changes')
    records.insert('spaces', 1, 'Shop')
    deepEqual(await readers.list(indexed), records.page(indexed))
  })
})

test('an index that missed changes is rebuilt', async () => {
  await withReaders({}, async (readers, records, folder) => {
    for (let n = 0; n < 4; n++) records.insert('spaces', 1, 'Shop')
    await readers.list(indexed)
    await readers.close()
    records.delete(0)
    records.delete(0)
    records.db.exec('delete from search_changes where seq = 1')
    await isRebuilt(folder, records, 4)
  })
})

test('an index that is ahead of a restored database is rebuilt', async () => {
  await withReaders({}, async (readers, records, folder) => {
    records.insert('spaces', 1, 'Shop')
    records.insert('spaces', 1, 'Shop that is not in the backup')
    await readers.list(indexed)
    await readers.close()
    records.delete(1)
    records.db.exec(`delete from search_changes; update sqlite_sequence set seq = min(seq, 1) where name = 'spaces';
      update sqlite_sequence set seq = 0 where name = 'search_changes'`)
    await isRebuilt(folder, records, 1)
  })
})

test('an index of another database is rebuilt', async () => {
  await withReaders({}, async (readers, records, folder) => {
    records.insert('spaces', 1, 'Shop')
    await readers.list(indexed)
    await readers.close()
    await withReaders({}, async (others, otherRecords, otherFolder) => {
      otherRecords.insert('spaces', 1, 'Market')
      await others.close()
      copyFileSync(`${folder.database}-search`, `${otherFolder.database}-search`)
      await isRebuilt(otherFolder, otherRecords, 1)
    })
  })
})

test('an index of an older version is rebuilt', async () => {
  await withReaders({}, async (readers, records, folder) => {
    records.insert('spaces', 1, 'Shop')
    await readers.close()
    const old = new DatabaseSync(`${folder.database}-search`)
    old.exec(`create table state (version text, database_id text, domains integer, spaces integer, changes integer);
      create virtual table spaces_search using fts5 (grams, content = '', contentless_delete = 1)`)
    old.exec(
      `attach '${folder.database}' as data; insert into state select '[3]', database_id, 1, 1, 0 from data.instance`,
    )
    old.close()
    await isRebuilt(folder, records, 1)
  })
})

test('an index that lost its positions is rebuilt', async () => {
  await withReaders({}, async (readers, records, folder) => {
    records.insert('spaces', 1, 'Shop')
    await readers.list(indexed)
    await readers.close()
    const index = new DatabaseSync(`${folder.database}-search`)
    index.exec('delete from positions')
    index.close()
    await isRebuilt(folder, records, 1)
  })
})

/** Asks twice, for the question that finds the index unusable is answered without it. */
async function isRebuilt(folder: Folder, records: Records, spaces: number): Promise<void> {
  const readers = new Readers(folder.database, {})
  try {
    deepEqual(await readers.list(indexed), records.page(indexed))
    deepEqual(await readers.list(indexed), records.page(indexed))
    const index = new DatabaseSync(`${folder.database}-search`, { readOnly: true })
    equal(index.prepare(`select last from positions where kind = 'spaces'`).get()?.last, spaces)
    index.close()
  } finally {
    await readers.close()
  }
}

test('a damaged database does not make the index be built again and again', async () => {
  const folder = await migrated(newFolder())
  const records = new Records(folder)
  for (let n = 0; n < 1_000; n++) records.insertAscii(1, `shop-${n}.example`)
  records.db.close()
  damage(folder.database, 'at 500')
  const problems: unknown[] = []
  const readers = new Readers(folder.database, { onProblem: (error) => problems.push(error) })
  const indexes: number[] = []
  try {
    for (let n = 0; n < 5; n++) {
      // Other pages may be enough for the answer.
      await readers.list({ ...indexed, of: listables.domains }).catch(hasCode('database_unavailable'))
      indexes.push(statSync(`${folder.database}-search`, { throwIfNoEntry: false })?.ino ?? 0)
    }
  } finally {
    await readers.close()
  }
  equal(new Set(indexes.slice(1)).size, 1)
  equal(problems.length, 1)
  ok(/malformed/.test(String(problems)), String(problems))
})

test('an index that cannot be opened is reported once, and searches are answered all the same', async () => {
  const problems: unknown[] = []
  await withReaders({ onProblem: (error) => problems.push(error) }, async (readers, records, folder) => {
    mkdirSync(`${folder.database}-search`)
    writeFileSync(`${folder.database}-search/file`, '')
    records.insert('spaces', 1, 'Shop')
    for (let n = 0; n < 3; n++) deepEqual(await readers.list(indexed), records.page(indexed))
    equal(problems.length, 1)
  })
})

test('an index that cannot be removed is reported, and searches are answered all the same', async () => {
  const problems: unknown[] = []
  await withReaders({ onProblem: (error) => problems.push(error) }, async (readers, records, folder) => {
    for (let n = 0; n < 4; n++) records.insert('spaces', 1, 'Shop')
    await readers.list(indexed)
    rmSync(`${folder.database}-search`)
    mkdirSync(`${folder.database}-search`)
    records.delete(0)
    records.delete(0)
    records.db.exec('delete from search_changes where seq = 1')
    for (let n = 0; n < 3; n++) deepEqual(await readers.list(indexed), records.page(indexed))
    ok(
      problems.some((problem) => /forgotten/.test(String(problem))),
      String(problems),
    )
    ok(
      problems.some((problem) => /EISDIR|directory/.test(String(problem))),
      String(problems),
    )
  })
})

test('a question that the engine cannot answer fails alone', async () => {
  await withReaders({}, async (readers, records) => {
    records.insert('spaces', 1, 'Shop')
    records.db.exec('alter table spaces rename to elsewhere')
    await rejects(readers.list(scanned), hasCode('database_unavailable'))
    records.db.exec('alter table elsewhere rename to spaces')
    deepEqual(await readers.list(scanned), records.page(scanned))
  })
})

test('questions beyond the longest queue are refused, the others are answered', async () => {
  await withReaders({}, async (readers, records) => {
    records.insert('spaces', 1, 'Shop')
    const asked = await Promise.allSettled(Array.from({ length: 300 }, () => readers.list(scanned)))
    equal(asked.filter(({ status }) => status === 'fulfilled').length, 256)
    ok(asked.every((each) => each.status === 'fulfilled' || hasCode('overloaded')(each.reason)))
  })
})

test('without a database a search fails, and a thread that died is started again a second later', async () => {
  const folder = newFolder()
  const readers = new Readers(folder.database, {})
  await rejects(readers.list(scanned), hasCode('database_unavailable'))
  await rejects(readers.list(scanned), hasCode('database_unavailable'))
  await rejects(readers.list(indexed), hasCode('database_unavailable'))
  equal(existsSync(`${folder.database}-search`), false)
  await migrated(folder)
  await eventually(() =>
    readers.list(scanned).then(
      () => true,
      () => false,
    ),
  )
  deepEqual(await readers.list(scanned), { rows: [], total: 0, totalIsExact: true })
  await readers.close()
})

test('closing answers what was asked, may be repeated, and refuses later questions', async () => {
  await withReaders({}, async (readers, records) => {
    records.insert('spaces', 1, 'Shop')
    const asked = [readers.list(indexed), readers.list(scanned)]
    await Promise.all([readers.close(), readers.close()])
    for (const page of await Promise.all(asked)) equal(page.total, 1)
    await rejects(readers.list(indexed), hasCode('database_unavailable'))
  })
})
