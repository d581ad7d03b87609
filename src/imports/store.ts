/** Queries of imports, with the jobs that work on them. */
import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { dayMs } from '../accounts/calendar.ts'
import { lockAccounts } from '../analytics/tables.ts'
import { importConflict, importRunning } from '../errors.ts'
import {
  addJob,
  cancelJob,
  endJob,
  findJobs,
  holdJob,
  type Job,
  type Lease as JobLease,
  type Progress as JobProgress,
  LeaseEnded,
  type NewJob,
  saveProgress,
} from '../jobs/store.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import { newTimes, Records } from '../storage/records.ts'
import { query, type Row } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
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
  /** The batch of its application. `batches` has also the batches that undid its undo, whose events do the same again. */
  readonly batchId: string
  readonly batches: readonly string[]
  /** The number of these events about links and tags that are not undone. */
  readonly openEvents: number
  /** The last row and day that are stored. */
  readonly appliedRow: number
  readonly appliedDay: number
  /** The job that plans, applies, undoes or deletes it; null if there is none. */
  readonly job: Job | null
  /** The job that proves it. */
  readonly proof: Job | null
  readonly applied_at: string | null
  readonly error: ImportError | null
  readonly created_at: string
  readonly updated_at: string
}

type ImportColumns = Omit<Row<'imports'>, 'account_id' | 'revision' | 'is_deleting'>
const records = new Records<ImportColumns>('imports', [
  ...(['id', 'source', 'state', 'is_case_sensitive', 'options', 'columns', 'summary', 'batch_id'] as const),
  ...(['applied_row', 'applied_day', 'applied_at', 'created_at', 'updated_at'] as const),
  ...(['error', 'open_events', 'returned_in'] as const),
])

/** Why a plan has failed whose process has died. */
export const planEnded = new Refusal('import_conflict.ended')

/** The error of such a plan. Only its code is stored. */
export const interrupted: ImportError = { code: 'import_interrupted', message: planEnded.at('id').message }

function parseError(text: string | null): ImportError | null {
  const error = text === null ? null : JSON.parse(text)
  return error?.code === interrupted.code ? interrupted : error
}

function formatError({ code, message }: ImportError): string {
  return JSON.stringify(code === interrupted.code ? { code } : { code, message })
}

/** Earlier versions counted neither the rows that are applied nor the addresses that a proof compares. */
function readSummary({ summary, applied_row }: Pick<ImportColumns, 'summary' | 'applied_row'>): Summary {
  const figures = JSON.parse(summary)
  const { exact, case_insensitive } = figures
  return { provable: exact + case_insensitive, stored: applied_row === 0 ? 0 : null, ...figures }
}

function readImport(row: ImportColumns, job: Job | null, proof: Job | null): StoredImport {
  const { id, source, applied_at, created_at, updated_at } = row
  // Retention stores this within a minute.
  const isDead = row.state === 'planning' && job === null
  const [state, error] = isDead ? ['failed', interrupted] : [row.state, parseError(row.error)]
  return {
    ...{ id, source: source as Source, error, applied_at, created_at, updated_at, job, proof },
    state: job?.kind === 'undo' ? 'undoing' : (state as ImportState),
    isCaseSensitive: row.is_case_sensitive === 1,
    ...{ options: JSON.parse(row.options), columns: JSON.parse(row.columns), summary: readSummary(row) },
    ...{ batchId: row.batch_id, batches: [row.batch_id, ...JSON.parse(row.returned_in ?? '[]')] },
    ...{ appliedRow: row.applied_row, appliedDay: row.applied_day, openEvents: Number(row.open_events) },
  }
}

async function withJobs(db: Db, rows: readonly ImportColumns[]): Promise<StoredImport[]> {
  const ids = rows.map(({ id }) => id)
  const all = [...(await findJobs(db, 'import', ids)), ...(await findJobs(db, 'proof', ids))]
  const jobOn = (record: string, id: number) => all.find((job) => job.record === record && job.record_id === id) ?? null
  return rows.map((row) => readImport(row, jobOn('import', row.id), jobOn('proof', row.id)))
}

/** Finds the account's import with this id. */
export async function findImport(db: Db, account: number, id: number): Promise<StoredImport | undefined> {
  const found = await records.find(db, account, id)
  const deleting = query.selectFrom('imports').select('id').where('id', '=', id).where('is_deleting', '=', 1)
  if (found === undefined || (await db.execute(deleting)).length > 0) return undefined
  return (await withJobs(db, [found.record]))[0]
}

/** Lists one page with the account's imports. */
export async function listImports(storage: Storage, account: number, page: PageRequest): Promise<Page<StoredImport>> {
  const found = await records.list(storage, account, { ...page, filter: { ...page.filter, is_deleting: null } })
  return { ...found, rows: await withJobs(storage, found.rows) }
}

type NewImport = Pick<StoredImport, 'source' | 'isCaseSensitive' | 'options' | 'columns' | 'summary' | 'batchId'>

/** Creates an import that is being planned under a lease. Returns its id. */
export async function createImport(
  tx: Db,
  { account, token }: Omit<Lease, 'id'>,
  { source, isCaseSensitive, options, columns, summary, batchId }: NewImport,
): Promise<number> {
  const values = {
    ...{ account_id: account, source, state: 'planning', is_case_sensitive: Number(isCaseSensitive) },
    ...{ options: JSON.stringify(options), columns: JSON.stringify(columns), summary: JSON.stringify(summary) },
    ...{ batch_id: batchId, ...newTimes() },
  }
  const [row] = await tx.execute(query.insertInto('imports').values(values).returning('id'))
  const id = Number(row?.id)
  await addJob(tx, { kind: 'plan', record: 'import', record_id: id, account, token })
  return id
}

/** Finds the import that is being planned under a lease. */
export async function findPlanned(db: Db, { token }: JobLease): Promise<number | undefined> {
  return (await db.execute(query.selectFrom('jobs').select('record_id').where('token', '=', token)))[0]?.record_id
}

/**
 * Ends a plan that has failed, and deletes its rows. Without an error, the import is gone for everyone. Returns false if there was
 * none.
 */
export async function failPlan(tx: Db, account: number, lease: JobLease, error: ImportError | null): Promise<boolean> {
  const id = await findPlanned(tx, lease)
  if (id === undefined) return false
  const failed = error === null ? { is_deleting: 1 } : { state: 'failed', error: formatError(error) }
  const own = query.updateTable('imports').where('id', '=', id).where('state', '=', 'planning')
  const updated = own.set({ ...failed, updated_at: new Date().toISOString() }).returning('id')
  if ((await tx.execute(updated)).length === 0) return false
  await addDeletion(tx, account, id)
  return true
}

/** Adds the job that deletes the rows of an import, and the import if it is being deleted, in place of any other job. */
async function addDeletion(tx: Db, account: number, record_id: number): Promise<void> {
  for (const record of ['import', 'proof'] as const) await cancelJob(tx, { record, record_id })
  await addJob(tx, { kind: 'deletion', record: 'import', record_id, account })
}

/** Plans of an account that are stored, because each may have 16 MiB. */
const maxPlans = 20

/** States of imports that have stored nothing. */
const unapplied: readonly ImportState[] = ['planning', 'failed', 'planned']

/** Returns whether an import may have stored something. */
export function hasStored({ state }: Pick<StoredImport, 'state'>): boolean {
  return !unapplied.includes(state)
}

/** Selects imports that no job plans, applies, undoes or deletes. */
function idleImports() {
  const working = query.selectFrom('jobs').select('record_id').where('record', '=', 'import')
  const all = query.selectFrom('imports').select(['id', 'account_id']).where('is_deleting', 'is', null)
  return all.where('id', 'not in', working)
}

/** Adds a job for each of these imports that deletes its rows; with `isWhole`, also the import, which is gone immediately. */
async function deleteAll(db: Db, due: ReturnType<typeof idleImports>, isWhole: boolean): Promise<void> {
  for (const { id, account_id } of await db.execute(due)) {
    await db.write(async (tx) => {
      // As `addImportJob` does, so that no other job begins meanwhile.
      await lockAccounts(tx, [account_id])
      if ((await tx.execute(due.where('id', '=', id))).length === 0) return
      if (isWhole) await tx.execute(query.updateTable('imports').set({ is_deleting: 1 }).where('id', '=', id))
      await addDeletion(tx, account_id, id)
    })
  }
}

/** Deletes the oldest plans of an account that has more than 20, unless a job works on them. */
export async function deleteOldPlans(db: Db, account: number): Promise<void> {
  const plans = query
    .selectFrom('imports')
    .select('id')
    .where('account_id', '=', account)
    .where('is_deleting', 'is', null)
  const newest = plans.where('state', 'in', unapplied).orderBy('id', 'desc')
  const [last] = await db.execute(newest.offset(maxPlans).limit(1))
  if (last === undefined) return
  const old = idleImports().where('account_id', '=', account).where('state', 'in', unapplied)
  await deleteAll(db, old.where('id', '<=', last.id), true)
}

export type ImportJobKind = 'plan' | 'apply' | 'proof' | 'undo'

/** The right of a process to work on an import. */
export interface Lease extends JobLease {
  readonly account: number
  readonly id: number
}

/** Jobs of which one runs at a time in an account. */
const exclusive: Readonly<Record<string, readonly string[]>> = {
  ...{ plan: [], proof: ['proof'], apply: ['apply', 'undo'], undo: ['apply', 'undo'] },
}

/**
 * Adds a job, in a transaction. Returns false if it is running already. `check` throws what prevents it. Throws `import_running` if
 * another job works on the import, or an exclusive one on another import of the account. An undo replaces an application that has
 * failed and would be tried again.
 */
export async function addImportJob(
  tx: Db,
  job: NewJob & { readonly kind: ImportJobKind; readonly account: number },
  check: (stored: StoredImport | undefined) => unknown,
): Promise<boolean> {
  const { account, kind, record, record_id } = job
  await lockAccounts(tx, [account])
  const columns = ['kind', 'record', 'record_id', 'state'] as const
  const own = query.selectFrom('jobs').select(columns).where('account_id', '=', account)
  const all = await tx.execute(own.where('record', 'in', ['import', 'proof']))
  const isOwn = (other: (typeof all)[number]) => other.record === record && Number(other.record_id) === record_id
  if (all.some((other) => isOwn(other) && other.kind === kind)) return false
  check(await findImport(tx, account, record_id))
  // Nothing is proved whose rows are being deleted.
  const isDeletion = (other: (typeof all)[number]) => other.kind === 'deletion' && Number(other.record_id) === record_id
  const rival = all.find((other) => isOwn(other) || isDeletion(other) || exclusive[kind]?.includes(other.kind))
  if (rival !== undefined) {
    const isStuck = kind === 'undo' && rival.kind === 'apply' && rival.state === 'failed'
    if (!isStuck || !isOwn(rival)) throw importRunning(rival.kind, 5)
    await cancelJob(tx, job)
  }
  await addJob(tx, job)
  return true
}

/** What a step of a job changes. */
interface Progress extends JobProgress {
  readonly state?: ImportState
  readonly applied_row?: number
  readonly applied_day?: number
  readonly applied_at?: string
  readonly options?: ImportOptions
  readonly columns?: readonly FileColumn[]
  readonly summary?: Summary
  /** The number of events that the step has stored of links and tags. */
  readonly events?: number
  /** Ends the job. */
  readonly isEnd?: boolean
}

/** Stores the progress of a job. Throws `import_interrupted` if its lease has ended. */
export async function advance(tx: Db, lease: Lease, changed: Progress): Promise<void> {
  const { options, columns, summary, events = 0, isEnd = false, done, total, ...progress } = changed
  await holdJob(tx, lease).catch((error: unknown) => {
    if (!(error instanceof LeaseEnded)) throw error
    const reason = 'The server stood still for so long that another process could take over. Send the request again.'
    throw importConflict('import_interrupted', reason)
  })
  await saveProgress(tx, lease, { ...(done !== undefined && { done }), ...(total !== undefined && { total }) })
  const values = {
    ...progress,
    ...(options && { options: JSON.stringify(options) }),
    ...(columns && { columns: JSON.stringify(columns) }),
    ...(summary && { summary: JSON.stringify(summary) }),
    ...(events > 0 && { open_events: sql<number>`open_events + ${events}` }),
  }
  const own = query.updateTable('imports').where('id', '=', lease.id)
  if (Object.keys(values).length > 0) await tx.execute(own.set({ ...values, updated_at: new Date().toISOString() }))
  if (isEnd) await endJob(tx, lease)
}

/** How long a plan can be applied, and an applied import undone. Milliseconds. */
const [planMs, undoableMs] = [7 * dayMs, 30 * dayMs]

/** Returns until when an import can be undone that is applied, maybe in part. */
export function undoUntil({ applied_at, updated_at }: Pick<StoredImport, 'applied_at' | 'updated_at'>): string {
  return new Date(Date.parse(applied_at ?? updated_at) + undoableMs).toISOString()
}

/** Deletes at `now`, in Unix milliseconds, plans that are too old, and the rows of imports that can't be undone any more. */
export async function expireImports(db: Db, now: number): Promise<void> {
  const [unused, stored] = [planMs, undoableMs].map((ms) => new Date(now - ms).toISOString()) as [string, string]
  const working = query.selectFrom('jobs').select('record_id').where('record', '=', 'import')
  const dead = query.updateTable('imports').where('state', '=', 'planning').where('id', 'not in', working)
  await db.execute(dead.set({ state: 'failed', error: formatError(interrupted) }))
  await deleteAll(db, idleImports().where('state', 'in', unapplied).where('updated_at', '<', unused), true)
  const hasRows = sql<boolean>`exists (select 1 from import_rows where import_id = imports.id)`
  const past = idleImports().where(({ or, eb, and }) =>
    or([eb('state', '=', 'failed'), and([eb('state', 'not in', unapplied), eb('updated_at', '<', stored)])]),
  )
  await deleteAll(db, past.where(hasRows), false)
}

/** Deletes an import without rows that is being deleted. */
export async function deleteImport(tx: Db, id: number): Promise<void> {
  await tx.execute(query.deleteFrom('imports').where('id', '=', id).where('is_deleting', '=', 1))
}

/** Imports by their batches, with the number of events of links and tags that are not undone. */
export async function lockBatches(tx: Db, account: number, batches: readonly string[]) {
  const own = query
    .selectFrom('imports')
    .select(['id', 'source', 'state', 'batch_id', 'open_events', 'returned_in', 'applied_at'])
  return tx.execute(own.where('account_id', '=', account).where('batch_id', 'in', batches).orderBy('id').forUpdate())
}

type BatchState = Partial<Pick<Row<'imports'>, 'state' | 'open_events' | 'returned_in'>>

/** Stores what the events of its batch say about an import. */
export async function saveBatchState(tx: Db, id: number, state: BatchState): Promise<void> {
  const changed = { ...state, updated_at: new Date().toISOString() }
  await tx.execute(query.updateTable('imports').set(changed).where('id', '=', id))
}

/** Returns the id of the last event of a batch; 0 if there is none. */
export async function findLastEvent(tx: Db, { account, batchId }: Pick<Actor, 'account' | 'batchId'>): Promise<number> {
  const own = query.selectFrom('events').select('id').where('account_id', '=', account).where('batch_id', '=', batchId)
  return Number((await tx.execute(own.orderBy('id', 'desc').limit(1)))[0]?.id ?? 0)
}

/** Counts the events of a batch about links and tags after an id. */
export async function countEvents(
  tx: Db,
  { account, batchId }: Pick<Actor, 'account' | 'batchId'>,
  after: number,
): Promise<number> {
  const own = query.selectFrom('events').where('account_id', '=', account).where('batch_id', '=', batchId)
  const counted = own.where('id', '>', after).where('record', 'in', ['link', 'tag'])
  const [row] = await tx.execute(counted.select(({ fn }) => fn.countAll().as('total')))
  return Number(row?.total)
}
