/**
 * For tests: a database with a few tables of records, and what its lists must answer, worked out naively.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { foldCase } from '../src/storage/fold.ts'
import { countedMatches, type Listable, type Listing, type Page } from '../src/storage/port.ts'
import { openSqlite } from '../src/storage/sqlite/open.ts'

export interface Row {
  readonly id: number
  readonly name: string
  readonly created_at: string
}

type Table = 'domains' | 'spaces'

export const listables: Record<Table, Listable<Row>> = {
  domains: {
    table: 'domains',
    columns: ['id', 'name', 'created_at'],
    sorts: { name: 'name' },
    searched: { name: 'coalesce(search_text, name)' },
    filters: [],
  },
  spaces: {
    table: 'spaces',
    columns: ['id', 'name', 'created_at'],
    sorts: { name: 'name_folded' },
    searched: { name: 'name_folded' },
    filters: [],
  },
}

interface Known extends Row {
  readonly table: Table
  readonly account: number
  /** Its bytes are in the order of its code points. */
  readonly sortKey: Buffer
  readonly searched: string
}

/** A folder of its own, removed by `remove`. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'waymark-lists-'))
  readonly database = join(this.path, 'data.db')

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Makes an empty database in the folder. */
export async function migrated(folder: Folder): Promise<Folder> {
  await (await openSqlite(folder.database)).close()
  return folder
}

/** Overwrites the pages of a database file that contain `text`, as a bad disk might. Nobody may have the file open. */
export function damage(path: string, text: string): void {
  const bytes = readFileSync(path)
  const pageSize = bytes.readUInt16BE(16)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at)) {
    bytes.fill(0xff, at - (at % pageSize), at - (at % pageSize) + pageSize)
  }
  writeFileSync(path, bytes)
}

/** A database and the records that were put into it. */
export class Records {
  readonly db: DatabaseSync
  readonly all: Known[] = []
  #lastId = { domains: 0, spaces: 0 }

  /** `template` is a database file to begin with, which has no records. */
  constructor(folder: Folder, template?: string) {
    if (template !== undefined) copyFileSync(template, folder.database)
    this.db = new DatabaseSync(folder.database, { enableForeignKeyConstraints: false })
    this.db.exec('pragma journal_mode = wal; pragma synchronous = off')
  }

  /** Stores a record; a domain's Unicode form is its name, a space's name is kept in its letter case. */
  insert(table: Table, account: number, text: string): void {
    const id = ++this.#lastId[table]
    const folded = foldCase(text)
    const created_at = `at ${id}`
    if (table === 'spaces') {
      this.all.push({ table, account, id, name: text, sortKey: Buffer.from(folded), searched: folded, created_at })
      this.db.prepare(`insert into spaces values (?, ?, ?, ?, 1, ?, '', 1)`).run(id, account, text, folded, created_at)
      return
    }
    const name = `xn--${[...folded].map((point) => point.codePointAt(0)?.toString(36)).join('')}-${id}.example`
    const searched = `${name}\n${folded}`
    this.all.push({ table, account, id, name, sortKey: Buffer.from(name), searched, created_at })
    this.db
      .prepare(`insert into domains values (?, ?, ?, ?, ?, null, null, ?, '', 1)`)
      .run(id, account, name, text, searched, created_at)
  }

  /** Stores a domain whose two forms are one. */
  insertAscii(account: number, name: string): void {
    const id = ++this.#lastId.domains
    const created_at = `at ${id}`
    this.all.push({ table: 'domains', account, id, name, sortKey: Buffer.from(name), searched: name, created_at })
    this.db
      .prepare(`insert into domains values (?, ?, ?, ?, null, null, null, ?, '', 1)`)
      .run(id, account, name, name, created_at)
  }

  /** Deletes the record at a place, counted around; nothing when there is none. */
  delete(place: number): void {
    const [record] = this.all.splice(place % Math.max(1, this.all.length), 1)
    if (record !== undefined) this.db.exec(`delete from ${record.table} where id = ${record.id}`)
  }

  /** Renames the space at a place, counted around; nothing when there is none. */
  rename(place: number, name: string): void {
    const spaces = this.all.filter(({ table }) => table === 'spaces')
    const record = spaces[place % Math.max(1, spaces.length)]
    if (record === undefined) return
    const folded = foldCase(name)
    this.all[this.all.indexOf(record)] = { ...record, name, sortKey: Buffer.from(folded), searched: folded }
    this.db.prepare('update spaces set name = ?, name_folded = ? where id = ?').run(name, folded, record.id)
  }

  /** What a listing must answer. */
  page(listing: Listing<Row>): Page<Row> {
    const { of, account, search, sortBy, direction, limit, offset } = listing
    const matches = this.all.filter(
      (record) =>
        record.table === of.table &&
        record.account === account &&
        (search === null || record.searched.includes(search)),
    )
    const sign = direction === 'asc' ? 1 : -1
    matches.sort((a, b) => sign * ((sortBy === 'name' ? Buffer.compare(a.sortKey, b.sortKey) : 0) || a.id - b.id))
    const rows = matches.slice(offset, offset + limit).map(({ id, name, created_at }) => ({ id, name, created_at }))
    const totalIsExact = search === null || matches.length <= countedMatches
    return { rows, total: totalIsExact ? matches.length : countedMatches, totalIsExact }
  }
}
