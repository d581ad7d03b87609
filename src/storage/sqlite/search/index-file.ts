/**
 * The file of the search index: derived data in a database of its own, so that indexing never delays a writer.
 */
import { chmodSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { resultCode, resultCodes } from '../errors.ts'
import { gramText } from './grams.ts'

/** The tables that are searched, with SQL for a record's searched text: the same as `Listable.searchText`. */
export const indexedTexts = { domains: 'coalesce(search_text, name)', spaces: 'name_folded' } as const

export type IndexedTable = keyof typeof indexedTexts
export const indexedTables = Object.keys(indexedTexts) as IndexedTable[]

/**
 * An account's records are neighbours in the index: a rowid holds the account above this many bits, and the record's id
 * below. (In SQL only: past 8 191 accounts a rowid is no exact JavaScript number.)
 */
const idBits = 40
export const highestId = String(2 ** idBits - 1)

/** SQL for the rowid of a record in the index. */
export const rowidOf = (account: string, id: string): string => `((${account} << ${idBits}) | ${id})`
/** SQL for the id of the record of a rowid. */
export const idOf = (rowid: string): string => `(${rowid} & ${highestId})`

/** Raise the number when the same texts are to be indexed differently, or the index is to be kept differently. */
const version = JSON.stringify([3, indexedTexts])

const lockTimeoutMs = 1_000

/** Other processes that have the file open keep their copy of it. */
export function removeSearchFile(databasePath: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${searchPath(databasePath)}${suffix}`, { force: true })
}

/** The index is not one of this database, of this version and of the present or the past. */
export class UnusableIndex extends Error {}

/**
 * Whether an error says that the index must be made anew. It may be wrong: SQLite does not say which of the two files is
 * damaged.
 */
export function isUnusable(error: unknown): boolean {
  const code = resultCode(error)
  return error instanceof UnusableIndex || code === resultCodes.corrupt || code === resultCodes.notADatabase
}

function searchPath(databasePath: string): string {
  return `${databasePath}-search`
}

/**
 * Opens the index of a database, made where it is missing. The database itself is attached for reading, and its tables
 * go by their own names. Throws when either file cannot be used.
 */
export function openSearchFile(databasePath: string): DatabaseSync {
  const path = searchPath(databasePath)
  const { mode } = statSync(databasePath)
  const db = new DatabaseSync(path, { timeout: lockTimeoutMs })
  try {
    // A power cut may take the last changes of the index, never its consistency: they are found again in the database,
    // which is told to forget nothing that is not durable here.
    db.exec('pragma journal_mode = wal; pragma synchronous = normal')
    chmodSync(path, mode & 0o666)
    db.prepare('attach ? as data').run(`${pathToFileURL(databasePath).href}?mode=ro`)
    db.function('grams', { deterministic: true }, (text) => gramText(String(text)))
    db.exec('begin immediate')
    if (!hasState(db)) makeTables(db)
    if (!isOurs(db)) throw new UnusableIndex('The search index belongs to another database or version.')
    db.exec('commit')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function hasState(db: DatabaseSync): boolean {
  return db.prepare(`select 1 from main.sqlite_schema where name = 'state'`).get() !== undefined
}

function isOurs(db: DatabaseSync): boolean {
  const ours = 'select 1 from main.state join data.instance using (database_id) where version = ?'
  return db.prepare(ours).get(version) !== undefined
}

/** `state`: the highest record ids and the last search change that the index holds, in one row. */
function makeTables(db: DatabaseSync): void {
  for (const table of indexedTables) {
    db.exec(`create virtual table ${table}_search using fts5 (
      grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii', prefix = '1 2 3 4')`)
    // Two segments are enough to be merged while there is nothing else to do.
    db.exec(`insert into ${table}_search (${table}_search, rank) values ('usermerge', 2)`)
    // A segment is written anew once so many percent of it are deleted; at SQLite's 10 that takes most of a deletion.
    db.exec(`insert into ${table}_search (${table}_search, rank) values ('deletemerge', 40)`)
  }
  db.exec(`create table main.state (
    version text not null, database_id text not null,
    domains integer not null, spaces integer not null, changes integer not null) strict`)
  // What was deleted or renamed before is not in an empty index.
  db.prepare(`insert into main.state select ?, database_id, 0, 0, ${lastOf('search_changes')} from data.instance`).run(
    version,
  )
}

/** SQL for the highest id that a table ever had. */
export function lastOf(table: string): string {
  return `coalesce((select seq from data.sqlite_sequence where name = '${table}'), 0)`
}
