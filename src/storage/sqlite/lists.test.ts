import { deepEqual } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { type Card, Folder, listables, migrated, Records, type Row } from '../../../test/lists-model.ts'
import { foldCase } from '../../lib/fold-case.ts'
import { listPage } from '../list.ts'
import type { Listing } from '../port.ts'
import { Connection, compiledForSqlite } from './connection.ts'
import { indexSome, SqliteLists } from './search.ts'

const template = new Folder()
before(() => migrated(template))
after(() => template.remove())

const pieces = [
  'a',
  'b',
  'ab',
  'Shop',
  'É',
  'e\u0301',
  'ß',
  '😀',
  '%',
  '_',
  '\\',
  '"',
  '*',
  "'",
  ' ',
  '.',
  '-',
  'ΟΔΟΣ',
  'Эю',
  '\u0308',
  '\ue02e',
  '\u{10fffd}',
  'xn--',
]
const text = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 }).map((parts) => parts.join('')),
  // Equal names, and names that are parts of others.
  fc.constantFrom('Shop', 'shop', 'Shops', 'a"b*', '😀😀😀'),
)
const table = fc.constantFrom('domains' as const, 'spaces' as const)
const shelf = fc.constantFrom(null, 1, 2)
const isKept = fc.constantFrom(0, 1)
const card: fc.Arbitrary<Card> = fc.record({
  note: fc.option(text),
  shelf_id: shelf,
  is_kept: isKept,
  weight: fc.nat(3),
  plays: fc.nat(3),
})
const account = fc.constantFrom(1, 2, 9_000)

const page = {
  account,
  search: fc.option(text.map(foldCase)),
  direction: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.integer({ min: 1, max: 100 }),
}
const offset = fc.oneof(fc.constant(0), fc.nat(40), fc.constant(20_000))
const filter = fc.record({ shelf_id: shelf, is_kept: isKept }, { requiredKeys: [] })
const searchIn = fc.subarray(['name', 'note'], { minLength: 1 })

const asked = fc.oneof(
  fc.record({
    ...page,
    of: table.map((name) => listables[name]),
    sortBy: fc.constantFrom('id', 'name'),
    offset,
  }),
  fc.record(
    {
      ...page,
      of: fc.constant(listables.cards),
      sortBy: fc.constantFrom('id', 'name', 'weight', 'plays'),
      offset,
      filter,
      searchIn,
    },
    { requiredKeys: ['of', 'account', 'search', 'sortBy', 'direction', 'limit', 'offset'] },
  ),
  fc.record({
    ...page,
    of: table.map((name) => listables[name]),
    sortBy: fc.constant('id'),
    offset: fc.constant(0),
    after: fc.oneof(fc.constant(null), fc.nat(60), fc.constant(Number.MAX_SAFE_INTEGER)),
  }),
  fc.record(
    {
      ...page,
      of: fc.constant(listables.cards),
      sortBy: fc.constant('id'),
      offset: fc.constant(0),
      after: fc.nat(60),
      filter,
      searchIn,
    },
    { requiredKeys: ['of', 'account', 'search', 'sortBy', 'direction', 'limit', 'offset', 'after'] },
  ),
)

const listing: fc.Arbitrary<Listing<Row>> = asked.map((each) => ({
  ...{ searchIn: Object.keys(each.of.searched), filter: {}, after: null },
  ...each,
}))

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ insert: fc.array(text, { minLength: 1, maxLength: 20 }), table, account }) },
  {
    weight: 4,
    arbitrary: fc.record({ cards: fc.array(fc.tuple(text, card), { minLength: 1, maxLength: 20 }), account }),
  },
  { weight: 1, arbitrary: fc.record({ move: fc.nat(1_000), shelf }) },
  { weight: 1, arbitrary: fc.record({ delete: fc.nat(1_000) }) },
  { weight: 1, arbitrary: fc.record({ rename: fc.nat(1_000), to: text }) },
  { weight: 12, arbitrary: fc.record({ list: listing }) },
  { weight: 4, arbitrary: fc.record({ indexedBatches: fc.nat(3) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

test('every list has the rows, order and total of a naive list, however many records are indexed', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    const run = new Run()
    try {
      for (const each of steps) await run.take(each)
    } finally {
      run.end()
    }
  })
  await fc.assert(property, { numRuns: 50, interruptAfterTimeLimit: 6_000 })
})

class Run {
  readonly #folder = new Folder()
  readonly #records = new Records(this.#folder, template.database)
  /** Only this one indexes: `run` can't return the numbers of documents, which are too large. */
  readonly #connection = new Connection(new DatabaseSync(this.#folder.database))
  readonly #lists = new SqliteLists(async (query) => this.#connection.execute(compiledForSqlite(query)))

  async take(step: Step): Promise<void> {
    if ('insert' in step) for (const each of step.insert) this.#records.insert(step.table, step.account, each)
    else if ('cards' in step) for (const [name, each] of step.cards) this.#records.insertCard(step.account, name, each)
    else if ('move' in step) this.#records.move(step.move, step.shelf)
    else if ('delete' in step) this.#records.delete(step.delete)
    else if ('rename' in step) this.#records.rename(step.rename, step.to)
    else if ('indexedBatches' in step) this.#index(step.indexedBatches)
    else deepEqual(await listPage(this.#lists, step.list), this.#records.page(step.list))
  }

  #index(batches: number): void {
    for (let n = 0; n < batches; n++) indexSome(this.#connection.database, listables)
  }

  end(): void {
    this.#connection.database.close()
    this.#records.db.close()
    this.#folder.remove()
  }
}
