import { type ClickHouseTable, clickHouseSink } from './clickhouse.ts'
import { fileOfProcess, jsonlFileSink } from './jsonl-file.ts'
import type { ClickRow } from './sink.ts'
import { Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

/** The destination of raw clicks in the configuration. */
export type SinkTarget =
  | { readonly kind: 'jsonl'; readonly path: string }
  | ({ readonly kind: 'clickhouse' } & ClickHouseTable)

export interface SinkConfig {
  readonly target: SinkTarget
  /** The folder in which clicks wait for the sink. */
  readonly spool: string
  /** The size limit of this folder for each process. */
  readonly spoolBytes: number
}

/** Opens the sink; null for none. `onProblem` gets the first error of each outage, and `SpoolUnusable`. */
export function openSink(config: SinkConfig | null, onProblem: (error: unknown) => void): ClickSink | null {
  return config === null ? null : new ClickSink(() => openSpool(config, onProblem), onProblem)
}

function openSpool({ target, spool, spoolBytes }: SinkConfig, onProblem: (error: unknown) => void): Spool {
  const folder = openSpoolFolder(spool)
  const sink =
    target.kind === 'jsonl' ? jsonlFileSink(fileOfProcess(target.path, folder.number)) : clickHouseSink(target)
  return new Spool(folder, sink, { maxBytes: spoolBytes, onProblem })
}

/** Sends raw clicks to the sink. Drops and counts them until the spool can be written. */
export class ClickSink {
  readonly #openSpool: () => Spool
  readonly #onProblem: (error: unknown) => void
  #spool: Spool | undefined
  #isReported = false
  #dropped = 0

  /** Opens the spool. `onProblem` gets the first error of `openSpool`. */
  constructor(openSpool: () => Spool, onProblem: (error: unknown) => void) {
    this.#openSpool = openSpool
    this.#onProblem = onProblem
    this.#open()
  }

  /** The values of `sinkMeters`, in their order. */
  get measured(): readonly number[] {
    const [sent = 0, waiting = 0, bytes = 0, dropped = 0] = this.#spool?.measured ?? []
    return [sent, waiting, bytes, dropped + this.#dropped]
  }

  /** Stores clicks in the spool. Tries to open the spool if that failed before. Never throws. */
  put(rows: readonly ClickRow[]): void {
    this.#open()
    if (this.#spool === undefined) this.#dropped += rows.length
    else this.#spool.put(rows)
  }

  /** See `Spool.close`. */
  async close(): Promise<void> {
    await this.#spool?.close()
  }

  #open(): void {
    if (this.#spool !== undefined) return
    try {
      this.#spool = this.#openSpool()
      this.#spool.start()
    } catch (error) {
      if (!this.#isReported) this.#onProblem(error)
      this.#isReported = true
    }
  }
}
