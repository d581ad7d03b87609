/** Queries of jobs: work that takes more than one transaction. Every process sees the row of a job. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Actor } from '../access/actor.ts'
import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'

export type JobKind =
  | 'removal'
  | 'return'
  | 'erasure'
  | 'retention'
  | 'forgetting'
  | 'departure'
  | 'plan'
  | 'apply'
  | 'undo'
  | 'deletion'
  | 'proof'

/** The record of a job. A record has one job at a time, so nothing else deletes or changes it meanwhile. */
export interface Subject {
  readonly record: 'domain' | 'space' | 'tag' | 'member' | 'account' | 'instance' | 'import' | 'proof'
  readonly record_id: number
}

/** `running`: a process holds the lease. `failed`: it is tried again later. */
export type JobState = 'waiting' | 'running' | 'failed'

/** How far a job is. */
export interface Progress {
  /** Where the next step continues. Jobs whose remaining work is in other tables have none. */
  readonly position?: number
  readonly done?: number
  readonly total?: number
}

export interface Job extends Subject, Required<Progress> {
  readonly id: number
  readonly kind: JobKind
  /** Null for work on all accounts. */
  readonly account: number | null
  /** The person or program that asked for the job, with all scopes; null for Waymark itself. */
  readonly actor: Actor | null
  readonly state: JobState
  /** Values of the request. */
  readonly input: unknown
  /** Why the last attempt has failed. */
  readonly error: string | null
}

export interface NewJob extends Subject, Progress, Pick<Job, 'kind' | 'account'> {
  readonly actor?: Actor
  readonly input?: unknown
  /** The lease of the process that adds the job; without it, any process can take the job. */
  readonly token?: string
  /** When the job can be taken first, in Unix milliseconds; without it, immediately. */
  readonly freeAtMs?: number
}

/** The right of a process to work on a job, until another one takes it, or the job is cancelled. */
export interface Lease {
  readonly token: string
}

/** How long a process may work without a renewal. Milliseconds. */
export const leaseMs = 10_000

/** The lease of a job has ended: another process works on it, or it is cancelled. */
export class LeaseEnded extends Error {
  constructor() {
    super('The job has another process now, or is cancelled.')
  }
}

function parseJob({ account_id, actor, input, kind, record, state, ...row }: Row<'jobs'>): Job {
  const { id, record_id, position, done, total, error } = row
  const subject = { record: record as Subject['record'], record_id: Number(record_id) }
  return {
    ...{ ...subject, id: Number(id), kind: kind as JobKind, state: state as JobState, error },
    ...{ account: account_id === null ? null : Number(account_id), input: input && JSON.parse(input) },
    actor: actor && JSON.parse(actor),
    ...{ position: Number(position), done: Number(done), total: Number(total) },
  }
}

/** Adds a job, in the transaction of the change that it belongs to. Throws `UniqueViolation` if the subject has one. */
export async function addJob(tx: Db, job: NewJob): Promise<void> {
  await tx.execute(query.insertInto('jobs').values(buildRow(job)))
}

/** Adds a job whose work is found in other tables, unless there is one: it does the new work, too. */
export async function ensureJob(tx: Db, job: NewJob): Promise<void> {
  const insertion = query.insertInto('jobs').values(buildRow(job))
  // The lock makes the last step of a running job wait, so that it sees the new work.
  const updated = { updated_at: new Date().toISOString() }
  await tx.execute(insertion.onConflict((conflict) => conflict.columns(['record', 'record_id']).doUpdateSet(updated)))
}

function buildRow({ account, actor, input, token, freeAtMs = 0, ...job }: NewJob) {
  const at = new Date().toISOString()
  return {
    ...{ ...job, account_id: account, created_at: at, updated_at: at },
    ...(token === undefined
      ? { state: 'waiting', free_at_ms: freeAtMs }
      : { state: 'running', token, free_at_ms: Date.now() + leaseMs }),
    ...(actor && { actor: JSON.stringify({ ...actor, scopes: ['*'] }) }),
    ...(input !== undefined && { input: JSON.stringify(input) }),
  }
}

function selectJob({ record, record_id }: Subject) {
  return query.selectFrom('jobs').selectAll().where('record', '=', record).where('record_id', '=', record_id)
}

/** Finds the job that works on a subject. */
export async function findJob(db: Db, subject: Subject): Promise<Job | undefined> {
  const [row] = await db.execute(selectJob(subject))
  return row && parseJob(row)
}

/** Finds the jobs that work on these subjects of one kind. */
export async function findJobs(db: Db, record: Subject['record'], ids: readonly number[]): Promise<Job[]> {
  if (ids.length === 0) return []
  const found = query.selectFrom('jobs').selectAll().where('record', '=', record).where('record_id', 'in', ids)
  return (await db.execute(found)).map(parseJob)
}

/** Finds the job of these kinds that other processes can take first, and when, in Unix milliseconds. */
export async function findFirstJob(db: Db, kinds: readonly JobKind[]) {
  if (kinds.length === 0) return undefined
  const all = query.selectFrom('jobs').select(['record', 'record_id', 'free_at_ms']).where('kind', 'in', kinds)
  const [row] = await db.execute(all.orderBy('free_at_ms').limit(1))
  return row && { ...row, record: row.record as Subject['record'] }
}

/** Takes the job of a subject at `now`, in Unix milliseconds, unless a process is working on it; with `isDue`, unless it pauses. */
export async function claimJob(
  db: Db,
  { record, record_id }: Subject,
  token: string,
  now: number,
  { isDue = false } = {},
): Promise<Job | undefined> {
  const own = query.updateTable('jobs').where('record', '=', record).where('record_id', '=', record_id)
  const free = own.where(({ or, eb }) =>
    or([eb('free_at_ms', '<=', now), ...(isDue ? [] : [eb('state', '<>', 'running')])]),
  )
  const [row] = await db.execute(free.set({ state: 'running', token, free_at_ms: now + leaseMs }).returningAll())
  return row && parseJob(row)
}

function heldBy({ token }: Lease) {
  return query.updateTable('jobs').where('token', '=', token)
}

/** Renews a lease at `now`, in Unix milliseconds. Returns false if it has ended. */
export async function renewLease(db: Db, lease: Lease, now: number): Promise<boolean> {
  return (
    (
      await db.execute(
        heldBy(lease)
          .set({ free_at_ms: now + leaseMs })
          .returning('id'),
      )
    ).length > 0
  )
}

/** Gives a job back, so that any process can continue from a time on, in Unix milliseconds. Returns false if the lease has ended. */
export async function releaseJob(
  db: Db,
  lease: Lease,
  free_at_ms: number,
  error: string | null = null,
): Promise<boolean> {
  const state: JobState = error === null ? 'waiting' : 'failed'
  const released = heldBy(lease).set({ state, token: null, free_at_ms, error, updated_at: new Date().toISOString() })
  return (await db.execute(released.returning('id'))).length > 0
}

/** Locks a job for the rest of a transaction, so that nothing cancels it. Returns its position. Throws `LeaseEnded`. */
export async function holdJob(tx: Db, { token }: Lease): Promise<number> {
  const held = query.selectFrom('jobs').select('position').where('token', '=', token)
  const [row] = await tx.execute(held.forUpdate())
  if (row === undefined) throw new LeaseEnded()
  return Number(row.position)
}

/** Stores how far a held job is. */
export async function saveProgress(tx: Db, lease: Lease, progress: Progress): Promise<void> {
  if (Object.keys(progress).length > 0) await tx.execute(heldBy(lease).set(progress))
}

/** Ends a job, in the transaction of its last step. Does nothing if the lease has ended. */
export async function endJob(tx: Db, { token }: Lease): Promise<void> {
  await tx.execute(query.deleteFrom('jobs').where('token', '=', token))
}

/** Cancels the job that works on a subject: its next step throws `LeaseEnded`. Returns whether there was one. */
export async function cancelJob(tx: Db, { record, record_id }: Subject): Promise<boolean> {
  const own = query.deleteFrom('jobs').where('record', '=', record).where('record_id', '=', record_id)
  return (await tx.execute(own.returning('id'))).length > 0
}

/** The pause between two steps, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
export const pauseMs = 3

/**
 * Runs the steps of a job until one returns null. Each is a transaction that holds the job, gets its position, and returns its
 * progress. Throws `LeaseEnded`, or the signal's reason after the current step.
 */
export async function inSteps(
  db: Pick<Db, 'write'>,
  lease: Lease,
  step: (tx: Db, position: number) => Promise<Progress | null>,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    signal?.throwIfAborted()
    const isMore = await db.write(async (tx) => {
      const progress = await step(tx, await holdJob(tx, lease))
      if (progress !== null) await saveProgress(tx, lease, progress)
      return progress !== null
    })
    if (!isMore) return
    await wait(pauseMs)
  }
}
