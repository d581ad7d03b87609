/** Queries of proofs: the addresses that an import has stored, and the results of their requests. */

import type { HeldJob } from '../../jobs/jobs.ts'
import { holdJob, inSteps, saveProgress } from '../../jobs/store.ts'
import type { Db, Storage } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import type { ProofResult, ProofSource, ProvedAddress } from '../proof.ts'
import { linkedOutcomes } from '../schema.ts'
import { noProofs } from '../shown.ts'
import { isErased } from '../staging/store.ts'

/** Rows whose addresses become pending in one transaction. */
const markedTogether = 250
/** Addresses that are read together. */
const pageSize = 50

/** Returns the addresses that a job proves. First makes those pending whose result isn't `same`, unless it has done so before a kill. */
export async function openProof(storage: Storage, job: HeldJob, rows: number): Promise<ProofSource> {
  const { account, record_id: importId, lease, signal } = job
  const mark = async (tx: Db, from: number) => {
    if (from > rows) return null
    await tx.execute(markPending(importId, from + 1, from + 1 + markedTogether))
    return { position: from + markedTogether }
  }
  let { done } = job
  await inSteps(storage, lease, mark, signal)
  return {
    groups: () => pendingHosts(storage, importId),
    next: (host) => pendingOf(storage, Number(account), importId, host),
    save: async ({ row_id, position, result, old, reason, new: own }) => {
      const values = {
        ...{ result, reason, old_status: old?.status ?? null, old_location: old?.location ?? null },
        ...{ new_status: own.status, new_location: own.location },
      }
      const address = addresses(importId).where('row_id', '=', row_id).where('position', '=', position)
      done += 1
      await storage.write(async (tx) => {
        await holdJob(tx, lease)
        await tx.execute(address.set(values))
        // The old service still has the URL of a link that was deleted permanently here. After the update, which waits for an erasure.
        if (await isErased(tx, importId, row_id)) await tx.execute(address.set({ old_location: null }))
        await saveProgress(tx, lease, { done })
      })
    },
  }
}

function addresses(importId: number) {
  return query.updateTable('import_addresses').where('import_id', '=', importId)
}

function markPending(importId: number, from: number, to: number) {
  const rows = query.selectFrom('import_rows').select('id').where('import_id', '=', importId)
  const linked = rows.where('id', '>=', from).where('id', '<', to).where('outcome', 'in', linkedOutcomes)
  const values = { reason: null, old_status: null, old_location: null, new_status: null, new_location: null }
  return addresses(importId)
    .set({ result: 'pending' satisfies ProofResult, ...values })
    .where('row_id', '>=', from)
    .where('row_id', '<', to)
    .where('row_id', 'in', linked)
    .where('domain_id', 'is not', null)
    .where(({ or, eb }) => or([eb('result', 'is', null), eb('result', '!=', 'same')]))
}

function pending(importId: number) {
  return query.selectFrom('import_addresses').where('import_id', '=', importId).where('result', '=', 'pending')
}

/** Yields the hosts of pending addresses; '' for those without a host. Each is one step in the index. */
async function* pendingHosts(db: Db, importId: number): AsyncGenerator<string> {
  const first = pending(importId).select('host').orderBy('host').limit(1)
  let [found] = await db.execute(first)
  while (found !== undefined) {
    yield found.host
    ;[found] = await db.execute(first.where('host', '>', found.host))
  }
}

/** Finds the next pending addresses of a host. Those without a host have the name of their domain, '' if that is deleted. */
async function pendingOf(db: Db, account: number, importId: number, host: string): Promise<ProvedAddress[]> {
  const own = pending(importId).where('host', '=', host)
  const named = own.leftJoin('domains', (join) =>
    join.onRef('domains.id', '=', 'domain_id').on('domains.account_id', '=', account),
  )
  const rows = await db.execute(
    named.select(['row_id', 'position', 'host', 'path', 'alias', 'domains.name']).orderBy('row_id').limit(pageSize),
  )
  return rows.map(({ name, alias, ...row }) => {
    const domain = name ?? ''
    // An address of another link has no alias.
    return { ...row, host: row.host || domain, domain, alias: alias ?? row.path.normalize() }
  })
}

/** Counts the proved addresses of the account's imports by result. Returns a function that returns those of an import. */
export async function countProofs(
  storage: Storage,
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
  const rows = ids.length === 0 ? [] : await storage.scan(account, results)
  return (id) => ({
    ...noProofs,
    ...Object.fromEntries(rows.flatMap(([of, result, total]) => (Number(of) === id ? [[result, Number(total)]] : []))),
  })
}

/** Returns the hosts of addresses that have a link after the import is applied, with their domains. '' stands for no host. */
export async function findHosts(
  storage: Storage,
  account: number,
  importId: number,
): Promise<readonly { readonly host: string; readonly domain_id: number }[]> {
  const linked = query.selectFrom('import_rows').select('id').where('import_id', '=', importId)
  const own = query.selectFrom('import_addresses').where('import_id', '=', importId)
  const ofLinks = own.where('row_id', 'in', linked.where('outcome', 'in', linkedOutcomes))
  const hosts = ofLinks.where('domain_id', 'is not', null).select(['host', 'domain_id']).distinct()
  const rows = await storage.scan(account, hosts.orderBy('host').orderBy('domain_id'))
  return rows.map(([host, domain_id]) => ({ host: String(host), domain_id: Number(domain_id) }))
}
