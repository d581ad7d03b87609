/**
 * Output for people at a terminal and for programs.
 */
import { createInterface } from 'node:readline'
import type { Readable, Stream, Writable } from 'node:stream'

/** Formats JSON for `--json`. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** Formats lines as aligned columns. */
export function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  const pad = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text))
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n')
}

function widthOf(text: string): number {
  return [...text].length
}

/** Asks for confirmation. Returns true only for "y" or "yes". */
export async function isConfirmed(question: string, input: Readable, err: Writable): Promise<boolean> {
  const lines = createInterface({ input })
  err.write(`${question} [y/N] `)
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
    err.write('\n')
    return false
  } finally {
    lines.close()
  }
}

/** Returns whether the stream is a terminal. */
export function isTerminal(stream: Stream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}

/** Milliseconds between updates on a terminal, and on other streams such as a log. */
const terminalMs = 100
const logMs = 5_000

/** Shows the progress of the work on `out`, and removes the line when the work ends or fails. */
export async function withProgress<T>(out: Writable, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = new Progress(out)
  try {
    return await work(progress)
  } finally {
    progress.clear()
  }
}

/** Shows the progress of a long task: on a terminal in one line that is overwritten, otherwise in a line every 5 seconds. */
export class Progress {
  readonly #out: Writable
  readonly #isTerminal: boolean
  #shownAt: number
  #hasOpenLine = false

  constructor(out: Writable) {
    this.#out = out
    this.#isTerminal = isTerminal(out)
    this.#shownAt = this.#isTerminal ? Number.NEGATIVE_INFINITY : performance.now()
  }

  /** Shows the line unless the previous one is recent. */
  show(line: () => string): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#isTerminal ? terminalMs : logMs)) return
    this.#shownAt = now
    this.#hasOpenLine = this.#isTerminal
    this.#out.write(this.#isTerminal ? `\r\u001b[K${line()}` : `${line()}\n`)
  }

  /** Removes the line on the terminal. Call this before writing anything else. */
  clear(): void {
    if (this.#hasOpenLine) this.#out.write('\r\u001b[K')
    this.#hasOpenLine = false
  }
}
