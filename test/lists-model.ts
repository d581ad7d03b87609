/** Random lists, a database with records, and the expected pages, computed by a naive list. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { foldCase } from '../src/lib/text.ts'
import { foldUrl, urlTerm } from '../src/lib/url-search.ts'
import { resources } from '../src/resources.ts'
import { createSearchIndex, createSearchTerms } from '../src/storage/migrations/all.ts'
import { countedMatches, type Listable, type Listing, type Page, type ValueRange } from '../src/storage/port.ts'
import { openSqlite } from '../src/storage/sqlite/open.ts'

export interface Row {
  readonly id: number
  readonly name: string
  readonly created_at: string
}

const columns = ['id', 'name', 'created_at'] as const

/** Two tables of the product, and `cards`, which uses every property of a list. */
export const listables = {
  domains: { table: 'domains', columns, ...resources.domains },
  spaces: { table: 'spaces', columns, ...resources.spaces },
  cards: {
    table: 'cards',
    columns,
    sorts: {
      name: 'name_folded',
      weight: 'weight',
      plays: { table: 'card_plays', column: 'plays', key: 'card_id' },
    },
    searched: { name: 'name_folded', note: 'note_folded' },
    searchedUrls: ['note'],
    filters: ['shelf_id', 'is_kept'],
    unindexedFilters: ['weight'],
    ranges: {
      weight: { column: 'weight', isIndexed: true },
      kept: { column: 'weight', where: 'is_kept = 1', isIndexed: true },
      plays: { column: { table: 'card_plays', column: 'plays', key: 'card_id' }, isIndexed: true },
      shelf: { column: 'shelf_id', isIndexed: false },
    },
    archived: { column: 'is_kept', count: 'kept_cards' },
  },
} as const satisfies Record<string, Listable<Row>>

export type Table = keyof typeof listables

/** The columns that only cards have. */
export interface Card {
  readonly note: string | null
  readonly shelf_id: number | null
  readonly is_kept: number
  readonly weight: number
  /** In a side table. */
  readonly plays: number
}

/** Pieces of names: cases, combining characters, wildcards, and characters beyond the basic plane. */
const pieces = [
  ...['a', 'b', 'ab', 'Shop', 'É', 'e\u0301', 'ß', '😀', '%', '_', '\\', '"', '*', "'", ' ', '.', '-', 'ΟΔΟΣ', 'Эю'],
  ...['\u0308', '\ue02e', '\u{10fffd}', 'xn--', '%C3%89', 'xn--bcher-kva.', 'bücher.'],
]
export const text = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 }).map((parts) => parts.join('')),
  // Equal names, and names that are parts of others.
  fc.constantFrom('Shop', 'shop', 'Shops', 'a"b*', '😀😀😀'),
)
export const card: fc.Arbitrary<Card> = fc.record({
  note: fc.option(text),
  shelf_id: fc.constantFrom(null, 1, 2),
  is_kept: fc.constantFrom(0, 1),
  weight: fc.nat(3),
  plays: fc.nat(3),
})
export const account = fc.constantFrom(1, 2, 9_000)

/** Listings of one table: a page in any order, or a page by id after some record. */
export function listingOf(table: Table): fc.Arbitrary<Listing<Row>> {
  const of = listables[table]
  const range = fc.oneof(
    fc.record({
      sortBy: fc.constantFrom('id', ...Object.keys(of.sorts)),
      offset: fc.oneof(fc.constant(0), fc.nat(40), fc.constantFrom(1_200, 11_900, 20_000)),
      after: fc.constant(null),
    }),
    fc.record({
      sortBy: fc.constant('id'),
      offset: fc.constant(0),
      after: fc.option(fc.oneof(fc.nat(60), fc.nat(13_000), fc.constant(Number.MAX_SAFE_INTEGER))),
    }),
  )
  const filter = fc.record(
    { shelf_id: card.map((each) => each.shelf_id), is_kept: fc.nat(1), weight: fc.nat(3) },
    { requiredKeys: [] },
  )
  const bounds = { from: fc.nat(4), before: fc.nat(4) }
  const bounded = fc.oneof(
    ...[['from'], ['before'], ['from', 'before']].map((requiredKeys) =>
      fc.record(bounds, { requiredKeys: requiredKeys as ('from' | 'before')[] }),
    ),
  )
  const names = Object.keys(listables.cards.ranges)
  const ranges = fc.record(Object.fromEntries(names.map((name) => [name, bounded])), { requiredKeys: [] })
  const criteria = fc.record({
    of: fc.constantFrom<Listable<Row>[]>(of, of, { ...of, isUncounted: true }),
    account,
    search: fc.array(fc.oneof(text, fc.constantFrom('card', 'card 99', 'ote 1', 'none')).map(foldCase), {
      maxLength: 3,
    }),
    searchIn: fc.subarray(Object.keys(of.searched), { minLength: 1 }),
    filter: table === 'cards' ? filter : fc.constant({}),
    ranges: table === 'cards' ? fc.oneof(fc.constant({}), ranges) : fc.constant({}),
    upTo: fc.option(fc.oneof(fc.nat(60), fc.nat(13_000)), { freq: 1 }),
    direction: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 100 }),
  })
  return fc.tuple(range, criteria).map(([one, other]) => ({ ...one, ...other }))
}

const cards = `
  create table cards (
    id integer primary key autoincrement, account_id integer not null, name text not null, name_folded text not null,
    note_folded text, shelf_id integer, is_kept integer not null, weight integer not null, created_at text not null
  ) strict;
  create index cards_by_account on cards (account_id, id);
  create index cards_by_name on cards (account_id, name_folded, id, is_kept);
  create index cards_by_weight on cards (account_id, weight, id, is_kept);
  create index cards_by_shelf_id on cards (account_id, shelf_id, id);
  create index cards_by_is_kept on cards (account_id, is_kept, id);
  create index cards_by_kept on cards (account_id, weight, id) where is_kept = 1;
  create table card_plays (
    card_id integer primary key, account_id integer not null, shelf_id integer, plays integer not null
  ) strict;
  create index card_plays_by_plays on card_plays (account_id, plays, card_id);
  create trigger cards_stored after insert on cards begin
    insert into record_counts values (new.account_id, 'cards', 1) on conflict do update set total = total + 1;
  end;
  create trigger kept_card_stored after insert on cards when new.is_kept = 1 begin
    insert into record_counts values (new.account_id, 'kept_cards', 1) on conflict do update set total = total + 1;
  end;
  create trigger kept_card_deleted after delete on cards when old.is_kept = 1 begin
    update record_counts set total = total - 1 where account_id = old.account_id and resource = 'kept_cards';
  end;
  create trigger cards_deleted after delete on cards begin
    delete from card_plays where card_id = old.id;
    update record_counts set total = total - 1 where account_id = old.account_id and resource = 'cards';
  end;
  ${createSearchIndex('cards', ['name', 'note'], ['name_folded', 'note_folded']).join(';\n')};
  ${createSearchTerms('cards')}`

interface Known extends Row {
  readonly table: Table
  readonly account: number
  /** By sort. The bytes of a text are in the order of its code points. */
  readonly sortKeys: Readonly<Record<string, Buffer | number>>
  readonly searched: Readonly<Record<string, string | null>>
  readonly filters: Readonly<Record<string, number | null>>
}

/** A temporary folder. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'waymark-lists-'))
  readonly database = join(this.path, 'data.db')

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Creates an empty database in the folder, with a table for cards. */
export async function migrated(folder: Folder): Promise<Folder> {
  await (await openSqlite(folder.database)).close()
  const db = new DatabaseSync(folder.database, { timeout: 300_000 })
  db.exec(cards)
  db.close()
  return folder
}

/** Damages the pages of a closed database file that contain `text`. */
export function damage(path: string, text: string): void {
  const bytes = readFileSync(path)
  const pageSize = bytes.readUInt16BE(16)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at)) {
    bytes.fill(0xff, at - (at % pageSize), at - (at % pageSize) + pageSize)
  }
  writeFileSync(path, bytes)
}

/** A database and its records. */
export class Records {
  readonly db: DatabaseSync
  readonly all: Known[] = []
  #lastId = { domains: 0, spaces: 0, cards: 0 }

  /** `template` is a database file without records, which is copied. */
  constructor(folder: Folder, template?: string) {
    if (template !== undefined) copyFileSync(template, folder.database)
    this.db = new DatabaseSync(folder.database, { enableForeignKeyConstraints: false, timeout: 300_000 })
    this.db.exec('pragma journal_mode = wal; pragma synchronous = off')
  }

  /** Stores a domain with this Unicode form, or a space with this name. */
  insert(table: Exclude<Table, 'cards'>, account: number, text: string): void {
    const folded = foldCase(text)
    if (table === 'spaces') {
      const { id, created_at } = this.#add('spaces', account, text, folded)
      this.db.prepare(`insert into spaces values (?, ?, ?, ?, 1, ?, '', 1)`).run(id, account, text, folded, created_at)
      return
    }
    const points = [...folded].map((point) => point.codePointAt(0)?.toString(36)).join('')
    const name = `xn--${points}-${this.#lastId.domains + 1}.example`
    this.#insertDomain(account, name, text, `${name}\n${folded}`)
  }

  /** Stores a domain whose Unicode form is its name. */
  insertAscii(account: number, name: string): void {
    this.#insertDomain(account, name, name, null)
  }

  insertCard(account: number, name: string, { note, shelf_id, is_kept, weight, plays }: Card): void {
    const folded = foldCase(name)
    const note_folded = note === null ? null : foldUrl(note)
    const { id, created_at } = this.#add('cards', account, name, folded, {
      sortKeys: { name: Buffer.from(folded), weight, plays },
      searched: { name: folded, note: note_folded },
      filters: { shelf_id, is_kept, weight },
    })
    this.db
      .prepare('insert into cards values (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(id, account, name, folded, note_folded, shelf_id, is_kept, weight, created_at)
    this.db.prepare('insert into card_plays values (?, ?, null, ?)').run(id, account, plays)
  }

  #insertDomain(account: number, name: string, unicode: string, search_text: string | null): void {
    const { id, created_at } = this.#add('domains', account, name, name, { searched: { name: search_text ?? name } })
    this.db
      .prepare(`insert into domains values (?, ?, ?, ?, ?, null, null, ?, '', 1, null, null)`)
      .run(id, account, name, unicode, search_text, created_at)
  }

  #add(table: Table, account: number, name: string, folded: string, own: Partial<Known> = {}): Known {
    const id = ++this.#lastId[table]
    const [sortKeys, searched] = [{ name: Buffer.from(folded) }, { name: folded }]
    const record = { table, account, id, name, created_at: `at ${id}`, sortKeys, searched, filters: {}, ...own }
    this.all.push(record)
    return record
  }

  /** Deletes the record at a place, modulo the number of records. */
  delete(place: number): void {
    const [record] = this.all.splice(place % Math.max(1, this.all.length), 1)
    if (record !== undefined) this.db.exec(`delete from ${record.table} where id = ${record.id}`)
  }

  /** Renames the space or card at a place. */
  rename(place: number, name: string): void {
    const renamable = this.all.filter(({ table }) => table !== 'domains')
    const record = renamable[place % Math.max(1, renamable.length)]
    if (record === undefined) return
    const folded = foldCase(name)
    const sortKeys = { ...record.sortKeys, name: Buffer.from(folded) }
    const searched = { ...record.searched, name: folded }
    this.all[this.all.indexOf(record)] = { ...record, name, sortKeys, searched }
    this.db.prepare(`update ${record.table} set name = ?, name_folded = ? where id = ?`).run(name, folded, record.id)
  }

  /** Moves the card at a place to another shelf. */
  move(place: number, shelf_id: number | null): void {
    const all = this.all.filter(({ table }) => table === 'cards')
    const record = all[place % Math.max(1, all.length)]
    if (record === undefined) return
    this.all[this.all.indexOf(record)] = { ...record, filters: { ...record.filters, shelf_id } }
    this.db.prepare('update cards set shelf_id = ? where id = ?').run(shelf_id, record.id)
  }

  /** Returns the expected page. */
  page(listing: Listing<Row>): Page<Row> {
    const { of, account, search, searchIn, filter, ranges = {}, sortBy, direction, limit, offset, after } = listing
    const { upTo = null } = listing
    const matches = this.all.filter(
      (record) =>
        record.table === of.table &&
        record.account === account &&
        (upTo === null || record.id <= upTo) &&
        Object.entries(filter).every(([column, value]) => record.filters[column] === value) &&
        Object.entries(ranges).every(([name, range]) => isInRange(record, name, range)) &&
        search.every((term) =>
          searchIn.some((name) => contains(record.searched[name], name === 'note' ? urlTerm(term) : term)),
        ),
    )
    const sign = direction === 'asc' ? 1 : -1
    matches.sort((a, b) => sign * (compare(a.sortKeys[sortBy], b.sortKeys[sortBy]) || a.id - b.id))
    const rows = matches
      .filter(({ id }) => after === null || sign * (id - after) > 0)
      .slice(offset, offset + limit)
      .map(({ id, name, created_at }) => ({ id, name, created_at }))
    const filters = Object.entries(filter).filter(([column, value]) => column !== 'is_kept' || value !== 0)
    const isPlain = search.length + filters.length + Object.keys(ranges).length === 0
    const isTotalStored = isPlain && of.isUncounted !== true && upTo === null
    const totalIsExact = isTotalStored || matches.length <= countedMatches
    return { rows, total: totalIsExact ? matches.length : countedMatches, totalIsExact }
  }
}

function contains(text: string | null | undefined, term: string): boolean {
  return text?.includes(term) === true
}

function isInRange({ sortKeys, filters }: Known, name: string, { from = 0, before = 1_000 }: ValueRange): boolean {
  if (name === 'kept' && filters.is_kept !== 1) return false
  const value = name === 'shelf' ? filters.shelf_id : Number(sortKeys[name === 'plays' ? 'plays' : 'weight'])
  return typeof value === 'number' && value >= Number(from) && value < Number(before)
}

function compare(a?: Buffer | number, b?: Buffer | number): number {
  return a instanceof Buffer && b instanceof Buffer ? Buffer.compare(a, b) : Number(a ?? 0) - Number(b ?? 0)
}
