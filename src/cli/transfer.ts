import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { findTimeZones } from '../accounts/store.ts'
import { parseTimeZones } from '../accounts/time-zones.ts'
import { clickTexts, clickTransfer } from '../analytics/transfer.ts'
import { ownShortUrls } from '../app/local.ts'
import { domainTransfer } from '../domains/transfer.ts'
import { StartupFailure } from '../errors.ts'
import { writeWhole } from '../lib/whole-file.ts'
import { linkTransfer } from '../links/transfer.ts'
import { resourceNames } from '../resources.ts'
import { spaceTransfer } from '../spaces/transfer.ts'
import { tagTransfer } from '../tags/transfer.ts'
import { exportRecords, type RecordCounts } from '../transfer/export.ts'
import { type Imported, importRecords } from '../transfer/import.ts'
import { program } from '../version.ts'
import { accountCommand } from './accounts.ts'
import { choice, day, flag, optional, optionalFile, WrongUse, withDefault } from './arguments.ts'
import type { Terminal } from './command.ts'
import { isTerminal, json, printable, withProgress } from './output.ts'

/** The kinds of records in exports and imports. Each kind comes after the kinds that it refers to. */
export const transferables = [domainTransfer, spaceTransfer, tagTransfer, linkTransfer, clickTransfer]

const recordList = new Intl.ListFormat('en').format([...resourceNames, 'clicks'])
export const exportFile = optionalFile('the file to write (default, or if "-": standard output)')
export const force = flag('overwrite the file if it exists')

export const transferCommands = {
  export: accountCommand({
    summary: `Export the ${recordList} of an account as JSON Lines.`,
    arguments: { operand: exportFile, force },
    notes: `The file has a header, one line per record, one line per link and day of clicks, and an end. It contains no API keys and
no accounts. To export only clicks, use "${program} export clicks".`,
    run: async (db, { operand: file, force }, { account }, terminal) => {
      const time_zones = parseTimeZones(await findTimeZones(db, account))
      return writeExport(exportRecords(db, account, transferables, { time_zones }), file, force, terminal)
    },
  }),

  'export clicks': accountCommand({
    summary: 'Export clicks per link and day, as JSON Lines or for spreadsheets.',
    arguments: {
      operand: exportFile,
      format: withDefault(
        'jsonl|csv',
        `jsonl (default): one line per link and day, with hours; csv: one row per link and day (dimension
"total"), and one row per value of each dimension, such as "countries", "DE"`,
        'jsonl',
        choice(['jsonl', 'csv']),
      ),
      from: optional('DAY', 'the first day, such as 2026-11-01 (default: the oldest)', day),
      to: optional('DAY', 'the last day, inclusive (default: the newest)', day),
      force,
    },
    notes: `To write a file named clicks, use ./clicks. "${program} import" accepts JSON Lines, and adds the clicks to links with
the same domain and alias. To move links together with their clicks, use "${program} export".`,
    check: ({ from, to }) => {
      if (from !== undefined && to !== undefined && from > to) throw new WrongUse("--from can't be later than --to.")
    },
    run: async (db, { operand: file, format, from, to, force }, { account }, terminal) => {
      const shortUrl = await ownShortUrls(db)
      return writeExport(clickTexts(db, account, format, { from, to }, shortUrl), file, force, terminal)
    },
  }),

  import: accountCommand({
    summary: 'Import an export file into an account.',
    arguments: {
      operand: optionalFile(
        `a file from "${program} export" or, as JSON Lines, from "${program} export clicks" (default, or if
"-": standard input)`,
      ),
      'as-new': flag('store a space under a new ID if its old ID belongs to a different or an edited space here'),
      json: flag(
        `print the summary as JSON: the numbers "stored", "known" (already present) and "refused" (rejected),
and "missing", a sentence if the file is incomplete, otherwise null`,
      ),
    },
    notes: `Records get new IDs in the order of the old ones, and keep their times. You can stop an import at any time and run it
again: it recognizes domains and tags by name, links by domain and alias, and spaces by their ID in the exporting
database. A day of clicks is rejected if the link has other clicks on that day. Clicks from "export clicks" are added to
links with the same domain and alias. Rejected lines are listed on stderr, and the exit code is then 1.`,
    run: async (db, { operand: file, 'as-new': asNew, json: isJson }, actor, { input, err }) => {
      const destination = { actor, asNew, transferables }
      const source = file === undefined ? input() : createReadStream(file)
      if (isTerminal(source)) {
        err.write(`Reading an export from the terminal. End it with Ctrl-D, or pass a file: ${program} import FILE\n`)
      }
      const imported = await withProgress(err, ({ show, clear }) =>
        importRecords(db, destination, source, {
          refused: (line, reason) => {
            clear()
            err.write(printable(`Line ${line}: ${reason}\n`))
          },
          progressed: (counts) => show(() => summarize(counts)),
        }),
      ).catch((error) => {
        throw file === undefined ? error : readFailure(file, error)
      })
      const isComplete = imported.refused === 0 && imported.missing === null
      return { text: isJson ? json(imported) : summarize(imported), code: isComplete ? 0 : 1 }
    },
  }),
}

/** Writes an export to the file, by default standard output, and its totals to stderr. Throws `StartupFailure`. */
export async function writeExport(
  texts: AsyncGenerator<string, RecordCounts>,
  file: string | undefined,
  force: boolean,
  { out, err }: Terminal,
): Promise<''> {
  let totals: RecordCounts = {}
  const source = async function* () {
    totals = yield* texts
  }
  await withProgress(err, async (progress) => {
    const measured = async function* () {
      let written = 0
      for await (const text of source()) {
        yield text
        written += text.length
        progress.show(() => `${(written / 1e6).toFixed(1)} MB exported`)
      }
    }
    if (file === undefined) await pipeline(measured, out, { end: false })
    else await writeWhole(file, force, (path) => writeFile(path, measured()))
  })
  if (file === undefined) return ''
  const counts = Object.entries(totals).map(([plural, total]) => `${plural}: ${total}`)
  err.write(`Exported to ${resolve(file)}. ${counts.join(', ')}.\n`)
  return ''
}

/** Explains an error of the file system. Returns other errors unchanged. */
export function readFailure(file: string, error: NodeJS.ErrnoException): Error {
  const { code, message } = error
  if (code === 'ENOENT') return new StartupFailure(`The file ${file} doesn't exist.`)
  if (code === 'EISDIR') return new StartupFailure(`${file} is a folder. Choose a file in it.`)
  const isSystemError = typeof code === 'string' && /^E[A-Z]+$/.test(code)
  return isSystemError ? new StartupFailure(`Can't read ${file}: ${message}.`) : error
}

function summarize({ stored, known, refused, missing = null }: Omit<Imported, 'missing'> & Partial<Imported>): string {
  const lines = `Records stored: ${stored}, already present: ${known}, rejected: ${refused}.`
  return missing === null ? lines : `${lines}\n${missing}`
}
