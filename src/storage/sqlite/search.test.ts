/** Searches among many records: their pages and totals, and which of their queries are scans. */
import { deepEqual, ok } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { firstPage } from '../../../test/first-page.ts'
import { Folder, listables, migrated, Records, type Row } from '../../../test/lists-model.ts'
import { type Cost, listPage } from '../list.ts'
import type { Listing } from '../port.ts'
import { Connection, compiledForSqlite } from './connection.ts'
import { indexSome, SqliteLists } from './search.ts'

const count = 30_500
/** 10,001 names have "late" and are last in order. 10,000 names have "many", and all have "comb.example". */
const nameOf = (n: number): string =>
  `${n < 10_001 ? 'zz-late' : 'link'}-${n >= count - 10_000 ? 'many-' : ''}${(n * 7_919) % count}.comb.example`

const folder = new Folder()
let records: Records
let connection: Connection
let costs: Cost[] = []

const lists = new SqliteLists(async (query, cost) => {
  costs.push(cost)
  return connection.executeForValues(compiledForSqlite(query))
})

before(async () => {
  await migrated(folder)
  records = new Records(folder)
  records.db.exec('begin')
  for (let n = 0; n < count; n++) records.insertAscii(1, nameOf(n))
  records.insertAscii(2, 'other.comb.example')
  records.db.exec('commit')
  connection = new Connection(new DatabaseSync(folder.database))
})

after(() => {
  connection.database.close()
  records.db.close()
  folder.remove()
})

function indexAll(): void {
  while (indexSome(connection.database, listables));
}

/** Compares a page with the page of a naive list. Returns the costs of its queries. */
async function check(listing: Listing<Row>): Promise<Cost[]> {
  costs = []
  deepEqual(await listPage(lists, listing), records.page(listing), JSON.stringify(listing))
  return costs
}

const base = { ...firstPage, of: listables.domains, account: 1 }

test('scans if many records are still to be indexed, and not afterwards', async () => {
  const search = { ...base, search: 'link-many-1' }
  ok((await check(search)).includes('scan'))
  indexAll()
  ok(!(await check(search)).includes('scan'))
})

test('scans only for short terms, deep pages, many candidates, and many matches in another order than by id', async () => {
  for (const sortBy of ['id', 'name'] as const) {
    for (const search of ['many', '-1234.', '-123', 'link-many-1', 'none']) {
      ok(!(await check({ ...base, search, sortBy, offset: 20 })).includes('scan'), `${search} by ${sortBy}`)
    }
    ok((await check({ ...base, search: 'om', sortBy })).includes('scan'))
  }
  ok(!(await check({ ...base, search: 'lat' })).includes('scan'))
  ok((await check({ ...base, search: 'late' })).includes('scan'))
  ok((await check({ ...base, search: 'late', sortBy: 'name' })).includes('scan'))
  ok((await check({ ...base, search: 'comb.example', offset: 20_001 })).includes('scan'))
  deepEqual(await check({ ...base, offset: 900 }), ['page'])
  deepEqual(await check({ ...base, offset: 9_000 }), ['count'])
  deepEqual(await check({ ...base, offset: 29_000 }), ['page', 'count'])
  ok((await check({ ...base, offset: 15_000 })).includes('scan'))
})

test('indexes few long texts in one transaction, and finds their repeated parts', async () => {
  for (let n = 0; n < 8; n++) records.insertAscii(5, `${n}${'ab'.repeat(4_000)}`)
  indexSome(records.db, listables)
  const [{ pending } = {}] = records.db.prepare('select count(*) as pending from search_changes').all()
  ok(Number(pending) > 0 && Number(pending) < 8, String(pending))
  for (const search of ['aba', 'ab'.repeat(100), `7${'ab'.repeat(50)}`, 'abb'])
    await check({ ...base, account: 5, search })
  indexAll()
  for (const search of ['aba', 'ab'.repeat(100), `7${'ab'.repeat(50)}`, 'abb'])
    await check({ ...base, account: 5, search })
})

test('continues after an id, through few matches and through more than are counted', async () => {
  for (const search of ['lat', 'many', 'com', '-123', 'none', null]) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const after of [1, 9_995, 20_499, count - 5, count + 5]) {
        ok(!(await check({ ...base, search, direction, after })).includes('scan'))
      }
    }
  }
})

test('searches by the index of a filter if it has fewer records, and scans if all indexes have many', async () => {
  records.db.exec('begin')
  for (let n = 0; n < 12_000; n++) {
    records.insertCard(1, `card ${n} of many`, {
      note: n % 3 === 0 ? `note ${n}` : null,
      weight: n % 7,
      plays: n % 5,
      is_kept: 1,
      shelf_id: n % 1_000 === 0 ? 1 : null,
    })
  }
  records.db.exec('commit')
  indexAll()
  const cards = { ...base, of: listables.cards, searchIn: ['name', 'note'] }
  for (const sortBy of ['id', 'name', 'weight', 'plays'] as const) {
    for (const each of [
      { search: 'many', filter: { is_kept: 1, shelf_id: 1 } },
      { search: 'of', filter: { shelf_id: 1 } },
      { search: 'note 11', searchIn: ['note'], filter: { shelf_id: null } },
      { search: null, filter: { is_kept: 1, shelf_id: 1 } },
    ]) {
      ok(!(await check({ ...cards, sortBy, ...each })).includes('scan'), JSON.stringify(each))
    }
    ok((await check({ ...cards, sortBy, search: 'many', filter: { is_kept: 1, shelf_id: null } })).includes('scan'))
    for (const filter of [{ is_kept: 1 }, { shelf_id: 1 }, { is_kept: 1, shelf_id: null }]) {
      await check({ ...cards, sortBy, search: null, filter, offset: 5 })
    }
  }
})

test('counts at most ten thousand matches', async () => {
  const many = await listPage(lists, { ...base, search: 'many' })
  deepEqual([many.total, many.totalIsExact], [10_000, true])
  const late = await listPage(lists, { ...base, search: 'late' })
  deepEqual([late.total, late.totalIsExact], [10_000, false])
})
