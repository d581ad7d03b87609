/** Plans, applies, proves and undoes imports, for the API, the dashboard and the command line. */

import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Actor } from '../access/actor.ts'
import { requireScope } from '../access/roles.ts'
import {
  Failure,
  found,
  importBlocked,
  importConflict,
  importRunning,
  preconditionFailed,
  validationFailed,
} from '../errors.ts'
import type { Reversals } from '../events/reversal.ts'
import { failures } from '../http/failures.ts'
import { releaseClaim } from '../idempotency/store.ts'
import type { HeldJob, Jobs } from '../jobs/jobs.ts'
import { cancelJob, endJob, inSteps } from '../jobs/store.ts'
import { domainsNamed } from '../links/batch-store.ts'
import type { LinkRules } from '../links/link-violations.ts'
import { findLinkSpace, unknownSpace } from '../links/store.ts'
import type { Db, Page, PageRequest, Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { Refusal, type Violation } from '../violations.ts'
import type { FileBytes, RunImportJob } from './jobs.ts'
import type { PlanRequest } from './plan.ts'
import type { ProofSource } from './proof.ts'
import { countProofs, openProof } from './proofs/store.ts'
import {
  type Import,
  type ImportOptions,
  type ImportRow,
  type ImportRowsQuery,
  type ImportState,
  leftOut,
} from './schema.ts'
import { importRecord, rowRecord, versionedImport } from './shown.ts'
import { deleteSome, type ListedRow, listRows } from './staging/store.ts'
import {
  addImportJob,
  deleteImport,
  deleteOldPlans,
  failPlan,
  findImport,
  findPlanned,
  type ImportError,
  type ImportJobKind,
  interrupted,
  listImports,
  type StoredImport,
  undoUntil,
} from './store.ts'
import { requireUnedited, undoImport } from './undo.ts'

interface ImportParts {
  readonly rules: LinkRules
  readonly run: RunImportJob
  readonly reversals: Reversals
  /** Proves the addresses of a source against their old services. */
  readonly prove: (source: ProofSource, signal: AbortSignal) => Promise<void>
  readonly jobs: Jobs
  /** How long a request waits for its job; null: until the job ends. Milliseconds. */
  readonly patienceMs: number | null
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

/** How often a request looks whether its import exists. Milliseconds. */
const followMs = 1_000
/** Rows that one transaction deletes. */
const deletedTogether = 200

export class ImportActions {
  readonly #storage: Storage
  readonly #parts: ImportParts

  constructor(storage: Storage, parts: ImportParts) {
    this.#storage = storage
    this.#parts = parts
    const { jobs } = parts
    jobs.define('plan', (job) => this.#endPlan(job))
    jobs.define('apply', (job) => this.#applyRows(job))
    jobs.define('undo', async (job) => {
      const applied = await this.#workedOn(job)
      if (applied !== undefined) await undoImport(storage, job, applied, parts.reversals)
    })
    jobs.define('proof', async (job) => {
      const applied = await this.#workedOn(job)
      if (applied === undefined) return
      await parts.prove(await openProof(storage, job, applied.summary.rows), job.signal)
      // It ends early then.
      job.signal.throwIfAborted()
    })
    jobs.define('deletion', (job) => this.#deleteRows(job))
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
    const { account } = actor
    const lease = { token: randomUUID() }
    const violations = [...(sent.violations ?? []), ...(await this.#findViolations(account, sent.options))]
    let isAwaited = true
    const done = this.#parts.jobs.hold(lease, async () => {
      try {
        const id = await this.#parts.run({ kind: 'plan', request: { ...sent, actor, violations }, file, lease })
        const stored = found(await findImport(this.#storage, account, id), 'import')
        await deleteOldPlans(this.#storage, account)
        return await this.#shown(account, stored)
      } catch (error) {
        // If this fails, the lease ends, too.
        const failed = this.#storage.write(async (tx) => {
          const hadBegun = await failPlan(tx, account, lease, isAwaited ? null : importError(error))
          if (hadBegun && isAwaited && sent.once !== undefined) await releaseClaim(tx, sent.once.claim)
        })
        await failed.catch(() => undefined)
        throw error
      }
    })
    done.catch(() => undefined)
    const isDone = await this.#isDone(done)
    if (isDone) return { shown: await done, isDone, done }
    let id: number | undefined
    while (id === undefined) {
      if (await Promise.race([done.then(() => true), wait(0, false)])) return { shown: await done, isDone: true, done }
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
    const violations = async (stored: StoredImport) => this.#findViolations(account, { ...stored.options, ...changed })
    const invalid = await violations(await this.#inState(account, id, ['planned']))
    if (invalid.length > 0) throw validationFailed(invalid)
    return this.#parts.jobs.hold({ token: randomUUID() }, async ({ lease }) => {
      const job = { kind: 'plan', record: 'import', record_id: id, account, token: lease.token } as const
      const check = (stored: StoredImport | undefined) => requireState(stored, ['planned'])
      const isAdded = await this.#storage.write((tx) => addImportJob(tx, job, check))
      if (!isAdded) throw importRunning('plan', 5)
      try {
        // Read now, because another plan may have ended since the check.
        const planned = await this.#inState(account, id, ['planned'])
        const options = { ...planned.options, ...changed }
        await this.#parts.run({ kind: 'replan', actor, planned, options, lease: { ...lease, account, id } })
      } finally {
        await endJob(this.#storage, lease)
      }
      return found(await this.find(account, id), 'import')
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
    const before = await this.#inState(actor.account, id, ['planned', 'applying', 'applied'])
    if (before.state === 'applied') return { shown: await this.#shown(actor.account, before), isDone: true }
    if (before.state === 'applying') requireUndoable(before)
    const { outcomes } = before.summary
    if (outcomes.conflict > 0) throw importBlocked(outcomes.conflict)
    requireTags(actor, before)
    // What is stored by now has changed other outcomes. Rows that can't be stored are refused, and the report names them.
    const check = () => (before.state === 'planned' ? this.#check(actor, before) : undefined)
    return this.#start(actor, before, 'apply', ['planned', 'applying'], check)
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
    const proved = await countProofs(this.#storage, actor.account, [id])
    const stored = await this.#inState(actor.account, id, ['applied'])
    return this.#start(actor, stored, 'proof', ['applied'], requireUndoable, proved(id).same)
  }

  /** Stops the proof of an import. Its results stay. Throws `not_found`, and `import_state` if none runs. */
  async cancelProof(actor: Actor, id: number): Promise<void> {
    requireScope(actor, 'links:write')
    found(await findImport(this.#storage, actor.account, id), 'import')
    const isCancelled = await cancelJob(this.#storage, { record: 'proof', record_id: id })
    if (!isCancelled) throw importConflict('import_state', 'No proof of the import is running.')
  }

  /** Undoes an import. Throws `not_found`, `import_state`, `import_running` and `import_edited`. */
  async undo(actor: Actor, id: number): Promise<JobResult> {
    requireScope(actor, 'links:write')
    const { account } = actor
    const states = ['applying', 'applied', 'undoing'] as const
    return this.#start(actor, await this.#inState(account, id, states), 'undo', states, async (stored) => {
      requireUndoable(stored)
      await requireUnedited(this.#storage, account, stored)
    })
  }

  async #inState(account: number, id: number, states: readonly ImportState[]): Promise<StoredImport> {
    return requireState(await findImport(this.#storage, account, id), states)
  }

  /**
   * Starts a job of an import in one of these states, or joins the running one. Waits for it up to `patienceMs`. `check` throws if the
   * job is impossible. Throws `precondition_failed` if the import was planned again since it was read.
   */
  async #start(
    actor: Actor,
    stored: StoredImport,
    kind: ImportJobKind,
    states: readonly ImportState[],
    check: (stored: StoredImport) => unknown,
    done = 0,
  ): Promise<JobResult> {
    const { account } = actor
    const record_id = stored.id
    const { rows, provable } = stored.summary
    const total = { apply: rows, proof: provable, undo: stored.openEvents, plan: rows }[kind]
    const record = kind === 'proof' ? 'proof' : 'import'
    const job = { kind, record, record_id, account, actor, done, total } as const
    if ((kind === 'proof' ? stored.proof : stored.job)?.kind !== kind) await check(stored)
    const isNew = await this.#storage.write((tx) =>
      addImportJob(tx, job, (found) => {
        const now = requireState(found, states)
        const isReplaced = stored.state === 'planned' && now.updated_at !== stored.updated_at
        if (isReplaced) throw preconditionFailed(versionedImport(importRecord(now)).version)
      }),
    )
    const { jobs, patienceMs } = this.#parts
    // Another request gets the failure of a job that runs already.
    const isDone = await jobs.run(job, patienceMs === null || isNew ? patienceMs : 0)
    return { shown: found(await this.find(account, record_id), 'import'), isDone }
  }

  /** Waits for a plan. Returns whether it is done. Rejects if it fails before. */
  async #isDone(plan: Promise<unknown>): Promise<boolean> {
    const { patienceMs } = this.#parts
    const patience = patienceMs === null ? [] : [wait(planPatience * patienceMs, false, { ref: false })]
    return Promise.race([plan.then(() => true), ...patience])
  }

  /** Finds the import of a job. */
  async #workedOn({ account, record_id }: HeldJob): Promise<StoredImport | undefined> {
    return findImport(this.#storage, Number(account), record_id)
  }

  /** Ends a plan whose process has died: no other one has its file. */
  async #endPlan(job: HeldJob): Promise<void> {
    await this.#storage.write((tx) => failPlan(tx, Number(job.account), job.lease, interrupted))
  }

  async #applyRows(job: HeldJob): Promise<void> {
    const planned = await this.#workedOn(job)
    if (planned === undefined || job.actor === null) return
    const lease = { ...job.lease, account: job.actor.account, id: planned.id }
    await this.#parts.run({ kind: 'apply', actor: job.actor, planned, lease })
  }

  /** Deletes the rows of an import in steps, and the import if it is being deleted. */
  async #deleteRows({ record_id: id, lease, signal }: HeldJob): Promise<void> {
    const step = async (tx: Db) => {
      if (await deleteSome(tx, id, deletedTogether)) return {}
      await deleteImport(tx, id)
      await endJob(tx, lease)
      return null
    }
    await inSteps(this.#storage, lease, step, signal)
  }
}

/** Returns an import in one of these states. Throws `not_found` and `import_state`. */
function requireState(stored: StoredImport | undefined, states: readonly ImportState[]): StoredImport {
  const { state } = found(stored, 'import')
  if (!states.includes(state)) throw importConflict('import_state', `The import is ${state}.`)
  return stored as StoredImport
}

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
