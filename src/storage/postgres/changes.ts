import type { ClientBase } from 'pg'
import { type Change, type ChangePosition, type Changes, changesAtOnce, keptChanges, prunedAtOnce } from '../port.ts'
import { statementName } from './compiled.ts'
import { runText } from './run.ts'

/**
 * Selects changes: see `Storage.changesAfter`. Transactions commit in another order than their numbers. Therefore a change is
 * new if it is visible to this snapshot and was not visible to the last one. A restored dump may contain transaction ids of
 * another server that are higher than the ids here.
 */
const changed = `
  with present as materialized (select pg_current_snapshot() as snapshot)
  select database_id, present.snapshot::text, (select coalesce(min(seq), 0) from changes),
    (select coalesce(max(seq), 0) from changes), resource, record_id
  from instance cross join present left join lateral (
    select resource, record_id from changes
    where transaction >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(transaction, $1::pg_snapshot)
      and transaction < pg_snapshot_xmax(present.snapshot)
    limit ${changesAtOnce + 1}
  ) as news on true`
const changedName = statementName(changed)

const pruned = `
  delete from changes where seq in (
    select seq from changes
    where seq <= (select max(seq) from changes) - ${keptChanges} and pg_visible_in_snapshot(transaction, $1::pg_snapshot)
    order by seq limit ${prunedAtOnce}
  ) returning seq`
const prunedName = statementName(pruned)

export async function changesAfter(client: ClientBase, last: ChangePosition | null): Promise<Changes> {
  const rows = await runText(client, changed, [last?.snapshot ?? null], changedName)
  const [database, snapshot, oldest, newest] = rows[0] as [string, string, number, number]
  const position = { database, seq: newest, snapshot }
  if (last === null) return { position, changes: [] }
  const isOther = database !== last.database || newest < last.seq
  const isBehind = oldest > last.seq + 1 || rows.length > changesAtOnce
  if (isOther || isBehind) return { position, changes: 'unknown' }
  const isThere = (row: unknown[]) => row[4] !== null
  return { position, changes: rows.filter(isThere).map(([, , , , resource, id]) => ({ resource, id }) as Change) }
}

/** Prunes changes in one transaction: see `Storage.pruneChanges`. Returns whether there may be more. */
export async function pruneSome(client: ClientBase, { snapshot }: ChangePosition): Promise<boolean> {
  return (await runText(client, pruned, [snapshot], prunedName)).length === prunedAtOnce
}
