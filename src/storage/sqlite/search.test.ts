/** Searches and lists: their pages and totals, and which of their queries are scans. */
import { deepEqual, ok } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { firstPage } from '../../../test/first-page.ts'
import {
  account,
  card,
  Folder,
  listables,
  listingOf,
  migrated,
  Records,
  type Row,
  text,
} from '../../../test/lists-model.ts'
import { runs } from '../../../test/runs.ts'
import { resources, type SideColumn } from '../../resources.ts'
import { listPage } from '../list.ts'
import type { Cost } from '../list-sources.ts'
import type { Listing } from '../port.ts'
import { sqlPart } from '../sql-text.ts'
import { Connection } from './connection.ts'
import { formatForSqlite } from './group-commit.ts'
import { SqliteLists } from './search.ts'
import { indexSome } from './search-index.ts'

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
  return connection.executeForValues(formatForSqlite(query))
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

/** Compares a page with a naive list. Returns the query costs. */
async function check(listing: Listing<Row>): Promise<Cost[]> {
  costs = []
  deepEqual(await listPage(lists, listing), records.page(listing), JSON.stringify(listing))
  return costs
}

const base = { ...firstPage, of: listables.domains, account: 1 }

test('scans if many records are still to be indexed, and not afterwards', async () => {
  const search = { ...base, search: ['link-many-1'] }
  ok((await check(search)).includes('scan'))
  costs = []
  deepEqual(await listPage(lists, { ...search, withoutScan: true }), { rows: [], total: 0, totalIsExact: false })
  deepEqual(costs, ['page'])
  indexAll()
  ok(!(await check(search)).includes('scan'))
  deepEqual(await check({ ...search, withoutScan: true }), ['page', 'search', 'search'])
})

test('scans only for short terms, deep pages, many candidates, and many matches in another order than by id', async () => {
  for (const sortBy of ['id', 'name'] as const) {
    for (const search of ['many', '-1234.', '-123', 'link-many-1', 'none']) {
      ok(!(await check({ ...base, search: [search], sortBy, offset: 20 })).includes('scan'), `${search} by ${sortBy}`)
    }
    ok((await check({ ...base, search: ['om'], sortBy })).includes('scan'))
  }
  ok(!(await check({ ...base, search: ['lat'] })).includes('scan'))
  ok((await check({ ...base, search: ['late'] })).includes('scan'))
  ok((await check({ ...base, search: ['late'], sortBy: 'name' })).includes('scan'))
  ok((await check({ ...base, search: ['comb.example'], offset: 20_001 })).includes('scan'))
  deepEqual(await check({ ...base, offset: 900 }), ['page'])
  deepEqual(await check({ ...base, offset: 9_000 }), ['page'])
  deepEqual(await check({ ...base, offset: 29_000 }), ['scan'])
  deepEqual(await check({ ...base, offset: 31_000 }), ['scan', 'page'])
})

test('indexes few long texts in one transaction, and finds their repeated parts', async () => {
  for (let n = 0; n < 8; n++) records.insertAscii(5, `${n}${'ab'.repeat(4_000)}`)
  indexSome(records.db, listables)
  const [{ pending } = {}] = records.db.prepare('select count(*) as pending from search_changes').all()
  ok(Number(pending) > 0 && Number(pending) < 8, String(pending))
  for (const search of ['aba', 'ab'.repeat(100), `7${'ab'.repeat(50)}`, 'abb'])
    await check({ ...base, account: 5, search: [search] })
  indexAll()
  for (const search of ['aba', 'ab'.repeat(100), `7${'ab'.repeat(50)}`, 'abb'])
    await check({ ...base, account: 5, search: [search] })
})

test('continues after an id, through few matches and through more than are counted', async () => {
  for (const search of ['lat', 'many', 'com', '-123', 'none', '']) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const after of [1, 9_995, 20_499, count - 5, count + 5]) {
        ok(!(await check({ ...base, search: search === '' ? [] : [search], direction, after })).includes('scan'))
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
      { search: ['many'], filter: { is_kept: 1, shelf_id: 1 } },
      { search: ['of'], filter: { shelf_id: 1 } },
      { search: ['note 11'], searchIn: ['note'], filter: { shelf_id: null } },
      { search: [], filter: { is_kept: 1, shelf_id: 1 } },
      { search: [], filter: { shelf_id: 1, is_kept: 1 }, ranges: { plays: { from: 0 } } },
    ]) {
      ok(!(await check({ ...cards, sortBy, ...each })).includes('scan'), JSON.stringify(each))
    }
    for (const search of [['many'], []]) {
      ok((await check({ ...cards, sortBy, search, filter: { is_kept: 1, shelf_id: null } })).includes('scan'))
    }
    for (const filter of [{ is_kept: 1 }, { shelf_id: 1 }, { is_kept: 1, shelf_id: null }]) {
      await check({ ...cards, sortBy, search: [], filter, offset: 5 })
    }
    const [some, most] = [{ from: 2, before: 3 }, { from: 1 }]
    for (const [ranges, isScan] of [
      [{ plays: some }, false],
      [{ kept: some }, false],
      [{ weight: some, plays: most, shelf: { before: 2 } }, false],
      [{ plays: { from: 0 }, kept: { from: 0 } }, true],
      [{ shelf: { from: 1 } }, true],
    ] as const) {
      const costs = await check({ ...cards, sortBy, ranges })
      deepEqual(costs.includes('scan'), isScan, `${JSON.stringify(ranges)} by ${sortBy}`)
    }
  }
})

test('reads the index of the rarest filter', async () => {
  for (const filter of [
    { is_kept: 1, shelf_id: 1 },
    { shelf_id: 1, is_kept: 1 },
  ]) {
    const listing = { ...base, of: listables.cards, filter, ranges: { plays: { from: 0 } } }
    const { source, cost } = await lists.plan(listing)
    const { sql: text } = formatForSqlite(sqlPart`select 1 from ${source(listing).from}`)
    ok(text.includes('"cards_by_shelf_id"'), text)
    deepEqual(cost, 'search')
  }
})

test('leaves out archived records with an exact total, and without reading twice', async () => {
  records.db.exec('begin')
  for (let n = 0; n < 10_700; n++) {
    const is_kept = Number(n >= 10_200)
    records.insertCard(3, `few ${n}`, { note: null, weight: n % 7, plays: n % 5, is_kept, shelf_id: 2 - is_kept })
  }
  records.db.exec('commit')
  indexAll()
  const cards = { ...base, of: listables.cards, account: 3, filter: { is_kept: 0 } }
  for (const direction of ['asc', 'desc'] as const) {
    deepEqual(await check({ ...cards, sortBy: 'id', direction }), ['page'])
    deepEqual(await check({ ...cards, sortBy: 'id', direction, after: 15_000 }), ['page'])
  }
  // Their order has no index without archived records.
  for (const sortBy of ['name', 'weight', 'plays'] as const) {
    deepEqual(await check({ ...cards, sortBy }), ['page', 'search'])
    deepEqual(await check({ ...cards, sortBy, offset: 10_100 }), ['scan'])
  }
  deepEqual(await check({ ...cards, offset: 20_000 }), ['scan', 'page'])
  const shelf = { ...cards, sortBy: 'id', filter: { is_kept: 0, shelf_id: 2 } }
  deepEqual(await check(shelf), ['page', 'search'])
  deepEqual(await check({ ...shelf, filter: { is_kept: 0, shelf_id: 1 } }), ['page', 'search', 'search'])
  ok(!(await check({ ...cards, search: ['few 7'] })).includes('scan'))
  const { total, totalIsExact } = await listPage(lists, cards)
  deepEqual([total, totalIsExact], [10_200, true])
})

test('scans past many archived records', async () => {
  records.db.exec('begin')
  for (let n = 0; n < 10_120; n++) {
    const is_kept = Number(n < 10_010)
    records.insertCard(4, `card ${n}`, { note: null, weight: 1, plays: n % 5, is_kept, shelf_id: n % 1_000 ? 1 : 2 })
  }
  records.db.exec('commit')
  indexAll()
  const cards = { ...base, of: listables.cards, account: 4, sortBy: 'name' }
  const on = (shelf_id: number) => ({ ...cards, filter: { is_kept: 0, shelf_id } })
  const { filter } = { filter: { is_kept: 0 } }
  for (const direction of ['asc', 'desc'] as const) {
    deepEqual(await check({ ...cards, filter, direction }), ['page', 'scan'])
    deepEqual(await check({ ...cards, filter, direction, sortBy: 'id' }), ['page'])
    deepEqual(await check({ ...cards, filter, direction, sortBy: 'id', upTo: 90_000 }), ['count'])
    deepEqual(await check({ ...on(1), direction, sortBy: 'id' }), ['page', 'scan'])
    deepEqual(await check({ ...on(1), direction }), ['page', 'search', 'scan'])
    deepEqual(await check({ ...on(2), direction }), ['page', 'search', 'search'])
    deepEqual(await check({ ...cards, filter, direction, search: ['car'] }), ['page', 'page', 'search', 'scan'])
    deepEqual(await check({ ...cards, filter: {}, direction }), ['page'])
  }
})

test('skips the records before a deep page in indexes', async () => {
  const links: Listing<Row>['of'] = { table: 'links', columns: ['id'], ...resources.links }
  const plans: string[] = []
  const explained = new SqliteLists(async (query) => {
    const { sql, parameters } = formatForSqlite(query)
    const plan = connection.execute<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters })
    plans.push(...plan.map(({ detail }) => detail))
    return connection.executeForValues({ sql, parameters })
  })
  const tables: Listing<Row>['of'][] = [listables.domains, listables.cards, links]
  for (const of of tables) {
    const sorts = Object.entries<string | SideColumn>(of.sorts).filter(([, column]) => typeof column === 'string')
    for (const sortBy of ['id', ...sorts.map(([name]) => name)]) {
      for (const filter of [{}, ...(of.archived ? [{ [of.archived.column]: 0 }] : [])]) {
        plans.length = 0
        await listPage(explained, { ...base, of, sortBy, filter, offset: 20_000 })
        const name = `${of.table} by ${sortBy}: ${plans.join(', ')}`
        ok(!/USING INDEX/.test(name), name)
        // Those of the page.
        deepEqual(
          plans.filter((step) => step === `SEARCH ${of.table} USING INTEGER PRIMARY KEY (rowid=?)`).length,
          1,
          name,
        )
      }
    }
  }
})

test('counts the records of a table without a stored total, and those up to an id', async () => {
  for (const changed of [{ of: { ...listables.domains, isUncounted: true } }, { upTo: 10_001 }]) {
    for (const sortBy of ['id', 'name'] as const) {
      for (const direction of ['asc', 'desc'] as const) {
        deepEqual(await check({ ...base, ...changed, sortBy, direction }), ['count'])
        deepEqual(await check({ ...base, ...changed, sortBy, direction, offset: 9_000 }), ['count'])
      }
    }
    deepEqual(await check({ ...base, ...changed, direction: 'desc', after: 9_000 }), ['count'])
    deepEqual(await check({ ...base, ...changed, account: 77 }), ['count', 'count'])
  }
  deepEqual((await listPage(lists, { ...base, upTo: 10_000 })).totalIsExact, true)
})

test('finds the matches of a filter without an index by the index of another, and otherwise scans', async () => {
  const cards = { ...base, of: listables.cards, sortBy: 'id', direction: 'desc' } as const
  deepEqual(await check({ ...cards, filter: { shelf_id: 1, weight: 3 } }), ['search', 'search'])
  deepEqual(await check({ ...cards, filter: { shelf_id: null, weight: 3 } }), ['search', 'scan'])
  deepEqual(await check({ ...cards, filter: { weight: 3 } }), ['scan'])
})

test('finds short terms with the index, at the end of a text and in short texts, if the account has many records', async () => {
  for (const name of ['first.qx', 'qx', 'q.example', 'other.é']) records.insertAscii(1, name)
  for (const search of [['qx'], ['q'], ['é'], ['zq'], ['qx', 'first'], ['~', 'late']]) await check({ ...base, search })
  indexAll()
  for (const search of [['qx'], ['q'], ['é'], ['zq'], ['qx', 'first'], ['~', 'late']]) {
    ok(!(await check({ ...base, search })).includes('scan'), String(search))
    ok(!(await check({ ...base, search, sortBy: 'name', direction: 'desc' })).includes('scan'), String(search))
  }
  ok((await check({ ...base, search: ['\u0001'] })).includes('scan'))
  deepEqual(await check({ ...base, account: 2, search: ['ot'] }), ['page', 'scan'])
})

test('scans for a short term that many records of other accounts have, unless another term has more', async () => {
  records.db.exec('begin')
  for (let n = 0; n < 1_200; n++) records.insertAscii(6, `vw.n${n}`)
  for (let n = 0; n < 3; n++) records.insertAscii(1, `vw.n${n}.qx`)
  records.db.exec('commit')
  indexAll()
  deepEqual(await check({ ...base, search: ['vw'] }), ['page', 'search', 'scan'])
  deepEqual(await check({ ...base, search: ['vw', 'qx'] }), ['page', 'search', 'search'])
  deepEqual(await check({ ...base, search: ['vw', 'comb'] }), ['page', 'search', 'search', 'search'])
})

test('counts the candidates of each term up to a tenth of the records', async () => {
  for (let n = 0; n < 50; n++) records.insertAscii(7, `term-${n}.tenth.example`)
  indexAll()
  const texts: string[] = []
  const counting = new SqliteLists(async (query) => {
    const { sql, parameters } = formatForSqlite(query)
    texts.push(sql)
    return connection.executeForValues({ sql, parameters })
  })
  const listing = { ...base, account: 7, search: ['term', '-12.tenth'] }
  deepEqual(await listPage(counting, listing), records.page(listing))
  deepEqual(texts[1]?.match(/limit \d+/g), ['limit 6', 'limit 6'])
})

test('counts at most ten thousand matches', async () => {
  const many = await listPage(lists, { ...base, search: ['many'] })
  deepEqual([many.total, many.totalIsExact], [10_000, true])
  const late = await listPage(lists, { ...base, search: ['late'] })
  deepEqual([late.total, late.totalIsExact], [10_000, false])
})

const template = new Folder()
before(() => migrated(template))
after(() => template.remove())

const table = fc.constantFrom('domains' as const, 'spaces' as const)
const listing = fc.oneof(listingOf('cards'), listingOf('cards'), listingOf('domains'), listingOf('spaces'))
const size = { minLength: 1, maxLength: 20 }

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ insert: fc.array(text, size), table, account }) },
  { weight: 4, arbitrary: fc.record({ cards: fc.array(fc.tuple(text, card), size), account }) },
  { weight: 1, arbitrary: fc.record({ move: fc.nat(1_000), to: card }) },
  { weight: 1, arbitrary: fc.record({ delete: fc.nat(1_000) }) },
  { weight: 1, arbitrary: fc.record({ rename: fc.nat(1_000), to: text }) },
  { weight: 12, arbitrary: fc.record({ list: listing }) },
  { weight: 4, arbitrary: fc.record({ indexedBatches: fc.nat(3) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

test('returns the rows, order and total of a naive list, however many records are indexed', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    const run = new Run()
    try {
      for (const each of steps) await run.take(each)
    } finally {
      run.end()
    }
  })
  await fc.assert(property, { numRuns: runs(50, 25), interruptAfterTimeLimit: 6_000 })
})

class Run {
  readonly #folder = new Folder()
  readonly #records = new Records(this.#folder, template.database)
  readonly #connection = new Connection(new DatabaseSync(this.#folder.database))
  readonly #lists = new SqliteLists(async (query) => this.#connection.executeForValues(formatForSqlite(query)))

  async take(step: Step): Promise<void> {
    if ('insert' in step) for (const each of step.insert) this.#records.insert(step.table, step.account, each)
    else if ('cards' in step) for (const [name, each] of step.cards) this.#records.insertCard(step.account, name, each)
    else if ('move' in step) this.#records.move(step.move, step.to.shelf_id)
    else if ('delete' in step) this.#records.delete(step.delete)
    else if ('rename' in step) this.#records.rename(step.rename, step.to)
    else if ('list' in step) {
      deepEqual(await listPage(this.#lists, step.list), this.#records.page(step.list))
    } else for (let n = 0; n < step.indexedBatches; n++) indexSome(this.#connection.database, listables)
  }

  end(): void {
    this.#connection.database.close()
    this.#records.db.close()
    this.#folder.remove()
  }
}
