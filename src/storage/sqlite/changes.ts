import type { DatabaseSync } from 'node:sqlite'
import { type Change, type ChangePosition, type Changes, changesAtOnce, keptChanges, prunedAtOnce } from '../port.ts'
import { query } from './prepared.ts'

/** See `Storage.changesAfter`. Because SQLite has one writer at a time, numbers are in the order of commits. */
export function changesAfter(db: DatabaseSync, last: ChangePosition | null): Changes {
  const [[database, oldest, newest] = []] = query(
    db,
    `select database_id, (select min(seq) from changes), (select max(seq) from changes) from instance`,
  )
  const position = { database: String(database), seq: Number(newest ?? 0), snapshot: '' }
  if (last === null) return { position, changes: [] }
  const isOther = position.database !== last.database || position.seq < last.seq
  const isBehind = Number(oldest) > last.seq + 1 || position.seq - last.seq > changesAtOnce
  if (isOther || isBehind) return { position, changes: 'unknown' }
  const rows = query(db, 'select resource, record_id from changes where seq > ? order by seq', last.seq)
  return { position, changes: rows.map(([resource, id]) => ({ resource, id: Number(id) }) as Change) }
}

/** Prunes changes in one transaction: see `Storage.pruneChanges`. Returns whether there may be more. */
export function pruneSome(db: DatabaseSync, { seq }: ChangePosition): boolean {
  const gone = query(
    db,
    `delete from changes where seq in (
      select seq from changes where seq <= min(:seq, (select max(seq) from changes) - ${keptChanges})
      order by seq limit ${prunedAtOnce}
    ) returning seq`,
    { seq },
  )
  return gone.length === prunedAtOnce
}
