import type { Stream, Writable } from 'node:stream'

/** How often a terminal is told, and how often anything else, such as a log. Milliseconds. */
const onTerminalMs = 100
const elsewhereMs = 5_000

/** Shows the progress of the work on `out`, and removes the line when the work ends or fails. */
export async function withProgress<T>(out: Writable, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = new Progress(out)
  try {
    return await work(progress)
  } finally {
    progress.clear()
  }
}

/** Says how far a long task is: on a terminal in one line that is overwritten, elsewhere in a line now and then. */
export class Progress {
  readonly #out: Writable
  readonly #isTerminal: boolean
  #saidAt: number
  #isOpen = false

  constructor(out: Writable) {
    this.#out = out
    this.#isTerminal = isTerminal(out)
    this.#saidAt = this.#isTerminal ? Number.NEGATIVE_INFINITY : performance.now()
  }

  /** `line` is called when it is time to say something. */
  tell(line: () => string): void {
    const now = performance.now()
    if (now - this.#saidAt < (this.#isTerminal ? onTerminalMs : elsewhereMs)) return
    this.#saidAt = now
    this.#isOpen = this.#isTerminal
    this.#out.write(this.#isTerminal ? `\r\u001b[K${line()}` : `${line()}\n`)
  }

  /** Removes the open line; to be called before anything else is written. */
  clear(): void {
    if (this.#isOpen) this.#out.write('\r\u001b[K')
    this.#isOpen = false
  }
}

/** Whether a person is at the other end. */
export function isTerminal(stream: Stream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}
