/** Queries of imports, and the lease with which one process at a time works on the imports of an account. */
import { sql } from 'kysely'
import { lockAccounts } from '../analytics/tables.ts'
import { found, importConflict, importRunning } from '../errors.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { newTimes, Records } from '../storage/records.ts'
import { query, type Row } from '../storage/schema.ts'
import type { FileColumn, LossKind, Source } from './file-row.ts'
import type { Import, ImportOptions, ImportState, RowOutcome } from './schema.ts'

/** Figures of a plan. */
export interface Summary
  extends Pick<
    Import,
    'rows' | 'exact' | 'case_insensitive' | 'new_tags' | 'clicks' | 'click_days' | 'first_link_at' | 'last_link_at'
  > {
  readonly outcomes: Readonly<Record<RowOutcome, number>>
  readonly losses: readonly { readonly kind: LossKind; readonly rows: number }[]
  readonly unmapped_hosts: readonly { readonly host: string; readonly rows: number }[]
  /** Addresses that a proof compares. */
  readonly provable: number
  /** Rows that are applied; null if an earlier version has applied some. */
  readonly stored: number | null
}

/** Why an import could not be planned. */
export interface ImportError {
  readonly code: string
  readonly message: string
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
  readonly error: ImportError | null
  readonly created_at: string
  readonly updated_at: string
}

type ImportColumns = Omit<Row<'imports'>, 'account_id' | 'revision' | 'job_token'>
const records = new Records<ImportColumns>('imports', [
  ...(['id', 'source', 'state', 'is_case_sensitive', 'options', 'columns', 'summary', 'batch_id'] as const),
  ...(['applied_row', 'applied_day', 'applied_at', 'created_at', 'updated_at'] as const),
  ...(['job', 'job_until_ms', 'error'] as const),
])

/** The error of a plan whose process has died. */
export const interrupted: ImportError = {
  code: 'import_interrupted',
  message: 'The process that planned the import has ended. Send the file again, with a new Idempotency-Key.',
}

/** Earlier versions counted neither the rows that are applied nor the addresses that a proof compares. */
function readSummary({ summary, applied_row }: Pick<ImportColumns, 'summary' | 'applied_row'>): Summary {
  const figures = JSON.parse(summary)
  const { exact, case_insensitive } = figures
  return { provable: exact + case_insensitive, stored: applied_row === 0 ? 0 : null, ...figures }
}

function importOf(row: ImportColumns): StoredImport {
  const { id, source, applied_at, created_at, updated_at } = row
  // Retention stores this within a minute.
  const isDead = row.state === 'planning' && row.job_until_ms <= Date.now()
  const [state, error] = isDead ? ['failed', interrupted] : [row.state, row.error && JSON.parse(row.error)]
  return {
    ...{ id, source: source as Source, state: state as ImportState, error, applied_at, created_at, updated_at },
    isCaseSensitive: row.is_case_sensitive === 1,
    ...{ options: JSON.parse(row.options), columns: JSON.parse(row.columns), summary: readSummary(row) },
    ...{ batchId: row.batch_id, appliedRow: row.applied_row, appliedDay: row.applied_day },
    job: row.job_until_ms > Date.now() ? (row.job as Job | null) : null,
  }
}

/** Finds the account's import with this id. */
export async function findImport(db: Db, account: number, id: number): Promise<StoredImport | undefined> {
  const found = await records.find(db, account, id)
  return found && importOf(found.record)
}

/** Lists one page with the account's imports. */
export async function listImports(storage: Storage, account: number, page: PageRequest): Promise<Page<StoredImport>> {
  const found = await records.list(storage, account, page)
  return { ...found, rows: found.rows.map(importOf) }
}

type NewImport = Pick<StoredImport, 'source' | 'isCaseSensitive' | 'options' | 'columns' | 'summary'>

/** Creates an import that is being planned under a lease. Returns its id. */
export async function createImport(
  tx: Db,
  { account, token }: Omit<Lease, 'id'>,
  { source, isCaseSensitive, options, columns, summary }: NewImport,
): Promise<number> {
  const values = {
    ...{ account_id: account, source, state: 'planning', is_case_sensitive: Number(isCaseSensitive) },
    ...{ options: JSON.stringify(options), columns: JSON.stringify(columns), summary: JSON.stringify(summary) },
    ...{ batch_id: token, job: 'plan', job_token: token, job_until_ms: Date.now() + leaseMs, ...newTimes() },
  }
  const [row] = await tx.execute(query.insertInto('imports').values(values).returning('id'))
  return Number(row?.id)
}

/** Finds the import that a request has created. */
export async function findPlanned(db: Db, { account, token }: Omit<Lease, 'id'>): Promise<number | undefined> {
  const own = query.selectFrom('imports').select('id').where('account_id', '=', account)
  return (await db.execute(own.where('batch_id', '=', token)))[0]?.id
}

/**
 * Ends a plan that has failed. Without an error, the import is gone for everyone, and retention deletes the rest. Returns false if
 * there was none.
 */
export async function failPlan(db: Db, lease: Omit<Lease, 'id'>, error: ImportError | null): Promise<boolean> {
  const result = error === null ? { account_id: 0 } : { state: 'failed', error: JSON.stringify(error) }
  const ended = { job: null, job_token: null, job_until_ms: 0, updated_at: new Date().toISOString() }
  return (
    (
      await db.execute(
        heldBy(lease)
          .set({ ...result, ...ended })
          .returning('id'),
      )
    ).length > 0
  )
}

/** Updates the import whose lease this is, as long as no other process has taken it. */
function heldBy({ account, token }: Omit<Lease, 'id'>) {
  const own = query.updateTable('imports').where('account_id', '=', account).where('job_token', '=', token)
  return own.where('job_until_ms', '>', 0)
}

/** Plans of an account that are stored, because each may have 16 MiB. */
const maxPlans = 20

/** States of imports that have stored nothing. */
const unapplied: readonly ImportState[] = ['planning', 'failed', 'planned']

/** Returns whether an import may have stored something. */
export function hasStored({ state }: Pick<StoredImport, 'state'>): boolean {
  return !unapplied.includes(state)
}

/** Hides the oldest plans of an account that has more than 20, unless a job works on them. */
export async function hideOldPlans(db: Db, account: number): Promise<void> {
  const plans = query.selectFrom('imports').select('id').where('account_id', '=', account)
  const counted = plans.where('state', 'in', unapplied).orderBy('id', 'desc')
  const [newest] = await db.execute(counted.offset(maxPlans).limit(1))
  if (newest === undefined) return
  const old = query.updateTable('imports').where('account_id', '=', account).where('state', 'in', unapplied)
  const idle = old.where('id', '<=', newest.id).where('job_until_ms', '<', Date.now())
  await db.execute(idle.set({ account_id: 0, job_token: null, job_until_ms: 0 }))
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

/** The jobs on other imports of the account that a job can't run beside. */
const rivals: Readonly<Record<Job, readonly Job[]>> = {
  ...{ plan: [], proof: ['proof'], apply: ['apply', 'undo'], undo: ['apply', 'undo'] },
}

/**
 * Takes the lease of an import. Returns false if another process is doing the same job with it. Throws `import_running` if
 * another job works on it, or one of the `rivals` on another import of the account, and `not_found` if the import is gone.
 */
export async function takeLease(db: Db, { account, id, token }: Lease, job: Job): Promise<boolean> {
  return db.write(async (tx) => {
    await lockAccounts(tx, [account])
    const now = Date.now()
    const running = query.selectFrom('imports').select(['id', 'job']).where('account_id', '=', account)
    const others = (await tx.execute(running.where('job_until_ms', '>', now))) as readonly { id: number; job: Job }[]
    if (others.some((other) => other.id === id && other.job === job)) return false
    const rival = others.find((other) => other.id === id || rivals[job].includes(other.job))
    if (rival !== undefined) throw importRunning(rival.job, 5)
    const own = query.updateTable('imports').where('id', '=', id).where('account_id', '=', account)
    const taken = own.set({ job, job_token: token, job_until_ms: now + leaseMs }).returning('id')
    found((await tx.execute(taken))[0], 'import')
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
  readonly job?: null
  readonly job_until_ms?: 0
}

/** Ends the lease with the last step, so that a client that sees the new state can begin with the next job. */
export const jobEnd = { job: null, job_until_ms: 0 } as const

/** Stores the progress of a job. Throws `import_interrupted` if its lease has ended. */
export async function advance(
  tx: Db,
  { account, id, token }: Lease,
  { options, columns, summary, ...progress }: Progress,
): Promise<void> {
  const values = {
    ...progress,
    ...(options && { options: JSON.stringify(options) }),
    ...(columns && { columns: JSON.stringify(columns) }),
    ...(summary && { summary: JSON.stringify(summary) }),
    updated_at: new Date().toISOString(),
  }
  const held = heldBy({ account, token }).set(values).where('id', '=', id)
  if ((await tx.execute(held.returning('id'))).length > 0) return
  const reason = 'The server stood still for so long that another process could take over. Send the request again.'
  throw importConflict('import_interrupted', reason)
}

/** Ends a lease, unless another process has taken it. */
export async function releaseLease(db: Db, lease: Omit<Lease, 'id'>): Promise<void> {
  await db.execute(heldBy(lease).set({ job: null, job_until_ms: 0 }))
}

/** Returns the job of the last lease of an import, unless its process has ended it. */
export async function findJob(db: Db, { account, id }: Pick<Lease, 'account' | 'id'>): Promise<Job | null> {
  const own = query.selectFrom('imports').select('job').where('id', '=', id).where('account_id', '=', account)
  return ((await db.execute(own))[0]?.job as Job | undefined) ?? null
}

/** Renews a lease, unless it has ended. */
export async function renewLease(db: Db, lease: Omit<Lease, 'id'>): Promise<void> {
  await db.execute(heldBy(lease).set({ job_until_ms: Date.now() + leaseMs }))
}

const dayMs = 86_400_000
/** How long a plan can be applied, and an applied import undone. Milliseconds. */
const [planMs, undoableMs] = [7 * dayMs, 30 * dayMs]

/** Returns until when an import can be undone that is applied, maybe in part. */
export function undoUntil({ applied_at, updated_at }: Pick<StoredImport, 'applied_at' | 'updated_at'>): string {
  return new Date(Date.parse(applied_at ?? updated_at) + undoableMs).toISOString()
}

/** Ends plans whose process has died, and hides plans that are too old at `now`, in Unix milliseconds. */
export async function expirePlans(db: Db, now: number): Promise<void> {
  const idle = query.updateTable('imports').where('account_id', '>', 0).where('job_until_ms', '<', now)
  const failed = { state: 'failed', error: JSON.stringify(interrupted), job: null, job_token: null, job_until_ms: 0 }
  await db.execute(idle.where('state', '=', 'planning').set(failed))
  const old = idle.where('state', 'in', unapplied).where('updated_at', '<', new Date(now - planMs).toISOString())
  await db.execute(old.set({ account_id: 0, job_token: null, job_until_ms: 0 }))
}

/** Selects imports with rows that no one needs at `now`, in Unix milliseconds, and on which no job works. */
function unneeded(now: number) {
  const until = new Date(now - undoableMs).toISOString()
  const imports = query.selectFrom('imports').select(['id', 'account_id']).where('job_until_ms', '<', now)
  return imports.where(({ or, eb, and, not }) =>
    or([
      eb('account_id', '=', 0),
      eb('state', '=', 'failed'),
      and([not(eb('state', 'in', unapplied)), eb('updated_at', '<', until)]),
    ]),
  )
}

/** Finds the imports with rows that no one needs: hidden ones, and those that can't be applied or undone any more. */
export async function findUnneeded(db: Db, now: number): Promise<number[]> {
  const hasRows = sql<boolean>`exists (select 1 from import_rows where import_id = imports.id)`
  const due = unneeded(now).where(({ or, eb }) => or([eb('account_id', '=', 0), hasRows]))
  return (await db.execute(due)).map(({ id }) => id)
}

/**
 * Locks an import with rows that no one needs, so that no job can begin with it in this transaction. Returns whether it is hidden;
 * undefined if it is needed by now.
 */
export async function lockUnneeded(tx: Db, id: number, now: number): Promise<{ isHidden: boolean } | undefined> {
  const [row] = await tx.execute(unneeded(now).where('id', '=', id).forUpdate())
  return row && { isHidden: row.account_id === 0 }
}

/** Deletes a hidden import without rows. */
export async function deleteImport(db: Db, id: number): Promise<void> {
  await db.execute(query.deleteFrom('imports').where('id', '=', id).where('account_id', '=', 0))
}
