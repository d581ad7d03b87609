import { Periodic } from '../../lib/periodic.ts'
import { type ClickRow, Dropped, type Sink, SinkFailure, SpoolUnusable, Unconfirmed } from './sink.ts'
import type { SpooledBatch, SpoolFolder } from './spool-folder.ts'

/** The pause between batches, and the longest pause after failures. Milliseconds. */
const [everyMs, maxPauseMs] = [1_000, 60_000]
/** How long a stop waits for the sink. Milliseconds. */
const closeMs = 3_000
/** How long an unconfirmed batch is sent again. Milliseconds. */
const maxUnconfirmedMs = 86_400_000
const maxBatchBytes = 4 << 20

interface SpoolOptions {
  /** The size limit, at which the oldest batches are dropped. */
  readonly maxBytes: number
  /** Gets the first error of each outage of the sink or of the spool's disk, and each `Dropped`. */
  readonly onProblem: (error: unknown) => void
}

type DiskWork = 'append' | 'seal' | 'remove' | 'unconfirmed' | 'confirmed'

/**
 * Stores clicks on the disk until the sink has them. Sends each batch at least once, in order, always with the same id and
 * rows. During an outage of the sink, clicks wait, even across restarts.
 */
export class Spool {
  readonly #folder: SpoolFolder
  readonly #sink: Sink
  readonly #options: SpoolOptions
  readonly #maxBatchBytes: number
  readonly #waiting: SpooledBatch[]
  /** The open batch. */
  #open = { rows: 0, bytes: 0 }
  /** The size of all batches, including the open one. */
  #bytes = 0
  #isSending = false
  #sent = 0
  #dropped = 0
  /** The number of consecutive failures. */
  #failures = 0
  /** The last sent batch, and the attempts of this process to send it. */
  #latest: SpooledBatch | undefined
  #attempts = 0
  /** The disk operations whose last attempt failed. */
  readonly #failing = new Set<DiskWork>()
  readonly #stop = new AbortController()
  readonly #rounds = new Periodic(() => this.#round(), { everyMs, onError: (error) => this.#options.onProblem(error) })

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
    return [this.#sent, this.#waiting.length, this.#bytes, this.#dropped]
  }

  /** Stores clicks, so that they survive SIGKILL. Drops and counts them if the disk fails. */
  put(rows: readonly ClickRow[]): void {
    if (rows.length === 0) return
    const isStored = this.#onDisk('append', () => {
      const bytes = this.#folder.append(rows)
      this.#open.rows += rows.length
      this.#open.bytes += bytes
      this.#bytes += bytes
    })
    if (!isStored) this.#dropped += rows.length
    if (this.#open.bytes >= this.#maxBatchBytes) this.#seal()
    this.#makeRoom()
  }

  /** Starts sending. */
  start(): void {
    this.#rounds.start()
  }

  /** Sends waiting batches for up to `closeMs`. The next start sends the rest. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.#stop.abort(), closeMs)
    // Work on a file cannot be aborted.
    const isLate = new Promise((resolve) => this.#stop.signal.addEventListener('abort', resolve, { once: true }))
    await Promise.race([this.#rounds.close(), isLate])
    if (this.#failures === 0 && !this.#stop.signal.aborted) await Promise.race([this.#round(), isLate])
    clearTimeout(deadline)
    this.#folder.close()
  }

  /** Sends waiting batches. During an outage of the sink, the open batch grows, so that fewer, larger batches follow. */
  async #round(): Promise<void> {
    if (this.#failures === 0) this.#seal()
    for (let [oldest] = this.#waiting; oldest !== undefined; [oldest] = this.#waiting) {
      if (!(await this.#send(oldest))) return this.#rounds.runIn(pauseAfter(this.#failures))
    }
  }

  /** Sends the oldest batch. Returns whether it is finished: stored by the sink, lost by the disk, or dropped. */
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
      this.#dropped += Math.max(0, batch.rows - rows.length)
    } catch (error) {
      if (!(error instanceof Unconfirmed && this.#isUnconfirmedForADay(batch))) {
        if (this.#failures === 0 && !this.#stop.signal.aborted) this.#options.onProblem(error)
        this.#failures += 1
        return false
      }
      this.#dropped += batch.rows
      this.#options.onProblem(dropped(batch, this.#attempts, error))
    } finally {
      this.#isSending = false
    }
    this.#failures = 0
    this.#waiting.shift()
    this.#delete(batch)
    return true
  }

  /**
   * Records that the sink accepted the batch without confirming it. Returns whether the batch is a day old, and the sink
   * has confirmed no batch for a day, although it accepted some at least once an hour.
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
      // A failed append may have stored a part of its rows.
      this.#bytes += batch.bytes - this.#open.bytes
      this.#open = { rows: 0, bytes: 0 }
    })
  }

  #makeRoom(): void {
    const first = this.#isSending ? 1 : 0
    while (this.#bytes > this.#options.maxBytes && this.#waiting.length > first) {
      const [batch] = this.#waiting.splice(first, 1) as [SpooledBatch]
      this.#dropped += batch.rows
      this.#delete(batch)
    }
  }

  #delete(batch: SpooledBatch): void {
    this.#bytes -= batch.bytes
    this.#onDisk('remove', () => this.#folder.remove(batch))
  }

  /** Returns whether the disk operation succeeded. */
  #onDisk(what: DiskWork, work: () => void): boolean {
    try {
      work()
      this.#failing.delete(what)
      return true
    } catch (error) {
      const sentence = `Clicks cannot be spooled: ${(error as Error).message}.`
      // Without the append, the clicks are lost. After any other failure, they stay on the disk.
      const Reported = what === 'append' ? SpoolUnusable : SinkFailure
      if (!this.#failing.has(what)) this.#options.onProblem(new Reported(sentence, { cause: error }))
      this.#failing.add(what)
      return false
    }
  }
}

function dropped({ id, rows }: SpooledBatch, attempts: number, { message }: SinkFailure): Dropped {
  const details = `rows: ${rows}, attempts since the start: ${attempts}`
  return new Dropped(`Batch ${id} was dropped after a day without a confirmation (${details}). ${message}`)
}

/** Returns the pause after consecutive failures, in milliseconds. */
export function pauseAfter(failures: number): number {
  return Math.min(maxPauseMs, everyMs * 2 ** Math.max(0, failures - 1))
}
