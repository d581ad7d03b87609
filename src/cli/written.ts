import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { writeWhole } from '../lib/whole-file.ts'
import type { Totals } from '../transfer/format.ts'
import type { Surroundings } from './command.ts'
import { withProgress } from './progress.ts'

/** Where an export goes: standard output if `file` is undefined. */
interface Destination {
  readonly file: string | undefined
  /** Whether a file that is there is replaced. */
  readonly force: boolean
}

/** Writes the texts of an export, and says on stderr how much a file has. Throws `StartupFailure` if it cannot be written. */
export async function writeExport(
  texts: AsyncGenerator<string, Totals>,
  { file, force }: Destination,
  { out, err }: Pick<Surroundings, 'out' | 'err'>,
): Promise<void> {
  if (file === undefined) {
    await writeTo(out, texts, { err, end: false })
    return
  }
  const totals = await writeWhole(file, force, (path) => toFile(path, (out) => writeTo(out, texts, { err, end: true })))
  const counts = Object.entries(totals).map(([plural, total]) => `${plural}: ${total}`)
  err.write(`Exported to ${resolve(file)}. ${counts.join(', ')}.\n`)
}

/** What `write` returns, once the file is closed: one that was still to be opened would appear after it was removed. */
async function toFile<T>(path: string, write: (out: Writable) => Promise<T>): Promise<T> {
  const out = createWriteStream(path)
  const closed = new Promise((resolve) => out.once('close', resolve))
  try {
    return await write(out)
  } finally {
    await closed
  }
}

/** Writes the texts as fast as `out` accepts them, shows progress on `err`, and returns the totals. */
function writeTo(
  out: Writable,
  texts: AsyncGenerator<string, Totals>,
  { err, end }: { readonly err: Writable; readonly end: boolean },
): Promise<Totals> {
  return withProgress(err, async (progress) => {
    let totals: Totals = {}
    let written = 0
    const source = async function* () {
      totals = yield* texts
    }
    const measured = async function* (source: AsyncIterable<string>) {
      for await (const text of source) {
        yield text
        written += text.length
        progress.tell(() => `${(written / 1e6).toFixed(1)} MB are exported`)
      }
    }
    await pipeline(source, measured, out, { end })
    return totals
  })
}
