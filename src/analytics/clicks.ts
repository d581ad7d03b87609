import type { Meter, Storage } from '../storage/port.ts'
import type { CountryFileReport } from './capture/country-file.ts'
import type { Visit } from './capture/visit.ts'
import { ClickChores } from './chores.ts'
import { ClickRecorder } from './recorder.ts'
import { ClickWriter, type OnSinkProblem, type SinkTrouble, type WriterOptions } from './writer.ts'

export interface ClickOptions extends Omit<WriterOptions, 'location'> {
  /** Days for which break-downs are kept; 0: for ever. */
  readonly clicksRetention: number
  /** Hears of the first failure of each outage, and what it means. The level is `warn` by default. */
  readonly onProblem: (error: unknown, meaning: string, level?: 'warn' | 'error') => void
  readonly onCountryFile: (report: CountryFileReport) => void
}

/** Log messages and their levels. */
const sinkTroubles: Readonly<Record<SinkTrouble, readonly [meaning: string, level: 'warn' | 'error']>> = {
  waiting: ['raw clicks wait on the disk, since their sink does not take them', 'warn'],
  dropped: ['a batch of raw clicks was dropped, because its sink never confirmed it', 'error'],
  'unusable spool': ['raw clicks are dropped until their spool can be opened; statistics still count them', 'error'],
}

/** The clicks of a process: how they are counted, written, forgotten and looked after. */
export class Clicks {
  readonly #recorder: ClickRecorder
  readonly #chores: ClickChores
  readonly #writer: ClickWriter
  readonly #hasSink: boolean
  readonly #onStartFailure: (error: unknown) => void
  readonly meters: readonly Meter[]
  readonly sinkMeters: readonly Meter[]

  constructor(storage: Storage, { geoipDb, clicksSink, clicksRetention, onProblem, onCountryFile }: ClickOptions) {
    const telling = (meaning: string) => (error: unknown) => onProblem(error, meaning)
    const options = { location: storage.location, geoipDb, clicksSink }
    const onSinkProblem: OnSinkProblem = (error, trouble) => onProblem(error, ...sinkTroubles[trouble])
    this.#writer = new ClickWriter(options, onSinkProblem, onCountryFile)
    const writer = this.#writer
    this.#hasSink = clicksSink !== null
    this.#onStartFailure = telling('the thread that writes clicks did not start; the next click starts it again')
    this.#recorder = new ClickRecorder(writer, telling('clicks wait to be written, since the database is away'))
    this.#chores = new ClickChores(storage, writer, {
      retention: clicksRetention,
      onProblem: telling('the upkeep of clicks was interrupted; it will go on'),
    })
    this.meters = [...this.#recorder.meters, ...writer.meters]
    this.sinkMeters = writer.sinkMeters
  }

  /** Counts a click on a link without a limit. Takes less than a microsecond. */
  count(visit: Visit): void {
    this.#recorder.count(visit)
  }

  /** See `ClickRecorder.take`. */
  take(visit: Visit): Promise<boolean> {
    return this.#recorder.take(visit)
  }

  /** See `ClickRecorder.forget`. */
  forget(account: number, link: number): Promise<boolean> {
    return this.#recorder.forget(account, link)
  }

  /** See `ClickRecorder.flush`. */
  flush(): Promise<void> {
    return this.#recorder.flush()
  }

  /** Has the clicks of a link follow a change of it. */
  linkChanged(): void {
    this.#chores.look()
  }

  /** Begins to write. A process that `expectsClicks` has the thread ready before the first of them. */
  begin({ expectsClicks }: { readonly expectsClicks: boolean }): void {
    // Rows of an earlier process may be waiting for the sink.
    if (expectsClicks || this.#hasSink) this.#writer.start().catch(this.#onStartFailure)
    this.#recorder.begin()
    this.#chores.begin()
  }

  /** Writes what waits, within seconds. */
  async close(): Promise<void> {
    // What waits is written first: the upkeep can go on after the next start.
    await this.#recorder.close()
    await this.#chores.close()
  }
}
