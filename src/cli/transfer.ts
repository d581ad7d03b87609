import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { StartupFailure } from '../errors.ts'
import { resourceNames } from '../resources.ts'
import type { Imported, ImportListener } from '../transfer/import.ts'
import { chooseAccount } from './accounts.ts'
import { accountId, clickFormat, day, flag, optional, optionalFile, withDefault } from './arguments.ts'
import { recordCommand, type Terminal } from './command.ts'
import { writeExport } from './export-file.ts'
import { isTerminal, json, withProgress } from './output.ts'
import { program, WrongUse } from './usage.ts'

const resourceList = new Intl.ListFormat('en').format(resourceNames)
const account = optional('ID', 'the account; optional if there is only one', accountId)
const force = flag('replace the file if it exists')

export const transferCommands = {
  export: recordCommand({
    summary: `Write the ${resourceList} of an account as JSON Lines.`,
    arguments: { operand: optionalFile('the file to write; standard output if it is missing or "-"'), account, force },
    notes: `The file has a header, one line for each record, and an end. Clicks follow, one line for each link and day. It has no
keys and no accounts. "${program} export clicks" writes only the clicks.`,
    run: async (db, { operand: file, account, force }, terminal) => {
      const { exportRecords, transferables } = await loadTransfer()
      await writeExport(exportRecords(db, await chooseAccount(db, account), transferables), { file, force }, terminal)
      return ''
    },
  }),

  'export clicks': recordCommand({
    summary: 'Write clicks by link and day, as JSON Lines or for spreadsheets.',
    arguments: {
      operand: optionalFile('the file to write; standard output if it is missing or "-"'),
      format: withDefault(
        'FORMAT',
        `jsonl (default): a line for each day of a link, with its hours; csv: a row for each day and link
(dimension "total"), and one for each value of a dimension, such as "countries", "DE"`,
        'jsonl',
        clickFormat,
      ),
      from: optional('DAY', 'the first day, such as 2026-11-01, in UTC (default: the oldest)', day),
      to: optional('DAY', 'the last day, which is included (default: the newest)', day),
      account,
      force,
    },
    notes: `Write ./clicks for a file called clicks. "${program} import" reads JSON Lines back, for links with the same domain and
alias. To move links to another instance with their clicks, use "${program} export".`,
    check: ({ from, to }) => {
      if (from !== undefined && to !== undefined && from > to) throw new WrongUse('--from is later than --to.')
    },
    run: async (db, { operand: file, format, from, to, account, force }, terminal) => {
      const { clickTexts } = await import('../analytics/transfer.ts')
      const texts = clickTexts(db, await chooseAccount(db, account), format, { from, to })
      await writeExport(texts, { file, force }, terminal)
      return ''
    },
  }),

  import: recordCommand({
    summary: 'Store the records of an export in an account.',
    arguments: {
      operand: optionalFile(
        `an export, or clicks that "${program} export clicks" wrote as JSON Lines; standard input if it is
missing or "-"`,
      ),
      account,
      'as-new': flag('store a record under a new ID if its old ID belongs to another or a changed record here'),
      json: flag(
        `print the summary as JSON: the numbers "stored", "known" (there already) and "refused", and
"missing", a sentence about what the file lacks, or null if it is complete`,
      ),
    },
    notes: `Records get new IDs, in the order of the old ones, and keep their times. You can stop an import at any time and run it
again: it recognizes a domain by its name, a link by its domain and alias, and a space by its origin. A day of clicks is
rejected if the link has other clicks on that day. Days without their links go to the links with the same domain and
alias. Rejected lines are listed on stderr, and the exit code is then 1.`,
    run: async (db, { operand: file, account: id, 'as-new': asNew, json: isJson }, terminal) => {
      const account = await chooseAccount(db, id)
      const { importRecords, transferables } = await loadTransfer()
      const imported = await importFrom(file, terminal, (input, listener) =>
        importRecords(db, { account, asNew, transferables }, input, listener),
      )
      const isComplete = imported.refused === 0 && imported.missing === null
      return { text: isJson ? json(imported) : summarize(imported), code: isComplete ? 0 : 1 }
    },
  }),
}

/** Loads the transfer when needed, because loading the rules of all fields takes longer than most commands. */
async function loadTransfer() {
  const [{ exportRecords }, { importRecords }, { transferables }] = await Promise.all([
    import('../transfer/export.ts'),
    import('../transfer/import.ts'),
    import('../app/app.ts'),
  ])
  return { exportRecords, importRecords, transferables }
}

/** Imports the file or, without one, standard input. Prints rejected lines and progress on stderr. */
async function importFrom(
  file: string | undefined,
  { input, err }: Terminal,
  read: (input: Readable, listener: ImportListener) => Promise<Imported>,
): Promise<Imported> {
  const source = file === undefined ? input() : createReadStream(file)
  if (isTerminal(source)) {
    err.write(`Waiting for the lines of an export. End with Ctrl-D, or name a file: ${program} import FILE\n`)
  }
  try {
    return await withProgress(err, (progress) =>
      read(source, {
        refused: (line, reason) => {
          progress.clear()
          err.write(`Line ${line}: ${reason}\n`)
        },
        progressed: (counts) => progress.show(() => summarize(counts)),
      }),
    )
  } catch (error) {
    throw file === undefined ? error : readFailure(file, error as NodeJS.ErrnoException)
  }
}

/** Explains an error of the file system. Returns other errors unchanged. */
function readFailure(file: string, error: NodeJS.ErrnoException): Error {
  const { code, message } = error
  if (code === 'ENOENT') return new StartupFailure(`There is no file ${file}.`)
  if (code === 'EISDIR') {
    return new StartupFailure(`${file} is a folder. Name the file in it that "${program} export" wrote.`)
  }
  const isSystemError = typeof code === 'string' && /^E[A-Z]+$/.test(code)
  return isSystemError ? new StartupFailure(`The file ${file} cannot be read: ${message}.`) : error
}

function summarize({ stored, known, refused, missing = null }: Omit<Imported, 'missing'> & Partial<Imported>): string {
  const lines = `Records stored: ${stored}, there already: ${known}, refused: ${refused}.`
  return missing === null ? lines : `${lines}\n${missing}`
}
