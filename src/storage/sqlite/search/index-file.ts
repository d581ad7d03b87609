/**
 * The file of the search index: derived data in a database of its own, so that indexing never delays a writer.
 */
import { chmodSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { resources } from '../../../resources.ts'
import type { Listable } from '../../port.ts'
import { reasonOf } from '../errors.ts'
import { removeBeside } from '../opened-file.ts'
import { idBits, maxId } from '../ordering.ts'
import { tableOptions, wordsOf } from './words.ts'

/** The tables whose records are indexed, by their names. */
export type IndexedTables = Readonly<Record<string, Pick<Listable<unknown>, 'searched'>>>

/** Raise the number when the same texts are to be indexed differently, or the index is to be kept differently. */
const version = 4
const lockTimeoutMs = 1_000

/**
 * SQL for the rowid of a record in the index, where an account's records are neighbours: the account is above the bits
 * of the id. (In SQL only: past 8 191 accounts a rowid is no exact JavaScript number.)
 */
export const rowidOf = (account: string, id: string): string => `((${account} << ${idBits}) | ${id})`
/** SQL for the id of the record of a rowid. */
export const idOf = (rowid: string): string => `(${rowid} & ${maxId})`

/** The index is not one of this database, of this version and of the present or the past. */
export class UnusableIndex extends Error {}

/**
 * Whether an error says that the index must be rebuilt. It may be wrong: SQLite does not say which of the two files is
 * damaged.
 */
export function isUnusable(error: unknown): boolean {
  return error instanceof UnusableIndex || reasonOf(error) === 'database_corrupt'
}

/** Other processes that have the file open keep their copy of it. */
export function removeSearchFile(databasePath: string): void {
  const path = searchPath(databasePath)
  rmSync(path, { force: true })
  removeBeside(path)
}

function searchPath(databasePath: string): string {
  return `${databasePath}-search`
}

/**
 * Opens the index of a database, and makes it where it is missing. The database itself is attached for reading, and its
 * tables go by their own names. Throws when either file cannot be used.
 */
export function openSearchFile(databasePath: string, tables: IndexedTables = resources): DatabaseSync {
  const path = searchPath(databasePath)
  const { mode } = statSync(databasePath)
  const db = new DatabaseSync(path, { timeout: lockTimeoutMs })
  try {
    // A power cut may take the last changes of the index, never its consistency: they are found again in the database,
    // which is told to forget nothing that is not durable here.
    db.exec('pragma journal_mode = wal; pragma synchronous = normal')
    chmodSync(path, mode & 0o666)
    db.prepare('attach ? as data').run(`${pathToFileURL(databasePath).href}?mode=ro`)
    db.function('words_of', { deterministic: true, varargs: true }, (...texts) => wordsOf(texts))
    db.exec('begin immediate')
    const fullVersion = JSON.stringify([
      version,
      Object.entries(tables).map(([table, { searched }]) => [table, searched]),
    ])
    if (!has(db, `from main.sqlite_schema where name = 'state'`)) makeTables(db, tables, fullVersion)
    if (!has(db, 'from main.state join data.instance using (database_id) where version = ?', fullVersion)) {
      throw new UnusableIndex('The search index belongs to another database or version.')
    }
    db.exec('commit')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function has(db: DatabaseSync, rows: string, ...values: string[]): boolean {
  return db.prepare(`select 1 ${rows}`).get(...values) !== undefined
}

/** `positions`: for each table, and for the log of changes, the last id that the index holds. */
function makeTables(db: DatabaseSync, tables: IndexedTables, fullVersion: string): void {
  db.exec('create table main.state (version text not null, database_id text not null) strict')
  db.prepare('insert into main.state select ?, database_id from data.instance').run(fullVersion)
  db.exec('create table main.positions (kind text primary key, last integer not null) without rowid, strict')
  for (const table of Object.keys(tables)) {
    db.exec(`create virtual table ${table}_search using fts5 (words, content = '', contentless_delete = 1, ${tableOptions});
      create table ${table}_samples (word text primary key, records integer not null) without rowid, strict`)
    // Two segments are enough to be merged while there is nothing else to do.
    db.exec(`insert into ${table}_search (${table}_search, rank) values ('usermerge', 2)`)
    // Rewrite a segment once 40 % of it is deleted: at SQLite's 10 % that takes most of the time of a deletion.
    db.exec(`insert into ${table}_search (${table}_search, rank) values ('deletemerge', 40)`)
    db.prepare('insert into main.positions values (?, 0)').run(table)
  }
  // An empty index holds nothing that was deleted or changed before.
  db.exec(`insert into main.positions select 'search_changes', ${lastOf(`'search_changes'`)}`)
}

/** SQL for the highest id that a table ever had; `table` is SQL too. */
export function lastOf(table: string): string {
  return `coalesce((select seq from data.sqlite_sequence where name = ${table}), 0)`
}
