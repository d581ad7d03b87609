import { type Change, type ChangePosition, type Changes, changesAtOnce, keptChanges, prunedAtOnce } from '../port.ts'
import type { Connection } from './connection.ts'

const positionQuery = `select database_id, (select min(seq) from changes) as oldest, (select max(seq) from changes) as newest
  from instance`

const changesQuery = 'select resource, record_id as id from changes where seq > ? order by seq'

const pruneQuery = `delete from changes where seq in (
    select seq from changes where seq <= min(?, (select max(seq) from changes) - ${keptChanges})
    order by seq limit ${prunedAtOnce}
  ) returning seq`

/** See `Storage.changesAfter`. Because SQLite has one writer at a time, numbers are in the order of commits. */
export function changesAfter(connection: Connection, last: ChangePosition | null): Changes {
  const [row] = connection.execute<{ database_id: string; oldest: number | null; newest: number | null }>({
    sql: positionQuery,
    parameters: [],
  })
  const position = { database: String(row?.database_id), seq: row?.newest ?? 0, snapshot: '' }
  if (last === null) return { position, changes: [] }
  const isOther = position.database !== last.database || position.seq < last.seq
  const isBehind = (row?.oldest ?? 0) > last.seq + 1 || position.seq - last.seq > changesAtOnce
  if (isOther || isBehind) return { position, changes: 'unknown' }
  const rows = connection.execute<Change>({ sql: changesQuery, parameters: [last.seq] })
  return { position, changes: rows.map(({ resource, id }) => ({ resource, id })) }
}

/** Prunes changes in one transaction: see `Storage.pruneChanges`. Returns whether there may be more. */
export function pruneSome(connection: Connection, { seq }: ChangePosition): boolean {
  return connection.execute({ sql: pruneQuery, parameters: [seq] }).length === prunedAtOnce
}
