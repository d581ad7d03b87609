import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** Asks a person at a terminal. Anything but a yes is a no. */
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
