import type { Actor } from '../access/actor.ts'
import { toUtcDay } from '../accounts/calendar.ts'
import { Periodic } from '../lib/periodic.ts'
import type { Meter, Storage } from '../storage/port.ts'
import type { Countries } from './capture/countries.ts'
import type { Visit } from './capture/visit.ts'
import { ClickQueue } from './click-queue.ts'
import { ClickWorker, type ClickWorkerOptions } from './click-worker.ts'
import { type Bounds, isMaintenanceDue, runAll } from './maintenance.ts'
import { skipDaysWithoutClicks } from './recent-totals.ts'
import { saltMs } from './salts.ts'

/** `onProblem` also gets the first error of each outage of the database, and lost clicks. */
export interface ClickOptions extends Omit<ClickWorkerOptions, 'location'> {
  /** Days for which daily aggregates are retained; 0 for no limit. */
  readonly clicksRetention: number
}

/** The pause between runs of the maintenance, and before a run after a change. Milliseconds. */
const [maintenanceMs, soonMs] = [5_000, 100]
/** Counts clicks in one process. */
export class Clicks {
  readonly #storage: Storage
  readonly #options: ClickOptions
  readonly #worker: ClickWorker
  readonly #queue: ClickQueue
  readonly #maintenance: Periodic
  #isInterrupted = false
  readonly meters: readonly Meter[]
  readonly sinkMeters: readonly Meter[]

  constructor(storage: Storage, options: ClickOptions) {
    const { geoipDb, clicksSink, onProblem, onCountryFile } = options
    this.#storage = storage
    this.#options = options
    this.#worker = new ClickWorker({ location: storage.location, geoipDb, clicksSink, onProblem, onCountryFile })
    this.#queue = new ClickQueue(this.#worker, onProblem)
    this.#maintenance = new Periodic(() => this.maintain(), {
      everyMs: maintenanceMs,
      onError: (error) => {
        if (!this.#isInterrupted) onProblem(error, 'click maintenance was interrupted; it will continue')
        this.#isInterrupted = true
      },
    })
    this.meters = [...this.#queue.meters, ...this.#worker.meters]
    this.sinkMeters = this.#worker.sinkMeters
  }

  /** Counts a visit to a link without a click limit. Takes less than a microsecond. */
  count(visit: Visit): void {
    this.#queue.add(visit)
  }

  /** See `ClickQueue.take`. */
  take(visit: Visit): Promise<boolean> {
    return this.#queue.take(visit)
  }

  /** See `ClickWorker.countries`. */
  countries(): Promise<Pick<Countries, 'of'>> {
    return this.#worker.countries()
  }

  /** Deletes a link's clicks, including pending ones. Returns false if the account has no such link. */
  async deleteClicks(actor: Actor, link: number): Promise<boolean> {
    await this.#queue.flush()
    return this.#worker.deleteClicks(actor, link)
  }

  /** Deletes the clicks of permanently deleted records, and overwrites deleted rows where the engine still stores them. */
  async erase(): Promise<void> {
    await this.#queue.flush()
    await this.#worker.erase()
  }

  /** See `ClickQueue.flush`. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  /** Moves a link's clicks soon after a change of the link. */
  linkChanged(): void {
    this.#maintenance.runIn(soonMs)
  }

  /** Starts writing. With `expectsClicks`, the thread is ready before the first click. */
  begin({ expectsClicks }: { readonly expectsClicks: boolean }): void {
    const { clicksSink, onProblem } = this.#options
    // An earlier process may have left rows for the sink.
    if (expectsClicks || clicksSink !== null) {
      this.#worker.start().catch((error) => {
        onProblem(error, 'the thread that writes clicks did not start; the next click starts it again')
      })
    }
    this.#queue.start()
    this.#maintenance.start(soonMs)
  }

  /** Does the maintenance that is due at `now`, in Unix milliseconds. See `runAll`. */
  async maintain(now = Date.now()): Promise<void> {
    const { clicksRetention } = this.#options
    const bounds: Bounds = {
      nowMs: now,
      visitorsUntilMs: now - saltMs,
      daysBefore: clicksRetention === 0 ? 0 : toUtcDay(now) - clicksRetention,
    }
    await runAll([
      // Here, because most servers without clicks never start the thread.
      () => skipDaysWithoutClicks(this.#storage, bounds),
      async () => {
        if (await isMaintenanceDue(this.#storage, bounds)) await this.#worker.maintain(bounds)
      },
    ])
    this.#isInterrupted = false
  }

  /** Writes pending clicks, within seconds. Maintenance continues after the next start. */
  async close(): Promise<void> {
    await this.#queue.close()
    await this.#worker.close()
    await this.#maintenance.close()
  }
}
