export interface Line {
  /** The first line is 1. */
  readonly number: number
  /** Null if the line is too long or not UTF-8. */
  readonly text: string | null
}

/** The limit of request bodies, in bytes. */
const maxLineLength = 64 * 1024
const lineFeed = 0x0a

/** Yields the lines of a file. Buffers only one line. */
export async function* readLines(parts: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  const pending = new PendingLine()
  let number = 0
  for await (const part of parts) {
    let start = 0
    for (let end = part.indexOf(lineFeed); end >= 0; end = part.indexOf(lineFeed, start)) {
      pending.add(part.subarray(start, end))
      number += 1
      yield { number, text: pending.take() }
      start = end + 1
    }
    pending.add(part.subarray(start))
  }
  if (!pending.isEmpty) yield { number: number + 1, text: pending.take() }
}

class PendingLine {
  #parts: Buffer[] = []
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > maxLineLength) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  take(): string | null {
    const text = this.#length > maxLineLength ? null : decode(Buffer.concat(this.#parts))
    this.#parts = []
    this.#length = 0
    return text
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
