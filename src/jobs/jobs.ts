import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Failure } from '../errors.ts'
import { failures } from '../http/failures.ts'
import { Periodic } from '../lib/periodic.ts'
import type { Storage } from '../storage/port.ts'
import {
  claimJob,
  endJob,
  ensureJob,
  findFirstJob,
  findJob,
  type Job,
  type JobKind,
  type Lease,
  LeaseEnded,
  leaseMs,
  releaseJob,
  renewLease,
  type Subject,
} from './store.ts'

/**
 * The time that a request waits for its job. Much shorter than the 10 s after which a proxy counts this server as failed.
 * Milliseconds.
 */
export const maxWaitMs = 5_000
/** How often a server looks for jobs to continue if no lease ends before, and the pause after an outage. Milliseconds. */
const [everyMs, retryMs] = [10_000, 1_000]
/** The pause before a job is tried again that fails by itself. Milliseconds. */
const failedMs = 60_000
/** How often a request looks whether another process has finished its job. Milliseconds. */
const followMs = 50
/** Jobs of each kind that a server continues at the same time: long ones don't keep it from other kinds. */
const maxContinued = 4

/** What work under a lease gets. */
interface Held {
  readonly lease: Lease
  /** Aborts when the process ends, or when the lease has ended. */
  readonly signal: AbortSignal
  /** The time at which the work began, in Unix milliseconds. */
  readonly now: number
}

/** A job that this process works on. */
export interface HeldJob extends Job, Held {}

/** Does a job, or continues it. A step that was committed just before a kill may run again. */
export type Work = (job: HeldJob) => Promise<void>

interface JobsOptions {
  /** How long a request waits by default; null: until the job ends. Milliseconds. */
  readonly maxWaitMs: number | null
  /** Jobs that end when this process is stopped. Others continue the rest. */
  readonly cancelledAtEnd?: readonly JobKind[]
  /** Gets the first error of an outage. */
  readonly onProblem: (error: unknown) => void
  /** Gets why a job has ended that no request waits for. */
  readonly onFailure?: (failure: Failure, subject: Subject) => void
  /** The clock of leases and retention, in Unix milliseconds. */
  readonly now?: () => number
}

/** A job that this process has taken. */
interface Claim {
  readonly job: Job
  readonly lease: Lease
}

/** Works on jobs: one process at a time works on each, and another one continues it if that process dies. */
export class Jobs {
  readonly #storage: Storage
  readonly #options: JobsOptions
  readonly #now: () => number
  readonly #works = new Map<JobKind, Work>()
  readonly #repeated: JobKind[] = []
  readonly #running = new Set<Promise<unknown>>()
  readonly #continued = new Set<Job>()
  readonly #continue: Periodic
  readonly #stop = new AbortController()
  #isInterrupted = false

  constructor(storage: Storage, options: JobsOptions) {
    this.#storage = storage
    this.#options = options
    this.#now = options.now ?? Date.now
    const onError = (error: unknown) => this.#interrupted(error)
    this.#continue = new Periodic(() => this.#continueSome(), { everyMs, onError })
  }

  /** Sets how this process does jobs of a kind. */
  define(kind: JobKind, work: Work): void {
    this.#works.set(kind, work)
  }

  /** Sets how this process does work on the whole instance. One process at a time does it, again and again, with pauses in milliseconds. */
  repeat(kind: JobKind, pauseMs: number, work: Work): void {
    this.#repeated.push(kind)
    this.define(kind, async (job) => {
      await work(job)
      await releaseJob(this.#storage, job.lease, this.#now() + pauseMs)
    })
  }

  /** Continues jobs that no process works on, now and at intervals. */
  start(): void {
    this.#continue.start(0)
  }

  /**
   * Does the job of a subject, or waits for the process that does. Returns true when it has ended, and false after `waitMs`, or
   * if this process stops. Rejects with the failure of the job if it fails before.
   */
  async run(subject: Subject, waitMs = this.#options.maxWaitMs): Promise<boolean> {
    const work = this.#follow(subject, waitMs)
    this.#track(work)
    const patience = waitMs === null ? [] : [wait(waitMs, false, { ref: false })]
    const hasEnded = await Promise.race([work, ...patience])
    if (!hasEnded) work.catch((error) => this.#failedUnseen(subject, error))
    return hasEnded
  }

  /** Works under a lease that a timer renews. The work adds its job with this lease, unless it `hasJob`, and ends it. */
  async hold<T>(lease: Lease, work: (held: Held) => Promise<T>, hasJob = false): Promise<T> {
    const ended = new AbortController()
    let wasHeld = hasJob
    const renew = async () => {
      const isHeld = await renewLease(this.#storage, lease, this.#now())
      if (wasHeld && !isHeld) ended.abort(new LeaseEnded())
      wasHeld = isHeld
    }
    const renewal = setInterval(() => void renew().catch(() => undefined), leaseMs / 3).unref()
    const signal = AbortSignal.any([this.#stop.signal, ended.signal])
    const running = work({ lease, signal, now: this.#now() })
    this.#track(running)
    try {
      return await running
    } finally {
      clearInterval(renewal)
    }
  }

  /** Continues all jobs that no process works on, and the jobs that they add. Throws the first error at the end. */
  async finish(): Promise<void> {
    const errors: unknown[] = []
    for (let claim = await this.#claimNext(); claim !== undefined; claim = await this.#claimNext()) {
      await this.#work(claim).catch((error) => errors.push(error))
    }
    if (errors.length > 0) throw errors[0]
  }

  /** Stops all jobs after the current step. Another process can continue them, or this one after its next start. */
  async close(): Promise<void> {
    this.#stop.abort(new LeaseEnded())
    await this.#continue.close()
    await Promise.allSettled(this.#running)
  }

  async #continueSome(): Promise<void> {
    for (const kind of this.#repeated) {
      await ensureJob(this.#storage, { kind, record: 'instance', record_id: 0, account: null })
    }
    let claim = await this.#claimNext()
    if (claim === undefined) this.#isInterrupted = false
    for (; claim !== undefined; claim = await this.#claimNext()) this.#track(this.#continueJob(claim))
  }

  /** Takes the next job whose time has come. Returns undefined if there is none, and looks again at the time of the next one. */
  async #claimNext(): Promise<Claim | undefined> {
    // A stopped job is due again immediately.
    while (!this.#stop.signal.aborted) {
      const kinds = [...this.#works.keys()].filter((kind) => !this.#isFull(kind))
      const first = await findFirstJob(this.#storage, kinds)
      if (first === undefined) return
      const now = this.#now()
      if (first.free_at_ms > now) {
        this.#continue.runIn(Math.min(everyMs, first.free_at_ms - now))
        return
      }
      const token = randomUUID()
      const job = await claimJob(this.#storage, first, token, now, { isDue: true })
      if (job !== undefined) return { job, lease: { token } }
    }
  }

  #isFull(kind: JobKind): boolean {
    return [...this.#continued].filter((job) => job.kind === kind).length >= maxContinued
  }

  async #continueJob(claim: Claim): Promise<void> {
    const { job } = claim
    this.#continued.add(job)
    try {
      await this.#work(claim)
    } catch (error) {
      this.#failedUnseen(job, error)
      throw error
    } finally {
      const wasFull = this.#isFull(job.kind)
      this.#continued.delete(job)
      if (wasFull) void this.#continue.run()
    }
  }

  #track(work: Promise<unknown>): void {
    this.#running.add(work)
    work.catch((error) => this.#interrupted(error)).finally(() => this.#running.delete(work))
  }

  /** Waits for the end of a job up to `waitMs`, and does it as soon as no other process does. Returns whether it has ended. */
  async #follow(subject: Subject, waitMs: number | null): Promise<boolean> {
    const { signal } = this.#stop
    const until = waitMs === null ? Number.POSITIVE_INFINITY : performance.now() + waitMs
    while (signal.aborted || !(await this.#attempt(subject))) {
      if (signal.aborted || performance.now() >= until) return false
      await wait(followMs, undefined, { ref: waitMs === null, signal }).catch(() => undefined)
    }
    return true
  }

  /** Takes a job and does it, unless another process does. Returns whether it has ended. */
  async #attempt(subject: Subject): Promise<boolean> {
    const token = randomUUID()
    const job = await claimJob(this.#storage, subject, token, this.#now())
    if (job === undefined) return (await findJob(this.#storage, subject)) === undefined
    return this.#work({ job, lease: { token } })
  }

  /** Works on a job. Returns whether it has ended. */
  async #work({ job, lease }: Claim): Promise<boolean> {
    const work = this.#works.get(job.kind)
    if (work === undefined) throw new Error(`No work is defined for jobs of the kind ${job.kind}.`)
    try {
      await this.hold(lease, (held) => work({ ...job, ...held }), true)
      await endJob(this.#storage, lease)
      return true
    } catch (error) {
      return await this.#failed(job, lease, error)
    }
  }

  /** Gives back a job that has failed. Returns false if this process stops, or another one has it; throws the error otherwise. */
  async #failed({ kind }: Job, lease: Lease, error: unknown): Promise<boolean> {
    const storage = this.#storage
    if (this.#stop.signal.aborted) {
      const isCancelled = this.#options.cancelledAtEnd?.includes(kind)
      const given = isCancelled ? endJob(storage, lease) : releaseJob(storage, lease, this.#now())
      await given.catch(() => undefined)
      return false
    }
    if (isFinal(error)) {
      await endJob(storage, lease)
      throw error
    }
    const pause = error instanceof Failure ? retryMs : failedMs
    const message = error instanceof Error ? error.message : String(error)
    // If the database fails, the lease ends later.
    const isHeld = await releaseJob(storage, lease, this.#now() + pause, message).catch(() => true)
    if (isHeld) throw error
    return false
  }

  /** Reports why a job has ended that no request waits for. */
  #failedUnseen({ record, record_id }: Subject, error: unknown): void {
    if (isFinal(error)) this.#options.onFailure?.(error, { record, record_id })
  }

  /** Reports the first error of an outage, and continues soon. */
  #interrupted(error: unknown): void {
    if (isFinal(error) || error instanceof LeaseEnded || this.#stop.signal.aborted) return
    if (!this.#isInterrupted) this.#options.onProblem(error)
    this.#isInterrupted = true
    this.#continue.runIn(retryMs)
  }
}

/** Returns whether a repetition would fail in the same way. */
function isFinal(error: unknown): error is Failure {
  return error instanceof Failure && failures[error.code].status < 500
}
