/** Queries of imports, and the lease with which one process at a time works on the imports of an account. */
import { sql } from 'kysely'
import { lockAccounts } from '../analytics/tables.ts'
import { importRunning } from '../errors.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { newTimes, Records } from '../storage/records.ts'
import { query, type Row } from '../storage/schema.ts'
import type { FileColumn, LossKind, Source } from './file-row.ts'
import type { Import, ImportOptions, ImportState, Outcome } from './schema.ts'

/** Figures of a plan. */
export interface Summary
  extends Pick<
    Import,
    'rows' | 'exact' | 'case_insensitive' | 'new_tags' | 'clicks' | 'click_days' | 'first_link_at' | 'last_link_at'
  > {
  readonly outcomes: Readonly<Record<Outcome, number>>
  readonly losses: readonly { readonly kind: LossKind; readonly rows: number }[]
  readonly unmapped_hosts: readonly { readonly host: string; readonly rows: number }[]
}

/** An import, with what responses leave out. */
export interface StoredImport {
  readonly id: number
  readonly source: Source
  readonly state: ImportState
  readonly isCaseSensitive: boolean
  readonly options: ImportOptions
  readonly columns: readonly FileColumn[]
  readonly summary: Summary
  readonly batchId: string
  /** The last row and day that are stored. */
  readonly appliedRow: number
  readonly appliedDay: number
  /** The job that a process is doing with it; null if there is none. */
  readonly job: Job | null
  readonly applied_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

type ImportColumns = Omit<Row<'imports'>, 'account_id' | 'revision' | 'job_token'>
const records = new Records<ImportColumns>('imports', [
  ...(['id', 'source', 'state', 'is_case_sensitive', 'options', 'columns', 'summary', 'batch_id'] as const),
  ...(['applied_row', 'applied_day', 'applied_at', 'created_at', 'updated_at'] as const),
  ...(['job', 'job_until_ms'] as const),
])

function importOf(row: ImportColumns): StoredImport {
  const { id, source, state, applied_at, created_at, updated_at } = row
  return {
    ...{ id, source: source as Source, state: state as ImportState, applied_at, created_at, updated_at },
    isCaseSensitive: row.is_case_sensitive === 1,
    ...{ options: JSON.parse(row.options), columns: JSON.parse(row.columns), summary: JSON.parse(row.summary) },
    ...{ batchId: row.batch_id, appliedRow: row.applied_row, appliedDay: row.applied_day },
    job: row.job_until_ms > Date.now() ? (row.job as Job | null) : null,
  }
}

/** Finds the account's import with this id. */
export async function findImport(db: Db, account: number, id: number): Promise<StoredImport | undefined> {
  const found = await records.find(db, account, id)
  return found && importOf(found.record)
}

/** Lists a page of the account's imports. */
export async function listImports(storage: Storage, account: number, page: PageRequest): Promise<Page<StoredImport>> {
  const found = await records.list(storage, account, page)
  return { ...found, rows: found.rows.map(importOf) }
}

/** Creates an import in account 0, where no one sees it before it is planned. Returns its id. */
export async function createImport(
  tx: Db,
  { source, isCaseSensitive }: Pick<StoredImport, 'source' | 'isCaseSensitive'>,
  batchId: string,
): Promise<number> {
  const values = {
    ...{ account_id: 0, source, state: 'planned', is_case_sensitive: Number(isCaseSensitive) },
    ...{ options: '{}', columns: '[]', summary: '{}', batch_id: batchId },
    ...{ job: 'plan', job_token: batchId, job_until_ms: Date.now() + leaseMs, ...newTimes() },
  }
  const [row] = await tx.execute(query.insertInto('imports').values(values).returning('id'))
  return Number(row?.id)
}

type Planned = Pick<StoredImport, 'id' | 'options' | 'columns' | 'summary'>

/** Stores the plan of an import, which the account then sees. Throws if another process has taken the lease meanwhile. */
export async function publishPlan(
  tx: Db,
  { account, token }: Pick<Lease, 'account' | 'token'>,
  { id, options, columns, summary }: Planned,
): Promise<void> {
  const values = {
    ...{ account_id: account, options: JSON.stringify(options), columns: JSON.stringify(columns) },
    ...{ summary: JSON.stringify(summary), job: null, job_until_ms: 0, updated_at: new Date().toISOString() },
  }
  const own = query.updateTable('imports').set(values).where('id', '=', id).where('account_id', 'in', [0, account])
  const held = own.where('job_token', '=', token).returning('id')
  if ((await tx.execute(held)).length === 0) throw importRunning('plan', 5)
}

/** Plans of an account that are stored, because each may have 16 MiB. */
const maxPlans = 20

/** Hides the oldest plans of an account that has more than 20, unless a job works on them. */
export async function hideOldPlans(db: Db, account: number): Promise<void> {
  const plans = query
    .selectFrom('imports')
    .select('id')
    .where('account_id', '=', account)
    .where('state', '=', 'planned')
  const [newest] = await db.execute(plans.orderBy('id', 'desc').offset(maxPlans).limit(1))
  if (newest === undefined) return
  const old = query.updateTable('imports').where('account_id', '=', account).where('state', '=', 'planned')
  const idle = old.where('id', '<=', newest.id).where('job_until_ms', '<', Date.now())
  await db.execute(idle.set({ account_id: 0, job_until_ms: 0 }))
}

/** Moves an import out of the account, so that it is gone for everyone. `deleteSome` then deletes the rest. */
export async function hideImport(db: Db, account: number, id: number): Promise<void> {
  const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
  await db.execute(own.set({ account_id: 0, job_until_ms: 0 }))
}

/** How long a process may work on an import without a renewal of its lease. Milliseconds. */
export const leaseMs = 10_000

export type Job = 'plan' | 'apply' | 'proof' | 'undo'

/** The right of a process to work on an import. */
export interface Lease {
  readonly account: number
  readonly id: number
  readonly token: string
}

/**
 * Takes the lease of an import. Returns false if another process is doing the same job with it. Throws `import_running` if any
 * other job runs in the account.
 */
export async function takeLease(db: Db, { account, id, token }: Lease, job: Job): Promise<boolean> {
  return db.write(async (tx) => {
    await lockAccounts(tx, [account])
    const now = Date.now()
    const running = query.selectFrom('imports').select(['id', 'job', 'job_until_ms']).where('account_id', '=', account)
    const [other] = await tx.execute(running.where('job_until_ms', '>', now).limit(1))
    if (other !== undefined) {
      if (other.id === id && other.job === job) return false
      throw importRunning(other.job ?? job, 5)
    }
    const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
    await tx.execute(own.set({ job, job_token: token, job_until_ms: now + leaseMs }))
    return true
  })
}

/** What a step of a job changes. */
interface Progress {
  readonly state?: ImportState
  readonly applied_row?: number
  readonly applied_day?: number
  readonly applied_at?: string
  readonly options?: ImportOptions
  readonly columns?: readonly FileColumn[]
  readonly summary?: Summary
}

/** Stores the progress of a job, and renews its lease. Throws if another process has taken the lease meanwhile. */
export async function advance(
  tx: Db,
  { account, id, token }: Lease,
  { options, columns, summary, ...progress }: Progress,
): Promise<void> {
  const now = new Date()
  const values = {
    ...progress,
    ...(options && { options: JSON.stringify(options) }),
    ...(columns && { columns: JSON.stringify(columns) }),
    ...(summary && { summary: JSON.stringify(summary) }),
    ...{ job_until_ms: now.getTime() + leaseMs, updated_at: now.toISOString() },
  }
  const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
  const held = own.set(values).where('job_token', '=', token).where('job_until_ms', '>', 0)
  if ((await tx.execute(held.returning('id'))).length === 0) throw importRunning('change', 5)
}

/** Ends a lease, unless another process has taken it. */
export async function releaseLease(db: Db, { account, id, token }: Lease): Promise<void> {
  const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
  await db.execute(own.set({ job: null, job_until_ms: 0 }).where('job_token', '=', token))
}

/** Returns the job of the last lease of an import, unless its process has ended it. */
export async function findJob(db: Db, { account, id }: Pick<Lease, 'account' | 'id'>): Promise<Job | null> {
  const own = query.selectFrom('imports').select('job').where('id', '=', id).where('account_id', '=', account)
  return ((await db.execute(own))[0]?.job as Job | undefined) ?? null
}

/** Renews a lease, unless it has ended. */
export async function renewLease(db: Db, { account, id, token }: Lease): Promise<void> {
  const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
  const held = own.where('job_token', '=', token).where('job_until_ms', '>', 0)
  await db.execute(held.set({ job_until_ms: Date.now() + leaseMs }))
}

const dayMs = 86_400_000
/** How long a plan can be applied, and an applied import undone. Milliseconds. */
const [planMs, undoableMs] = [7 * dayMs, 30 * dayMs]

/** Returns until when an import can be undone that is applied, maybe in part. */
export function undoUntil({ applied_at, updated_at }: Pick<StoredImport, 'applied_at' | 'updated_at'>): string {
  return new Date(Date.parse(applied_at ?? updated_at) + undoableMs).toISOString()
}

/** Hides plans that are too old at `now`, in Unix milliseconds. */
export async function expirePlans(db: Db, now: number): Promise<void> {
  const old = query
    .updateTable('imports')
    .where('account_id', '>', 0)
    .where('state', '=', 'planned')
    .where('updated_at', '<', new Date(now - planMs).toISOString())
    .where('job_until_ms', '<', now)
  await db.execute(old.set({ account_id: 0 }))
}

/** Finds imports with rows that no one needs: hidden ones, and those that can't be undone any more. */
export async function findUnneeded(
  db: Db,
  now: number,
): Promise<{ readonly id: number; readonly isHidden: boolean }[]> {
  const until = new Date(now - undoableMs).toISOString()
  const hasRows = sql<boolean>`exists (select 1 from import_rows where import_id = imports.id)`
  const imports = query.selectFrom('imports').select(['id', 'account_id']).where('job_until_ms', '<', now)
  const rows = await db.execute(
    imports.where(({ or, eb, and }) =>
      or([
        eb('account_id', '=', 0),
        and([eb('state', 'in', ['applied', 'undone']), eb('updated_at', '<', until), hasRows]),
      ]),
    ),
  )
  return rows.map(({ id, account_id }) => ({ id, isHidden: account_id === 0 }))
}

/** Deletes a hidden import without rows. */
export async function deleteImport(db: Db, id: number): Promise<void> {
  await db.execute(query.deleteFrom('imports').where('id', '=', id).where('account_id', '=', 0))
}
