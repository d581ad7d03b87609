import { randomUUID } from 'node:crypto'
import type { ResourceLimits } from 'node:worker_threads'
import type { Actor } from '../access/actor.ts'
import { overloaded } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'
import { WorkerClient } from '../lib/worker-client.ts'
import type { Meter } from '../storage/port.ts'
import { Countries, type CountryFileReport } from './capture/countries.ts'
import type { Visit } from './capture/visit.ts'
import type { ClickNotice, ClickRequest, ClickWorkerData } from './click-requests.ts'
import type { Bounds } from './maintenance.ts'
import { sinkMeters } from './sink/sink.ts'

export interface ClickWorkerOptions extends Omit<ClickWorkerData, 'process'> {
  /** Gets the first error of each outage of the sink, and an error for each batch that the spool dropped. */
  readonly onProblem: OnProblem
  /** See `openCountries`. */
  readonly onCountryFile: (report: CountryFileReport) => void
}

/** Gets an error and the log message. The level is `warn` by default. */
export type OnProblem = (error: unknown, message: string, level?: 'warn' | 'error') => void

/** Takes that may wait: a little more than a second of them. */
const maxPending = 1_000
/** How long the thread may take to end. Milliseconds. */
const closeMs = 10_000
/** Does not include the country database. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 }

/** Classifies and stores visits in a thread: a batch takes 10 ms and more. Rejects with `database_unavailable`. */
export class ClickWorker {
  readonly #client: WorkerClient<ClickRequest, boolean, ClickNotice>
  #countries: Countries | undefined
  readonly #hasCountries = Promise.withResolvers<void>()
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    { name: 'write_seconds', help: 'Time to write a batch of clicks.', value: this.#seconds },
  ]
  readonly sinkMeters: readonly Meter[]

  constructor({ onProblem, onCountryFile, ...data }: ClickWorkerOptions, limits: ResourceLimits = resourceLimits) {
    let measured: readonly number[] = []
    this.sinkMeters = data.clicksSink === null ? [] : sinkMeters((at) => measured[at] ?? 0)
    this.#client = new WorkerClient({
      module: new URL('./worker.ts', import.meta.url),
      workerData: { ...data, process: randomUUID() } satisfies ClickWorkerData,
      resourceLimits: limits,
      closeMs,
      onNotice: (notice) => {
        if (notice.kind === 'sink meters') measured = notice.values
        else if (notice.kind === 'countries') this.#useCountries(notice.bytes)
        else if (notice.kind === 'sink problem') onProblem(notice.error, notice.message, notice.level)
        else onCountryFile(notice.report)
      },
    })
  }

  /** Starts the thread, unless it runs. Resolves when it can store visits. */
  async start(): Promise<void> {
    await this.#client.request({ work: 'start' })
  }

  /**
   * Returns the countries that the thread uses, even after it has read a new version of the file, or has ended. Starts the
   * thread unless it has run before.
   */
  async countries(): Promise<Pick<Countries, 'of'>> {
    // The thread shares them before it opens the database.
    if (this.#countries === undefined) await Promise.race([this.start(), this.#hasCountries.promise])
    return { of: (address, header) => (this.#countries as Countries).of(address, header) }
  }

  #useCountries(bytes: SharedArrayBuffer): void {
    this.#countries = new Countries(bytes)
    this.#hasCountries.resolve()
  }

  /**
   * Stores a batch of visits. Returns false if it was stored before: the same batch may be sent again after any error.
   * Rejects with another error than `database_unavailable` if the thread dies of the batch.
   */
  async write(batch: number, visits: readonly Visit[]): Promise<boolean> {
    // A thread that can't start has not died of the batch.
    await this.start()
    try {
      return await this.#request({ work: 'write', batch, visits })
    } catch (error) {
      if (this.#client.isRunning) throw error
      throw new Error('The click writer thread died.', { cause: error })
    }
  }

  /** Stores a visit unless its link has reached its click limit. Returns whether it did. Rejects with `overloaded`. */
  async take(visit: Visit): Promise<boolean> {
    if (this.#client.pending >= maxPending) throw overloaded('Too many visitors of links with a limit are waiting.')
    return this.#request({ work: 'take', visit })
  }

  /** Deletes a link's clicks. Returns false if the account has no such link. */
  deleteClicks(actor: Actor, link: number): Promise<boolean> {
    return this.#request({ work: 'delete', author: actor, link })
  }

  /** See `ClickMaintenance.erase`. */
  async erase(): Promise<void> {
    await this.#request({ work: 'erase' })
  }

  /** See `ClickMaintenance`. */
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
