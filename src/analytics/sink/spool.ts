import type { ClickRow } from './row.ts'
import { Dropped, type Sink, SinkFailure, Unconfirmed } from './sink.ts'
import type { SpooledBatch, SpoolFolder } from './spool-folder.ts'

/** How often a batch is sealed and sent while the sink answers. Milliseconds. */
const everyMs = 1_000
/** The longest pause between attempts. */
const maxPauseMs = 60_000
/** How long a stop waits for the sink. */
const closeMs = 3_000
/** How long a batch that the sink accepts without confirming it is sent again. */
const maxUnconfirmedMs = 86_400_000
/** A batch that waits for the sink grows up to this. */
const maxBatchBytes = 4 << 20

export interface SpoolOptions {
  /** Bytes of clicks that may wait. Beyond, the oldest batches are given up. */
  readonly maxBytes: number
  /** Hears of the first failure of each outage: of the sink, and of the spool's own disk. Also gets each `Dropped`. */
  readonly onProblem: (error: unknown) => void
}

type DiskWork = 'append' | 'seal' | 'remove' | 'unconfirmed' | 'confirmed'

/**
 * Keeps clicks on the disk until the sink has them: at least once, a batch always under the same id and with the same rows,
 * in order. While the sink is away they wait, across restarts.
 */
export class Spool {
  readonly #folder: SpoolFolder
  readonly #sink: Sink
  readonly #options: SpoolOptions
  readonly #maxBatchBytes: number
  readonly #waiting: SpooledBatch[]
  /** Rows and bytes of the batch that is being filled. */
  #open = { rows: 0, bytes: 0 }
  /** All bytes that wait, the open batch's included. */
  #bytes = 0
  #isSending = false
  #sent = 0
  #givenUp = 0
  /** Attempts to send that failed since the last that did not. */
  #failures = 0
  /** The latest batch, and the number of times that this process has sent it. */
  #latest: SpooledBatch | undefined
  #attempts = 0
  /** What the disk refused when it was last asked for it. */
  readonly #refused = new Set<DiskWork>()
  #isClosed = false
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(folder: SpoolFolder, sink: Sink, options: SpoolOptions) {
    this.#folder = folder
    this.#sink = sink
    this.#options = options
    this.#maxBatchBytes = Math.min(maxBatchBytes, options.maxBytes / 4)
    this.#waiting = [...folder.left]
    for (const { bytes } of this.#waiting) this.#bytes += bytes
    this.#makeRoom()
  }

  /** The values of `sinkMeters`, in their order. */
  get measured(): readonly number[] {
    return [this.#sent, this.#waiting.length, this.#bytes, this.#givenUp]
  }

  /** Takes clicks. Once it returns they survive a kill; those that the disk refuses are given up, and counted as such. */
  put(rows: readonly ClickRow[]): void {
    if (rows.length === 0) return
    const isKept = this.#onDisk('append', () => {
      const bytes = this.#folder.append(rows)
      this.#open.rows += rows.length
      this.#open.bytes += bytes
      this.#bytes += bytes
    })
    if (!isKept) this.#givenUp += rows.length
    if (this.#open.bytes >= this.#maxBatchBytes) this.#seal()
    this.#makeRoom()
  }

  /** Begins to send. */
  begin(): void {
    this.#wait(everyMs)
  }

  /** Sends what waits, if the sink takes it within seconds. What it does not take is sent after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const limit = setTimeout(() => this.#stop.abort(), closeMs)
    // Work on a file cannot be aborted.
    const patience = new Promise((resolve) => this.#stop.signal.addEventListener('abort', resolve, { once: true }))
    await Promise.race([this.#running, patience])
    if (this.#failures === 0 && !this.#stop.signal.aborted) await Promise.race([this.#round(), patience])
    clearTimeout(limit)
    this.#folder.close()
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#round().then(() => {
        if (!this.#isClosed) this.#wait(pauseAfter(this.#failures))
      })
    }, ms).unref()
  }

  /** Sends what waits. While the sink is away the open batch grows: fewer, larger batches follow. */
  async #round(): Promise<void> {
    if (this.#failures === 0) this.#seal()
    for (let [oldest] = this.#waiting; oldest !== undefined; [oldest] = this.#waiting) {
      if (!(await this.#send(oldest))) return
    }
  }

  /** Sends the oldest batch; whether that is over, because the sink has it, its file is lost or it is dropped. */
  async #send(batch: SpooledBatch): Promise<boolean> {
    this.#isSending = true
    this.#attempts = batch === this.#latest ? this.#attempts + 1 : 1
    this.#latest = batch
    try {
      const rows = this.#folder.read(batch)
      if (rows.length > 0) {
        await this.#sink.send({ id: batch.id, rows }, this.#stop.signal)
        this.#onDisk('confirmed', () => this.#folder.confirmed())
      }
      this.#sent += rows.length
      this.#givenUp += Math.max(0, batch.rows - rows.length)
    } catch (error) {
      if (!(error instanceof Unconfirmed && this.#isUnconfirmedForADay(batch))) {
        if (this.#failures === 0 && !this.#stop.signal.aborted) this.#options.onProblem(error)
        this.#failures += 1
        return false
      }
      this.#givenUp += batch.rows
      this.#options.onProblem(dropped(batch, this.#attempts, error))
    } finally {
      this.#isSending = false
    }
    this.#failures = 0
    this.#waiting.shift()
    this.#forget(batch)
    return true
  }

  /**
   * Records that the sink accepted the batch without confirming it. Returns whether the batch is a day old, and the sink has
   * accepted batches for a day, without pauses of more than an hour, and confirmed none.
   */
  #isUnconfirmedForADay({ sealedAt }: SpooledBatch): boolean {
    const now = Date.now()
    let since = now
    this.#onDisk('unconfirmed', () => {
      since = this.#folder.unconfirmed()
    })
    return now - Math.max(since, sealedAt) >= maxUnconfirmedMs
  }

  #seal(): void {
    const { rows } = this.#open
    if (rows === 0) return
    this.#onDisk('seal', () => {
      const batch = this.#folder.seal(rows)
      this.#waiting.push(batch)
      // The disk may have kept a part of what it refused.
      this.#bytes += batch.bytes - this.#open.bytes
      this.#open = { rows: 0, bytes: 0 }
    })
  }

  #makeRoom(): void {
    const first = this.#isSending ? 1 : 0
    while (this.#bytes > this.#options.maxBytes && this.#waiting.length > first) {
      for (const batch of this.#waiting.splice(first, 1)) {
        this.#givenUp += batch.rows
        this.#forget(batch)
      }
    }
  }

  #forget(batch: SpooledBatch): void {
    this.#bytes -= batch.bytes
    this.#onDisk('remove', () => this.#folder.remove(batch))
  }

  /** Whether the disk did what `work` asks of it. */
  #onDisk(what: DiskWork, work: () => void): boolean {
    try {
      work()
      this.#refused.delete(what)
      return true
    } catch (error) {
      const sentence = `Clicks cannot be spooled: ${(error as Error).message}.`
      if (!this.#refused.has(what)) this.#options.onProblem(new SinkFailure(sentence, { cause: error }))
      this.#refused.add(what)
      return false
    }
  }
}

function dropped({ id, rows }: SpooledBatch, attempts: number, { message }: SinkFailure): Dropped {
  const details = `rows: ${rows}, attempts since the start: ${attempts}`
  return new Dropped(`Batch ${id} was dropped after a day without a confirmation (${details}). ${message}`)
}

/** Milliseconds until the next attempt, after this many in a row failed. */
export function pauseAfter(failures: number): number {
  return Math.min(maxPauseMs, everyMs * 2 ** Math.max(0, failures - 1))
}
