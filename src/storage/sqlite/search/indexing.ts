/**
 * Brings the search index to the present of the database. Ids are never used twice and writers take turns, so that new
 * records are those above the last id that is indexed; deletions and changes are read from the log of changes.
 */
import type { DatabaseSync } from 'node:sqlite'
import { query, queryNumber } from '../prepared.ts'
import { type IndexedTables, lastOf, rowidOf, UnusableIndex } from './index-file.ts'

/** What one call of `advance` takes at most, of each kind. */
export const stepSize = 500
/** One record in this many is counted in the samples: by chance, since what was made by counting repeats itself. */
const sampledOneIn = 64
/** Pages of the file that one call of `tidy` writes at most, for each table. */
const mergedPages = 64

/** The table of the database that logs deletions and changes. */
export const changeLog = 'search_changes'

/** The last id of each table, and of the log of changes, that is indexed; and how many ids the database is ahead. */
export interface Position {
  readonly last: Readonly<Record<string, number>>
  readonly lag: number
}

/** Where the index is. Throws `UnusableIndex`. */
export function positionOf(db: DatabaseSync): Position {
  const rows = query(db, `select kind, last, ${lastOf('kind')} - last from main.positions`)
  const lags = rows.map(([, , lag]) => Number(lag))
  if (lags.length === 0) throw new UnusableIndex('The search index has no positions.')
  // The database was replaced by an older copy of itself.
  if (lags.some((lag) => lag < 0)) throw new UnusableIndex('The search index is ahead of its database.')
  return {
    last: Object.fromEntries(rows.map(([kind, last]) => [kind, Number(last)])),
    lag: lags.reduce((sum, lag) => sum + lag),
  }
}

/** Takes the index forward by one step, in the transaction that is open, and returns where it is then. */
export function advance(db: DatabaseSync, tables: IndexedTables): Position {
  const { last, lag } = positionOf(db)
  if (lag === 0) return { last, lag }
  const [after, upTo] = changesAfter(db, last[changeLog] as number)
  setLast(db, changeLog, upTo)
  for (const [table, { searched }] of Object.entries(tables)) {
    const words = `words_of(${Object.values(searched).join(', ')})`
    const indexed = last[table] as number
    indexAgain(db, { table, words, after, upTo, indexed })
    setLast(db, table, addNewRecords(db, { table, words, indexed }))
  }
  return positionOf(db)
}

function setLast(db: DatabaseSync, kind: string, last: number): void {
  query(db, 'update main.positions set last = ? where kind = ?', last, kind)
}

/** The changes of one step: those after the first number, up to the second. */
function changesAfter(db: DatabaseSync, after: number): [number, number] {
  const taken = `select seq from ${changeLog} where seq > ? order by seq limit ${stepSize}`
  const step = `select count(*), coalesce(max(seq), ${lastOf(`'${changeLog}'`)}) from (${taken})`
  const [count, upTo] = (query(db, step, after)[0] ?? []).map(Number) as [number, number]
  // Only an index that others replaced in the meantime can miss changes that were forgotten.
  if (upTo - after !== count) throw new UnusableIndex('Changes were forgotten that are not in the search index.')
  return [after, upTo]
}

interface Indexed {
  readonly table: string
  /** SQL for the words of a record. */
  readonly words: string
  /** The last id that is indexed. */
  readonly indexed: number
}

/** Indexes again what changed among the records that are indexed. */
function indexAgain(db: DatabaseSync, { words, ...range }: Indexed & { after: number; upTo: number }): void {
  const { table } = range
  const changed = `from ${changeLog} where seq > :after and seq <= :upTo and resource = :table and record_id <= :indexed`
  const rowids = `select ${rowidOf('account_id', 'record_id')} ${changed}`
  query(db, `delete from ${table}_search where rowid in (${rowids})`, range)
  query(db, `${insertion(table, words)} where id in (select record_id ${changed}) order by account_id, id`, range)
}

/** Returns the last id that is indexed then. In the samples, what is deleted later stays: they are an estimate. */
function addNewRecords(db: DatabaseSync, { table, words, indexed }: Indexed): number {
  const taken = `select id from data.${table} where id > ? order by id limit ${stepSize}`
  const [count, last] = query(db, `select count(*), max(id) from (${taken})`, indexed)[0] ?? []
  const end = count === stepSize ? Number(last) : queryNumber(db, `select ${lastOf(`'${table}'`)}`)
  // FTS5 writes a segment of its own whenever a rowid is lower than the one before: hence by account.
  query(db, `${insertion(table, words)} where id > ? and id <= ? order by account_id, id`, indexed, end)
  const sampled = `select ${words} from data.${table} where id > ? and id <= ? and random() % ${sampledOneIn} = 0`
  const counting = `insert into ${table}_samples values (?, 1) on conflict do update set records = records + 1`
  for (const [lines] of query(db, sampled, indexed, end)) {
    for (const word of new Set(String(lines).split('\n'))) query(db, counting, word)
  }
  return end
}

function insertion(table: string, words: string): string {
  return `insert into ${table}_search (rowid, words) select ${rowidOf('account_id', 'id')}, ${words} from data.${table}`
}

/**
 * Merges some of what many small steps leave, which each search has to read. Returns whether there may be more to
 * merge.
 */
export function tidy(db: DatabaseSync, tables: IndexedTables): boolean {
  const names = Object.keys(tables)
  const before = queryNumber(db, 'select total_changes()')
  for (const table of names) {
    query(db, `insert into ${table}_search (${table}_search, rank) values ('merge', ${mergedPages})`)
  }
  // The statements count as a change each, even when nothing was merged.
  return queryNumber(db, 'select total_changes()') - before > names.length
}
