/** Lists of thousands of records, from every direction, with the index of texts and without it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { firstPage } from '../../../test/first-page.ts'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { eventually } from '../../../test/processes.ts'
import { createAccount } from '../../accounts/store.ts'
import { foldCase } from '../../lib/fold-case.ts'
import type { Space } from '../../spaces/schema.ts'
import { insertSpace, listSpaces } from '../../spaces/store.ts'
import { countedMatches, type Listing, type Storage } from '../port.ts'
import { openPostgres } from './open.ts'

const database = await newDatabase()
const storage: Storage = await openPostgres(database.url, 4)
const account = (await createAccount(storage, 'Acme')).id
const other = (await createAccount(storage, 'Other')).id
let spaces: Space[] = []

const words = ['Shop', 'shop', 'ÉTÉ', 'a%b', 'a_b', 'back\\slash', '日本', 'Z', '💩']

before(async () => {
  for (let from = 0; from < 12_000; from += 1_000) {
    const stored = await storage.write(async (tx) => {
      const group: Space[] = []
      for (let n = from; n < from + 1_000; n++)
        group.push((await insertSpace(tx, account, { name: nameOf(n), color: 1 })).record)
      return group
    })
    spaces.push(...stored)
    await insertSpace(storage, other, { name: 'Shop of another', color: 1 })
  }
  const gone = spaces.filter(({ id }) => id % 7 === 0)
  await execute(database.url, `delete from spaces where id % 7 = 0 and account_id = ${account}`)
  spaces = spaces.filter((space) => !gone.includes(space))
})

after(async () => {
  await storage.close()
  await database.drop()
})

function nameOf(n: number): string {
  return `${words[n % words.length]} · ${n % 3 === 0 ? n : ''}`.trim()
}

function expected({ search, sortBy, direction, limit, offset }: Omit<Listing<Space>, 'of' | 'account'>) {
  const matches = spaces.filter(({ name }) => search === null || foldCase(name).includes(foldCase(search)))
  const keyOf = new Map(matches.map((space) => [space, Buffer.from(foldCase(space.name))]))
  const byName = (a: Space, b: Space) => Buffer.compare(keyOf.get(a) as Buffer, keyOf.get(b) as Buffer)
  const sign = direction === 'asc' ? 1 : -1
  matches.sort((a, b) => sign * ((sortBy === 'name' ? byName(a, b) : 0) || a.id - b.id))
  const totalIsExact = search === null || matches.length <= countedMatches
  const total = totalIsExact ? matches.length : countedMatches
  return { rows: matches.slice(offset, offset + limit), total, totalIsExact }
}

const listing = fc.record({
  search: fc.option(
    fc.constantFrom(
      'shop',
      'shop · 99',
      'BACK\\SLASH · ',
      'a%b · 1',
      'SHOP',
      'été',
      '%',
      '_',
      '\\',
      '日',
      '日本',
      '💩',
      '9',
      '99',
      '999',
      ' ',
      '·',
      ' · 1',
      'none',
      'p 1',
    ),
  ),
  sortBy: fc.constantFrom('id' as const, 'name' as const),
  direction: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.constantFrom(10, 25, 50, 100),
  offset: fc.oneof(fc.constantFrom(0, 10, 1_000, 1_010, 5_140, 10_200, 10_270, 10_280, 50_000), fc.nat(10_300)),
})

async function holds(): Promise<void> {
  await fc.assert(
    fc.asyncProperty(listing, async (each) => {
      const asked = { ...firstPage, ...each }
      assert.deepEqual(await listSpaces(storage, account, asked), expected(asked))
    }),
    { numRuns: 100 },
  )
}

const indexes = () =>
  execute(
    database.url,
    `select relname from pg_class join pg_index on indexrelid = oid where relname like '%by_text' and indisvalid order by 1`,
  )
const all = ['domains_by_text', 'links_by_text', 'spaces_by_text'].map((relname) => ({ relname }))

test('every page has the rows, the order and the total that a naive list has', async () => {
  assert.deepEqual(await indexes(), all)
  await holds()
})

test('the same without pg_trgm, whose indexes the next start makes once the extension is back', async () => {
  await execute(database.url, 'drop extension pg_trgm cascade')
  assert.deepEqual(await indexes(), [])
  await holds()
  storage.start((error) => assert.fail(String(error)))
  await execute(database.url, 'create extension pg_trgm')
  const again = await openPostgres(database.url, 1)
  again.start((error) => assert.fail(String(error)))
  await eventually(async () => (await indexes()).length === all.length)
  await again.close()
  await holds()
})

test('an index whose making was interrupted is made again', async () => {
  await execute(database.url, `update pg_index set indisvalid = false where indexrelid = 'spaces_by_text'::regclass`)
  assert.equal((await indexes()).length, all.length - 1)
  storage.start((error) => assert.fail(String(error)))
  await eventually(async () => (await indexes()).length === all.length)
})

test('a failure to make an index is reported, and harms no request', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  await execute(database.url, 'drop index domains_by_text; alter table domains rename to elsewhere')
  storage.start(resolve)
  assert.match(String(await promise), /relation "domains" does not exist/)
  await execute(database.url, 'alter table elsewhere rename to domains')
})
