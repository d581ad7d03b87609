/**
 * Brings the search index to the present of the database. Ids are never used twice and writers take turns, so that new
 * records are those above the highest id that is indexed; deletions and renames are read from the log of changes.
 */
import type { DatabaseSync } from 'node:sqlite'
import { query, queryNumber } from '../prepared.ts'
import { type IndexedTable, indexedTables, indexedTexts, lastOf, rowidOf, UnusableIndex } from './index-file.ts'

/** How far an index or the database is: the highest record ids and the last search change. */
export type Position = Readonly<Record<IndexedTable | 'changes', number>>

/** What one call of `advance` takes at most, of each kind: some 50 ms of work. */
export const stepSize = 2_000
const mergedPages = 32

/** Where the index is, and how many ids and changes the database is ahead. Throws `UnusableIndex`. */
export function positionOf(db: DatabaseSync): { position: Position; lag: number } {
  const [indexed, present] = query(
    db,
    `select domains, spaces, changes from main.state
      union all select ${lastOf('domains')}, ${lastOf('spaces')}, ${lastOf('search_changes')}`,
  ).map(toPosition)
  if (indexed === undefined || present === undefined) throw new UnusableIndex('The search index has no state.')
  const lags = [...indexedTables, 'changes' as const].map((kind) => present[kind] - indexed[kind])
  // The database was replaced by an older copy of itself.
  if (lags.some((lag) => lag < 0)) throw new UnusableIndex('The search index is ahead of its database.')
  return { position: indexed, lag: lags.reduce((sum, lag) => sum + lag) }
}

/** Takes the index forward by one step, in the transaction that is open, and returns where it is then. */
export function advance(db: DatabaseSync): { position: Position; lag: number } {
  const { position, lag } = positionOf(db)
  if (lag === 0) return { position, lag }
  const next = {
    changes: applyChanges(db, position),
    domains: addNewRecords(db, 'domains', position.domains),
    spaces: addNewRecords(db, 'spaces', position.spaces),
  }
  query(db, 'update main.state set domains = ?, spaces = ?, changes = ?', next.domains, next.spaces, next.changes)
  return positionOf(db)
}

/**
 * Merges some of what many small steps leave, which each search has to read: some 5 ms of work. Returns whether there
 * may be more to merge.
 */
export function tidy(db: DatabaseSync): boolean {
  const changes = () => queryNumber(db, 'select total_changes()')
  const before = changes()
  for (const table of indexedTables) {
    query(db, `insert into ${table}_search (${table}_search, rank) values ('merge', ${mergedPages})`)
  }
  // The statements count as a change each, even when nothing was merged.
  return changes() - before > indexedTables.length
}

/** Indexes again what changed among the records that are indexed. Returns the last change that was taken. */
function applyChanges(db: DatabaseSync, position: Position): number {
  const after = position.changes
  const [[first, last] = []] = query(
    db,
    'select min(seq), max(seq) from (select seq from search_changes where seq > ? order by seq limit ?)',
    after,
    stepSize,
  )
  if (last === null || last === undefined) {
    if (queryNumber(db, `select ${lastOf('search_changes')}`) > after) throw lostChanges()
    return after
  }
  if (Number(first) !== after + 1) throw lostChanges()
  for (const table of indexedTables) indexAgain(db, table, { after, last: Number(last), indexed: position[table] })
  return Number(last)
}

/** Only an index that others replaced in the meantime can miss changes that were forgotten. */
function lostChanges(): UnusableIndex {
  return new UnusableIndex('Changes were forgotten that are not in the search index.')
}

function indexAgain(
  db: DatabaseSync,
  table: IndexedTable,
  range: { after: number; last: number; indexed: number },
): void {
  const changed = `from search_changes
    where seq > :after and seq <= :last and resource = '${table}' and record_id <= :indexed`
  query(
    db,
    `delete from ${table}_search where rowid in (select ${rowidOf('account_id', 'record_id')} ${changed})`,
    range,
  )
  query(db, `${insertion(table)} where id in (select record_id ${changed}) order by account_id, id`, range)
}

/** Returns the highest id that is indexed then. */
function addNewRecords(db: DatabaseSync, table: IndexedTable, after: number): number {
  // FTS5 writes a segment of its own whenever a rowid is lower than the one before: hence by account.
  const [[last, count] = []] = query(
    db,
    `select max(id), count(*) from (select id from ${table} where id > ? order by id limit ?)`,
    after,
    stepSize,
  )
  const end = Number(count) < stepSize ? queryNumber(db, `select ${lastOf(table)}`) : Number(last)
  query(db, `${insertion(table)} where id > ? and id <= ? order by account_id, id`, after, end)
  return end
}

function insertion(table: IndexedTable): string {
  return `insert into ${table}_search (rowid, grams)
    select ${rowidOf('account_id', 'id')}, grams(${indexedTexts[table]}) from data.${table}`
}

function toPosition([domains, spaces, changes]: unknown[]): Position {
  return { domains: Number(domains), spaces: Number(spaces), changes: Number(changes) }
}
