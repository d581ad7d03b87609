import { deepEqual, equal } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { firstPage } from '../../../../test/first-page.ts'
import { Folder, listables, migrated, Records, type Row } from '../../../../test/lists-model.ts'
import type { Listing, Page } from '../../port.ts'
import { toPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import { openSearchFile } from './index-file.ts'
import { advance, positionOf } from './indexing.ts'
import { scannedPage } from './scan-reader.ts'
import { Searches } from './searched-page.ts'

const count = 30_500
/**
 * Names with "late" are the last 10 001 in order, those with "many" are 10 000, and "comb.example" is in all. Each has
 * the words of "e-com" but not the whole of it.
 */
const nameOf = (n: number): string =>
  `${n < 10_001 ? 'zz-late' : 'link'}-${n >= count - 10_000 ? 'many-' : ''}${(n * 7_919) % count}.comb.example-ce-co`

const folder = new Folder()
let records: Records
let db: ReturnType<typeof openSearchFile>
const searches = new Searches()

before(async () => {
  await migrated(folder)
  records = new Records(folder)
  records.db.exec('begin')
  for (let n = 0; n < count; n++) records.insertAscii(1, nameOf(n))
  records.insertAscii(2, 'other.comb.example')
  records.db.exec('commit')
  db = openSearchFile(folder.database, listables)
  catchUp()
})

after(() => {
  db.close()
  records.db.close()
  folder.remove()
})

function catchUp(): void {
  while (transact(db, 'immediate', () => advance(db, listables).lag) > 0);
}

function search(listing: Listing<Row>): Page<Row> | null {
  const page = transact(db, 'deferred', () => searches.page(db, listing, positionOf(db)))
  return page === null ? null : toPage(listing.of, page)
}

function scan(listing: Listing<Row>): Page<Row> {
  return toPage(listing.of, scannedPage(db, listing))
}

const base = { ...firstPage, of: listables.domains, account: 1 }

const term = fc.oneof(
  fc.constantFrom(
    'late',
    'many',
    'comb.example',
    'link',
    'zz-late-1',
    'link-many-1',
    'omb',
    'b.ex',
    'e-comb',
    'e-com',
    'none',
  ),
  fc.tuple(fc.nat(count), fc.nat(30), fc.integer({ min: 1, max: 45 })).map(([n, from, length]) => {
    const at = Math.min(from, nameOf(n).length - 1)
    return nameOf(n).slice(at, at + length)
  }),
)

const listing: fc.Arbitrary<Listing<Row>> = fc.record({
  searchIn: fc.constant(['name']),
  filter: fc.constant({}),
  after: fc.constant(null),
  of: fc.constant(listables.domains),
  account: fc.constant(1),
  search: term,
  sortBy: fc.constantFrom('id', 'name'),
  direction: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 100 }),
  offset: fc.oneof(fc.constant(0), fc.nat(300), fc.nat(12_000), fc.constantFrom(9_999, 10_000, 10_001)),
})

test('a search among many records answers like a naive one, or leaves a long walk to the scan', () => {
  fc.assert(
    fc.property(listing, (each) => {
      const expected = records.page(each)
      deepEqual(search(each) ?? expected, expected)
      deepEqual(scan(each), expected)
    }),
    { numRuns: 40, interruptAfterTimeLimit: 1_500 },
  )
})

test('a search finishes by itself unless its page is deep or late in the order', () => {
  for (const searched of ['many', 'comb.example', '-1234.', '-123', 'link-many-1', 'none'] as const) {
    for (const sortBy of ['id', 'name'] as const) {
      const each = { ...base, search: searched, sortBy, offset: 20 }
      // Once to count, once with what was counted.
      for (let n = 0; n < 2; n++) deepEqual(search(each), records.page(each), `${searched} by ${sortBy}`)
    }
  }
  equal(search({ ...base, search: 'late', sortBy: 'name' }), null)
  equal(search({ ...base, search: 'comb.example', offset: 20_001 }), null)
  equal(search({ ...base, search: 'e-com' }), null)
})

test('a list goes on after an id, through few matches and through more than are counted', () => {
  for (const searched of ['late', 'many', 'comb', '-123', 'none'] as const) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const after of [1, 9_995, 20_499, count - 5, count + 5]) {
        const each = { ...base, search: searched, direction, after }
        for (let n = 0; n < 2; n++) {
          const expected = records.page(each)
          deepEqual(search(each) ?? expected, expected, JSON.stringify([searched, direction, after]))
        }
        deepEqual(scan(each), records.page(each))
      }
    }
  }
})

test('a filter is searched from its own side where that is shorter, and left to a scan where all sides are long', () => {
  records.db.exec('begin')
  for (let n = 0; n < 12_000; n++) {
    records.insertCard(1, `card ${n} of many`, {
      ...{ note: n % 3 === 0 ? `note ${n}` : null, weight: n % 7, plays: n % 5, is_kept: 1 },
      shelf_id: n % 1_000 === 0 ? 1 : null,
    })
  }
  records.db.exec('commit')
  catchUp()
  const cards = { ...base, of: listables.cards, searchIn: ['name', 'note'] }
  const { is_kept, shelf_id } = { is_kept: 1, shelf_id: 1 }
  for (const sortBy of ['id', 'name', 'weight', 'plays'] as const) {
    for (const each of [
      { ...cards, sortBy, search: 'many', filter: { is_kept, shelf_id } },
      { ...cards, sortBy, search: 'of', filter: { shelf_id } },
      { ...cards, sortBy, search: 'note 11', searchIn: ['note'], filter: { shelf_id: null } },
    ]) {
      deepEqual(search(each), records.page(each), JSON.stringify(each))
      deepEqual(scan(each), records.page(each), JSON.stringify(each))
    }
    const long = { ...cards, sortBy, search: 'many', filter: { is_kept, shelf_id: null } }
    equal(search(long), null)
    deepEqual(scan(long), records.page(long))
    for (const filter of [{ is_kept }, { shelf_id }, { is_kept, shelf_id: null }]) {
      const each = { ...cards, sortBy, search: null, filter, offset: 5 }
      deepEqual(scan(each), records.page(each), JSON.stringify(each))
    }
  }
})

test('ten thousand matches are counted, one more is not', () => {
  deepEqual(search({ ...base, search: 'many' }), {
    ...records.page({ ...base, search: 'many' }),
    total: 10_000,
    totalIsExact: true,
  })
  const more = search({ ...base, search: 'late' })
  deepEqual([more?.total, more?.totalIsExact], [10_000, false])
})

test('no term is found across the two forms of a name, and none that is longer than the text', () => {
  records.insert('domains', 3, 'élan-\ue02e.example')
  records.insert('spaces', 3, 'shop 日本')
  catchUp()
  const [domain = '', unicode = ''] = records.all.find(({ account }) => account === 3)?.searched.name?.split('\n') ?? []
  for (let length = 1; length < 12; length++) {
    for (const [searched, total] of [
      [domain.slice(-length), 1],
      [unicode.slice(0, length), 1],
      [`${domain.slice(-length)}${unicode.slice(0, length)}`, 0],
      [`${domain}${'x'.repeat(length)}`, 0],
    ] as const) {
      const each = { ...base, account: 3, search: searched }
      equal(search(each)?.total, total, searched)
      deepEqual(search(each), records.page(each))
    }
  }
  const longer = { ...base, of: listables.spaces, account: 3, search: 'shop 日本!' }
  deepEqual(search(longer), records.page(longer))
})

test('a plain page is right from either end', () => {
  for (const sortBy of ['id', 'name'] as const) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const offset of [0, 10_001, count / 2, count - 5, count]) {
        const each = { ...base, search: null, sortBy, direction, offset }
        deepEqual(scan(each), records.page(each), JSON.stringify(each))
      }
    }
  }
})

test('a remembered total follows insertions, deletions and renames', () => {
  const each = { ...base, search: '-777' }
  const many = { ...base, search: 'late' }
  for (let round = 0; round < 4; round++) {
    deepEqual(search(each), records.page(each))
    deepEqual(search(many), records.page(many))
    if (round % 2 === 0) for (let n = 0; n < 30; n++) records.insertAscii(1, `fresh-777-${round}-${n}.comb.example`)
    else records.delete(records.all.findIndex(({ name }) => name.includes('-777')))
    catchUp()
  }
})
