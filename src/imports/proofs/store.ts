/** Queries of proofs: the addresses that an import has stored, and the results of their requests. */
import type { Db, Storage } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { type ProofResult, type ProofSource, type ProvedAddress, proofResults } from '../proof.ts'
import { readRows } from '../staging/store.ts'

/** Rows whose addresses become pending in one transaction. */
const markedTogether = 200
/** Addresses that are read together. */
const pageSize = 50

/** Returns the addresses of the account's import whose result isn't `same`, which become pending. */
export async function proofSource(storage: Storage, account: number, importId: number): Promise<ProofSource> {
  for (let after = 0; ; ) {
    const rows = await readRows(storage, importId, { after, limit: markedTogether, only: ['store', 'rename'] })
    const ids = rows.flatMap(({ id, decision }) => (decision?.linkId == null ? [] : [id]))
    if (ids.length > 0) await storage.execute(markPending(importId, ids))
    const last = rows.at(-1)?.id
    if (last === undefined) break
    after = last
  }
  return {
    groups: () => pendingGroups(storage, importId),
    next: (group) => pendingOf(storage, account, importId, group),
    save: async ({ row_id, position, result, old, reason, new: own }) => {
      const values = {
        ...{ result, reason, old_status: old?.status ?? null, old_location: old?.location ?? null },
        ...{ new_status: own.status, new_location: own.location },
      }
      const address = query.updateTable('import_addresses').set(values).where('import_id', '=', importId)
      await storage.execute(address.where('row_id', '=', row_id).where('position', '=', position))
    },
  }
}

function markPending(importId: number, rows: readonly number[]) {
  return query
    .updateTable('import_addresses')
    .set({ result: 'pending' satisfies ProofResult })
    .where('import_id', '=', importId)
    .where('row_id', 'in', rows)
    .where(({ or, eb }) => or([eb('result', 'is', null), eb('result', '!=', 'same')]))
}

function pending(importId: number) {
  return query.selectFrom('import_addresses').where('import_id', '=', importId).where('result', '=', 'pending')
}

/** Yields the hosts of pending addresses. Rows without a host have the names of their domains, and a group for each. */
async function* pendingGroups(db: Db, importId: number): AsyncGenerator<string> {
  const groups = pending(importId).select(['host', 'domain_id']).distinct().orderBy('host').orderBy('domain_id')
  const rows = await db.execute(groups)
  yield* new Set(rows.map(({ host, domain_id }) => (host === '' ? `*${domain_id}` : host)))
}

async function pendingOf(db: Db, account: number, importId: number, group: string): Promise<ProvedAddress[]> {
  const all = pending(importId)
    .innerJoin('domains', 'domains.id', 'domain_id')
    .where('domains.account_id', '=', account)
  const own = group.startsWith('*')
    ? all.where('host', '=', '').where('domain_id', '=', Number(group.slice(1)))
    : all.where('host', '=', group)
  const rows = await db.execute(
    own.select(['row_id', 'position', 'host', 'path', 'alias', 'domains.name']).orderBy('row_id').limit(pageSize),
  )
  return rows.map(({ row_id, position, host, path, alias, name }) => {
    return { row_id, position, host: host || name, path, domain: name, alias: alias ?? '' }
  })
}

/** Counts the proved addresses of the account's imports by result. Returns a function that returns those of an import. */
export async function countProofs(
  db: Db,
  account: number,
  ids: readonly number[],
): Promise<(id: number) => Readonly<Record<ProofResult, number>>> {
  const own = query.selectFrom('imports').select('id').where('account_id', '=', account).where('id', 'in', ids)
  const results = query
    .selectFrom('import_addresses')
    .select(['import_id', 'result'])
    .select(({ fn }) => fn.countAll().as('total'))
    .where('import_id', 'in', own)
    .where('result', 'is not', null)
    .groupBy(['import_id', 'result'])
  const rows = ids.length === 0 ? [] : await db.execute(results)
  const none = Object.fromEntries(proofResults.map((result) => [result, 0])) as Record<ProofResult, number>
  return (id) => ({
    ...none,
    ...Object.fromEntries(rows.filter((row) => row.import_id === id).map((row) => [row.result, Number(row.total)])),
  })
}
