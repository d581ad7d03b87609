/** The log of changes that visitors can notice: see `Storage.changesAfter`. */
import type { Change, ChangePosition, Changes } from './port.ts'

/** The most that `changesAfter` returns: reading them takes the event loop a few milliseconds. */
export const maxChanges = 2_000
/** How many of the newest changes `pruneChanges` keeps. */
export const keptChanges = 10_000
/** Changes in one transaction of `pruneChanges`, which no request waits for. */
export const prunedBatchSize = 300

/** A row of `changedOnSqlite` or `changedOnPostgres`. Without changes, there is one row without a resource and an id. */
export interface ChangeRow {
  readonly database: string
  readonly snapshot: string
  readonly oldest: number
  readonly newest: number
  readonly resource: Change['resource'] | null
  readonly id: number
}

const columns = `(select coalesce(min(seq), 0) from changes) as oldest,
  (select coalesce(max(seq), 0) from changes) as newest, resource, record_id as id`

/** Selects the changes after a number. SQLite has one writer at a time, so numbers are in the order of commits. */
export const changedOnSqlite = `
  select database_id as database, '' as snapshot, ${columns}
  from instance left join (
    select resource, record_id from changes where seq > ? order by seq limit ${maxChanges + 1}
  ) on true`

/** Deletes old changes up to a number. */
export const prunedOnSqlite = `
  delete from changes where seq in (
    select seq from changes where seq <= min(?, (select max(seq) from changes) - ${keptChanges})
    order by seq limit ${prunedBatchSize}
  ) returning seq`

/**
 * Selects the changes after a snapshot. Transactions commit in another order than their numbers. Therefore a change is new
 * if it is visible now and was not visible to the last snapshot. A restored dump may contain transaction ids of another
 * server that are higher than the ids here.
 */
export const changedOnPostgres = `
  with present as materialized (select pg_current_snapshot() as snapshot)
  select database_id as database, present.snapshot::text, ${columns}
  from instance cross join present left join lateral (
    select resource, record_id from changes
    where transaction >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(transaction, $1::pg_snapshot)
      and transaction < pg_snapshot_xmax(present.snapshot)
    limit ${maxChanges + 1}
  ) as news on true`

/** Deletes old changes that were visible to a snapshot. */
export const prunedOnPostgres = `
  delete from changes where seq in (
    select seq from changes
    where seq <= (select max(seq) from changes) - ${keptChanges} and pg_visible_in_snapshot(transaction, $1::pg_snapshot)
    order by seq limit ${prunedBatchSize}
  ) returning seq`

/** Returns the changes after `last` from the rows of a query. */
export function toChanges(rows: readonly ChangeRow[], last: ChangePosition | null): Changes {
  const [{ database, snapshot, oldest, newest }] = rows as [ChangeRow]
  const position = { database, seq: newest, snapshot }
  if (last === null) return { position, changes: [] }
  const isOther = database !== last.database || newest < last.seq
  const isBehind = oldest > last.seq + 1 || rows.length > maxChanges
  if (isOther || isBehind) return { position, changes: 'unknown' }
  const changes = rows.flatMap(({ resource, id }) => (resource === null ? [] : [{ resource, id }]))
  return { position, changes }
}
