import { deepEqual } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { account, card, Folder, listables, listingOf, migrated, Records, text } from '../../../test/lists-model.ts'
import { listPage } from '../list.ts'
import { Connection, compiledForSqlite } from './connection.ts'
import { indexSome, SqliteLists } from './search.ts'

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
  await fc.assert(property, { numRuns: 50, interruptAfterTimeLimit: 6_000 })
})

class Run {
  readonly #folder = new Folder()
  readonly #records = new Records(this.#folder, template.database)
  readonly #connection = new Connection(new DatabaseSync(this.#folder.database))
  readonly #lists = new SqliteLists(async (query) => this.#connection.executeForValues(compiledForSqlite(query)))

  async take(step: Step): Promise<void> {
    if ('insert' in step) for (const each of step.insert) this.#records.insert(step.table, step.account, each)
    else if ('cards' in step) for (const [name, each] of step.cards) this.#records.insertCard(step.account, name, each)
    else if ('move' in step) this.#records.move(step.move, step.to.shelf_id)
    else if ('delete' in step) this.#records.delete(step.delete)
    else if ('rename' in step) this.#records.rename(step.rename, step.to)
    else if ('list' in step) deepEqual(await listPage(this.#lists, step.list), this.#records.page(step.list))
    else for (let n = 0; n < step.indexedBatches; n++) indexSome(this.#connection.database, listables)
  }

  end(): void {
    this.#connection.database.close()
    this.#records.db.close()
    this.#folder.remove()
  }
}
