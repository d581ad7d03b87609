import { randomUUID } from 'node:crypto'
import type { ResourceLimits } from 'node:worker_threads'
import { type DatabaseTrouble, databaseUnavailable, overloaded } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'
import { WorkerClient } from '../lib/worker-client.ts'
import type { StorageLocation } from '../storage/location.ts'
import type { Meter } from '../storage/port.ts'
import type { CountryFileReport } from './capture/country-file.ts'
import type { Visit } from './capture/visit.ts'
import type { Bounds } from './maintenance.ts'
import type { SinkConfig } from './sink/open.ts'
import { sinkMeters } from './sink/sink.ts'

export interface ClickWorkerOptions {
  readonly location: StorageLocation
  /** The operator's country database; null for the bundled one. */
  readonly geoipDb: string | null
  /** Where raw clicks are sent; null for nowhere. */
  readonly clicksSink: SinkConfig | null
}

export interface ClickWorkerData extends ClickWorkerOptions {
  /** Identifies this process, whichever of its threads writes. */
  readonly process: string
}

/** The response is true, except if there was no click to take, or no link whose clicks to delete. */
export type ClickRequest =
  | { readonly work: 'start' }
  | { readonly work: 'write'; readonly batch: number; readonly visits: string }
  | { readonly work: 'take'; readonly visit: Visit }
  | { readonly work: 'delete'; readonly account: number; readonly link: number }
  | { readonly work: 'maintain'; readonly bounds: Bounds }
  | { readonly work: 'stop' }

export type ClickNotice =
  | { readonly kind: 'country file'; readonly report: CountryFileReport }
  | { readonly kind: 'sink meters'; readonly values: readonly number[] }
  | { readonly kind: 'sink problem'; readonly error: string; readonly problem: SinkProblem }

/** Raw clicks wait for the sink, a batch was dropped, or all are dropped because the spool cannot be opened. */
export type SinkProblem = 'waiting' | 'dropped' | 'unusable spool'

/** An outage of the database, as the worker sends it. */
export interface SentOutage {
  readonly isOutage: true
  readonly cause: unknown
  readonly reason: DatabaseTrouble | undefined
}

/** An `AggregateError`, as the worker sends it. A clone would lack its errors. */
export interface SentErrors {
  readonly message: string
  readonly errors: readonly unknown[]
}

export interface ClickWorkerListeners {
  /** Gets the first error of each outage of the sink, and an error for each batch that the spool dropped. */
  readonly onSinkProblem: (error: unknown, problem: SinkProblem) => void
  /** See `openCountries`. */
  readonly onCountryFile: (report: CountryFileReport) => void
}

/** Takes that may wait: a little more than a second of them. */
const maxPending = 1_000
/** How long the thread may take to end. Milliseconds. */
const closeMs = 10_000
/** The country database is outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 }

/**
 * Classifies and stores visits in a worker thread, because a batch takes tens of milliseconds. Methods reject with
 * `database_unavailable`.
 */
export class ClickWorker {
  readonly #client: WorkerClient<ClickRequest, boolean, ClickNotice>
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    { name: 'write_seconds', help: 'Time until a batch of clicks is written.', value: this.#seconds },
  ]
  readonly sinkMeters: readonly Meter[]

  constructor(
    options: ClickWorkerOptions,
    { onSinkProblem, onCountryFile }: ClickWorkerListeners,
    limits: ResourceLimits = resourceLimits,
  ) {
    let measured: readonly number[] = []
    this.sinkMeters = options.clicksSink === null ? [] : sinkMeters((at) => measured[at] ?? 0)
    this.#client = new WorkerClient({
      module: new URL('./worker.ts', import.meta.url),
      workerData: { ...options, process: randomUUID() } satisfies ClickWorkerData,
      resourceLimits: limits,
      closeMs,
      unavailable: databaseUnavailable,
      toError,
      onNotice: (notice) => {
        if (notice.kind === 'sink meters') measured = notice.values
        else if (notice.kind === 'sink problem') onSinkProblem(notice.error, notice.problem)
        else onCountryFile(notice.report)
      },
    })
  }

  /** Starts the thread, unless it runs. Resolves when it can store visits. */
  async start(): Promise<void> {
    await this.#request({ work: 'start' })
  }

  /** Stores a batch of visits. The same batch may be sent again after any error: it is stored once. */
  async write(batch: number, visits: readonly Visit[]): Promise<void> {
    await this.#request({ work: 'write', batch, visits: JSON.stringify(visits) })
  }

  /**
   * Stores a visit if the limit of its link leaves a click. Returns whether it did. Rejects with `overloaded` if too many
   * visits wait.
   */
  async take(visit: Visit): Promise<boolean> {
    if (this.#client.pending >= maxPending) throw overloaded('Too many visitors of links with a limit are waiting.')
    return this.#request({ work: 'take', visit })
  }

  /** Deletes the clicks of the account's link. Returns false if there is no such link. */
  deleteClicks(account: number, link: number): Promise<boolean> {
    return this.#request({ work: 'delete', account, link })
  }

  /** Does the maintenance that is due: see `ClickMaintenance`. */
  async maintain(bounds: Bounds): Promise<void> {
    await this.#request({ work: 'maintain', bounds })
  }

  /** Lets the thread finish its transactions and end. Terminates it after `closeMs`. */
  async close(): Promise<void> {
    // Interrupts maintenance, which may have many transactions left. A database that hangs may never respond.
    if (this.#client.isRunning) this.#client.request({ work: 'stop' }).catch(() => undefined)
    await this.#client.close()
  }

  async #request(request: ClickRequest): Promise<boolean> {
    const start = performance.now()
    const response = await this.#client.request(request)
    this.#seconds.add((performance.now() - start) / 1_000)
    return response
  }
}

function toError(sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || sent instanceof Error) return sent
  if ('errors' in sent) {
    const { message, errors } = sent as SentErrors
    return new AggregateError(errors.map(toError), message)
  }
  if (!('isOutage' in sent)) return sent
  const { cause, reason } = sent as SentOutage
  return databaseUnavailable(cause, reason)
}
