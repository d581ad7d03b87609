/** Plans, applies, proves and undoes imports, for the API, the dashboard and the command line. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Actor } from '../access/actor.ts'
import { requireScope } from '../access/roles.ts'
import { Failure, found, importBlocked, importConflict, importRunning, validationFailed } from '../errors.ts'
import type { Reversals } from '../events/reversal.ts'
import { failures } from '../http/failures.ts'
import { releaseClaim } from '../idempotency/store.ts'
import { domainsNamed } from '../links/batch-store.ts'
import type { LinkRules } from '../links/link-violations.ts'
import { findLinkSpace, unknownSpace } from '../links/store.ts'
import type { Page, PageRequest, Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { Refusal, type Violation } from '../violations.ts'
import type { FileBytes, RunImportJob } from './jobs.ts'
import type { PlanRequest } from './plan.ts'
import type { ProofSource } from './proof.ts'
import { countProofs, proofSource } from './proofs/store.ts'
import {
  type Import,
  type ImportOptions,
  type ImportRow,
  type ImportRowsQuery,
  type ImportState,
  leftOut,
} from './schema.ts'
import { importRecord, rowRecord, versionedImport } from './shown.ts'
import { type ListedRow, listRows } from './staging/store.ts'
import {
  failPlan,
  findImport,
  findJob,
  findPlanned,
  hideOldPlans,
  type ImportError,
  interrupted,
  type Job,
  type Lease,
  leaseMs,
  listImports,
  releaseLease,
  renewLease,
  type StoredImport,
  takeLease,
  undoUntil,
} from './store.ts'
import { requireUnedited, undoImport } from './undo.ts'

interface ImportParts {
  readonly rules: LinkRules
  readonly run: RunImportJob
  readonly reversals: Reversals
  /** Proves the addresses of a source against their old services. */
  readonly prove: (source: ProofSource, signal: AbortSignal) => Promise<void>
  /** How long a request waits for its job; null: until the job ends. Milliseconds. */
  readonly patienceMs: number | null
  /** Gets the errors of jobs whose requests have ended. */
  readonly onProblem: (error: unknown) => void
}

/** An import after a request. `isDone` is false if its job still runs. */
export interface JobResult {
  readonly shown: Versioned<Import>
  readonly isDone: boolean
}

/** `done` resolves when the import is planned, and rejects with why it can't be. */
export interface PlanResult extends JobResult {
  readonly done: Promise<Versioned<Import>>
}

/** A file takes longer than other jobs: it gets so many times the patience of 1 s, which makes 5 s. */
const planPatience = 5

/** How often a process looks whether another one still works. Milliseconds. */
const followMs = 1_000

export class ImportActions {
  readonly #storage: Storage
  readonly #parts: ImportParts
  /** By import, and plans by token. */
  readonly #jobs = new Map<number | string, Promise<unknown>>()
  readonly #stop = new AbortController()

  constructor(storage: Storage, parts: ImportParts) {
    this.#storage = storage
    this.#parts = parts
  }

  /** Finds the account's import. */
  async find(account: number, id: number): Promise<Versioned<Import> | undefined> {
    const stored = await findImport(this.#storage, account, id)
    return stored && this.#shown(account, stored)
  }

  async #shown(account: number, stored: StoredImport): Promise<Versioned<Import>> {
    const proofs = await countProofs(this.#storage, account, [stored.id])
    return versionedImport(importRecord(stored, proofs(stored.id)))
  }

  /** Finds the account's import with its options, columns and progress, which the API doesn't show. */
  findStored(account: number, id: number): Promise<StoredImport | undefined> {
    return findImport(this.#storage, account, id)
  }

  /** Lists one page with the account's imports. */
  async list(account: number, request: PageRequest): Promise<Page<Import>> {
    const page = await listImports(this.#storage, account, request)
    const proofs = await countProofs(
      this.#storage,
      account,
      page.rows.map(({ id }) => id),
    )
    return { ...page, rows: page.rows.map((stored) => importRecord(stored, proofs(stored.id))) }
  }

  /** Lists a page of the rows of the account's import. Throws `not_found`. */
  async listRows(account: number, id: number, request: ImportRowsQuery): Promise<Page<ImportRow>> {
    const page = await this.listStoredRows(account, id, request)
    return { ...page, rows: page.rows.map((row) => rowRecord(row, this.#parts.rules.shortUrl)) }
  }

  /** Returns a stored row as the API shows it. */
  showRow(row: ListedRow): ImportRow {
    return rowRecord(row, this.#parts.rules.shortUrl)
  }

  /** Lists the first rows that a filter selects, as `listStoredRows` does. */
  firstRows(account: number, id: number, filter: Partial<ImportRowsQuery>, per_page: number): Promise<Page<ListedRow>> {
    const all = { sort_by: 'id', sort: 'asc', page: null, after: null, outcome: null, proof: null } as const
    return this.listStoredRows(account, id, { ...all, ...filter, per_page })
  }

  /** Lists rows as they are stored, with the changes of updates, which the API doesn't show. Throws `not_found`. */
  async listStoredRows(account: number, id: number, request: ImportRowsQuery): Promise<Page<ListedRow>> {
    const { state } = found(await findImport(this.#storage, account, id), 'import')
    // Rows have no outcome yet.
    if (state === 'planning' || state === 'failed') return { rows: [], total: 0, totalIsExact: true }
    return listRows(this.#storage, account, id, request)
  }

  /**
   * Plans the import of a file. Waits for it up to `planPatience`, and then for the record. Throws the failures of `readFile`,
   * `validation_failed` with all violations, and `insufficient_scope` if the plan creates tags and the actor can't. After the
   * response, these are the error of the import.
   */
  async plan(actor: Actor, file: FileBytes, sent: Omit<PlanRequest, 'actor'>): Promise<PlanResult> {
    requireScope(actor, 'links:write')
    const { account, batchId: token } = actor
    const violations = [...(sent.violations ?? []), ...(await this.#findViolations(account, sent.options))]
    const lease = { account, token }
    let isAwaited = true
    const done = this.#hold(lease, async () => {
      try {
        const id = await this.#parts.run({ kind: 'plan', request: { ...sent, actor, violations }, file })
        const stored = found(await findImport(this.#storage, account, id), 'import')
        await hideOldPlans(this.#storage, account)
        return await this.#shown(account, stored)
      } catch (error) {
        if (!(isAwaited || error instanceof Failure)) this.#parts.onProblem(error)
        // If this fails, the lease ends, too.
        const failed = this.#storage.write(async (tx) => {
          const hadBegun = await failPlan(tx, lease, isAwaited ? null : importError(error))
          if (hadBegun && isAwaited && sent.once !== undefined) await releaseClaim(tx, sent.once.claim)
        })
        await failed.catch(() => undefined)
        throw error
      }
    })
    this.#track(token, done)
    const isDone = await this.#isDone(done, planPatience)
    if (isDone) return { shown: await done, isDone, done }
    let id: number | undefined
    while (id === undefined) {
      if (await this.#isDone(done, 0)) return { shown: await done, isDone: true, done }
      id = await findPlanned(this.#storage, lease)
      if (id === undefined) await wait(followMs, undefined, { ref: false })
    }
    isAwaited = false
    return { shown: (await this.find(account, id)) ?? (await done), isDone, done }
  }

  /** Plans an import again, from its stored rows, with other values of some options. Throws like `plan` and `apply`. */
  async replan(actor: Actor, id: number, changed: Partial<Omit<ImportOptions, 'source'>>): Promise<Versioned<Import>> {
    requireScope(actor, 'links:write')
    const { account } = actor
    const lease = { account, id, token: actor.batchId }
    if (!(await takeLease(this.#storage, lease, 'plan'))) throw importRunning('plan', 5)
    return this.#hold(lease, async () => {
      const planned = await this.#inState(account, id, ['planned'])
      const options = { ...planned.options, ...changed }
      const violations = await this.#findViolations(account, options)
      if (violations.length > 0) throw validationFailed(violations)
      await this.#parts.run({ kind: 'replan', actor, planned, options, lease })
      const stored = found(await findImport(this.#storage, account, id), 'import')
      return this.#shown(account, stored)
    })
  }

  /** Returns what is wrong with options that name records. */
  async #findViolations(account: number, { domain_map, space_id }: ImportOptions): Promise<Violation[]> {
    const names = [...new Set(Object.values(domain_map ?? {}))].filter((name) => name !== leftOut)
    const known = await domainsNamed(this.#storage, account, names)
    const missing = names.filter((name) => !known.has(name))
    const violations = missing.map((name) => new Refusal('unknown_domain.name', { name }).at('domain_map'))
    const hasSpace = space_id === null || (await findLinkSpace(this.#storage, account, space_id)) !== undefined
    if (!hasSpace) violations.push(unknownSpace(space_id))
    return violations
  }

  /**
   * Applies an import. An applied one stays as it is. Throws `not_found`, `import_state`, `import_running`, `import_blocked`,
   * `insufficient_scope`, and `precondition_failed` if the plan no longer holds.
   */
  async apply(actor: Actor, id: number): Promise<JobResult> {
    requireScope(actor, 'links:write')
    const { account } = actor
    const before = await this.#inState(account, id, ['planned', 'applying', 'applied'])
    if (before.state === 'applied') return { shown: await this.#shown(account, before), isDone: true }
    if (before.state === 'applying') requireUndoable(before)
    const { outcomes } = before.summary
    if (outcomes.conflict > 0) throw importBlocked(outcomes.conflict)
    requireTags(actor, before)
    return this.#start(actor, id, 'apply', async (lease) => {
      const planned = await this.#inState(account, id, ['planned', 'applying'])
      // What is stored by now has changed other outcomes. Rows that can't be stored are refused, and the report names them.
      if (planned.state === 'planned') await this.#check(actor, planned)
      return async () => void (await this.#parts.run({ kind: 'apply', actor, planned, lease }))
    })
  }

  /** Throws `precondition_failed` with the version of the import if its plan no longer holds. */
  async #check(actor: Actor, planned: StoredImport): Promise<void> {
    try {
      await this.#parts.run({ kind: 'check', actor, planned })
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'precondition_failed')) throw error
      const { version } = await this.#shown(actor.account, planned)
      throw new Failure(error.code, error.message, { version })
    }
  }

  /** Proves an import: all addresses whose result isn't `same`. Throws `not_found`, `import_state` and `import_running`. */
  async proof(actor: Actor, id: number): Promise<JobResult> {
    requireScope(actor, 'links:write')
    const { account } = actor
    await this.#inState(account, id, ['applied'])
    return this.#start(actor, id, 'proof', async () => {
      const { summary } = await this.#inState(account, id, ['applied'])
      const source = await proofSource(this.#storage, account, { importId: id, rows: summary.rows })
      return () => this.#parts.prove(source, this.#stop.signal)
    })
  }

  /** Undoes an import. Throws `not_found`, `import_state`, `import_running` and `import_edited`. */
  async undo(actor: Actor, id: number): Promise<JobResult> {
    requireScope(actor, 'links:write')
    const { account } = actor
    const states: readonly ImportState[] = ['applying', 'applied', 'undoing']
    await this.#inState(account, id, states)
    return this.#start(actor, id, 'undo', async (lease) => {
      const applied = await this.#inState(account, id, states)
      requireUndoable(applied)
      if (applied.state !== 'undoing') await requireUnedited(this.#storage, account, applied)
      const { reversals } = this.#parts
      const isStopped = () => this.#stop.signal.aborted
      return () => undoImport(actor, applied, lease, { storage: this.#storage, reversals, isStopped })
    })
  }

  /** Waits until this process has finished its job with an import. */
  async wait(id: number): Promise<void> {
    await this.#jobs.get(id)
  }

  /** Stops all jobs. The next request for each of them continues. Call this after the thread of `run` has ended. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#jobs.values())
  }

  async #inState(account: number, id: number, states: readonly ImportState[]): Promise<StoredImport> {
    const stored = found(await findImport(this.#storage, account, id), 'import')
    if (!states.includes(stored.state)) throw importConflict('import_state', `The import is ${stored.state}.`)
    return stored
  }

  /** Runs work with a lease that this process holds, and renews it until the work ends. */
  async #hold<T>(lease: Omit<Lease, 'id'>, work: () => Promise<T>): Promise<T> {
    const renewal = setInterval(() => void renewLease(this.#storage, lease).catch(() => undefined), leaseMs / 3)
    try {
      return await work()
    } finally {
      clearInterval(renewal)
      await releaseLease(this.#storage, lease)
    }
  }

  /** Starts a job, unless it is running already. Waits for it up to `patienceMs`. */
  async #start(actor: Actor, id: number, job: Job, prepare: PrepareJob): Promise<JobResult> {
    const { account, batchId: token } = actor
    const lease = { account, id, token }
    const result = async (isDone: boolean) => ({ shown: found(await this.find(account, id), 'import'), isDone })
    if (!(await takeLease(this.#storage, lease, job))) {
      if (!this.#jobs.has(id)) this.#track(id, this.#follow(lease, job, prepare))
      return result(false)
    }
    const prepared = Promise.withResolvers<void>()
    const done = this.#hold(lease, async () => {
      const work = await prepare(lease)
      prepared.resolve()
      await work()
    })
    this.#track(id, done)
    done.catch(prepared.reject)
    await prepared.promise
    const isDone = await this.#isDone(done, 1)
    if (!isDone) done.catch(this.#parts.onProblem)
    return result(isDone)
  }

  /** Waits for a job, up to so many times the patience. Returns whether it is done. Rejects if it fails before. */
  async #isDone(job: Promise<unknown>, times: number): Promise<boolean> {
    const { patienceMs } = this.#parts
    const patience = patienceMs === null ? [] : [wait(times * patienceMs, false, { ref: false })]
    return Promise.race([job.then(() => true), ...patience])
  }

  #track(key: number | string, job: Promise<unknown>): void {
    this.#jobs.set(key, job)
    void job.catch(() => undefined).finally(() => this.#jobs.delete(key))
  }

  /** Continues the job of another process if that process dies, so that its lease ends. */
  async #follow(lease: Lease, job: Job, prepare: PrepareJob): Promise<void> {
    const { signal } = this.#stop
    try {
      while (!signal.aborted && (await findJob(this.#storage, lease)) === job) {
        await wait(followMs, undefined, { ref: false, signal })
        if (!(await takeLease(this.#storage, lease, job))) continue
        return await this.#hold(lease, async () => (await prepare(lease))())
      }
    } catch (error) {
      if (!signal.aborted) this.#parts.onProblem(error)
    }
  }
}

/** Checks whether a job is possible, and returns its work. */
type PrepareJob = (lease: Lease) => Promise<() => Promise<void>>

/** Throws `import_state` if an import can't be undone any more, and its rows may be gone. */
function requireUndoable(stored: StoredImport): void {
  if (undoUntil(stored) < new Date().toISOString())
    throw importConflict('import_state', 'More than 30 days have passed.')
}

/** Returns the error of an import whose plan has failed. */
function importError(error: unknown): ImportError {
  if (!(error instanceof Failure) || failures[error.code].status >= 500) return interrupted
  const sentences = error.facts.violations?.map(({ refusal }) => refusal.forForm(null))
  return { code: error.code, message: sentences?.join(' ') ?? error.message }
}

/** Throws `insufficient_scope` if an import creates tags and the actor can't. */
function requireTags(actor: Actor, { summary }: StoredImport): void {
  if (summary.new_tags > 0) requireScope(actor, 'tags:write')
}
