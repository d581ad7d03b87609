import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { writeWhole } from '../lib/whole-file.ts'
import type { Totals } from '../transfer/format.ts'
import type { Terminal } from './command.ts'
import { withProgress } from './output.ts'

/**
 * Writes the texts of an export to the file or, without one, to standard output. `force` replaces an existing file. Prints
 * the totals on stderr. Throws `StartupFailure` if the file can't be written.
 */
export async function writeExport(
  texts: AsyncGenerator<string, Totals>,
  { file, force }: { readonly file: string | undefined; readonly force: boolean },
  { out, err }: Pick<Terminal, 'out' | 'err'>,
): Promise<void> {
  if (file === undefined) {
    await writeTo(out, texts, { err, end: false })
    return
  }
  const totals = await writeWhole(file, force, async (path) => {
    const out = createWriteStream(path)
    // A file that is opened late would appear after its removal.
    const closed = new Promise((resolve) => out.once('close', resolve))
    try {
      return await writeTo(out, texts, { err, end: true })
    } finally {
      await closed
    }
  })
  const counts = Object.entries(totals).map(([plural, total]) => `${plural}: ${total}`)
  err.write(`Exported to ${resolve(file)}. ${counts.join(', ')}.\n`)
}

/** Writes the texts as fast as `out` accepts them and shows progress on `err`. Returns the totals. */
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
        progress.show(() => `${(written / 1e6).toFixed(1)} MB exported`)
      }
    }
    await pipeline(source, measured, out, { end })
    return totals
  })
}
