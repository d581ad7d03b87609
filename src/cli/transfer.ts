import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { StartupFailure } from '../errors.ts'
import { resourceNames } from '../resources.ts'
import type { Imported, Listener } from '../transfer/import.ts'
import { accountOf, fileOf } from './arguments.ts'
import { chosenAccount } from './chosen-account.ts'
import { type Command, json, jsonOption, program, type Surroundings } from './command.ts'
import { isTerminal, withProgress } from './progress.ts'
import { writeExport } from './written.ts'

const records = new Intl.ListFormat('en').format(resourceNames)

export const transferCommands = {
  export: {
    summary: `Write the ${records} of an account as JSON Lines.`,
    synopsis: '[FILE] [--account ID] [--force]',
    details: `  FILE           where they go; standard output when it is left out or "-"
  --account ID   whose records; may be left out when there is only one account
  --force        replace the file if there is one

Each record is a line with its fields, between a header and an end. The clicks of links follow, a line for each day. Keys
and accounts are left out. "${program} export clicks" writes the clicks alone.`,
    options: { account: { type: 'string' }, force: { type: 'boolean' } },
    takesOperand: 'file',
    makesDatabase: false,
    prepare: (given) => {
      const file = fileOf(given)
      const named = accountOf(given)
      const force = given.values.force === true
      return async (db, surroundings) => {
        const account = await chosenAccount(db, named)
        const { exported, transferables } = await transfer()
        await writeExport(exported(db, account, transferables), { file, force }, surroundings)
        return ''
      }
    },
  },

  import: {
    summary: 'Store the records of an export in an account.',
    synopsis: '[FILE] [--account ID] [--as-new] [--json]',
    details: `  FILE           what "${program} export" wrote, or "${program} export clicks" as JSON Lines; standard input when it is
                 left out or "-"
  --account ID   whose records they become; may be left out when there is only one account
  --as-new       store a record under a new id when its old one means another record here, or one that differs
  --json         print the summary as JSON: the numbers "stored", "known" (there already) and "refused", and
                 "missing", a sentence that says what the file lacks, or null when it is complete

Records get new ids, in the order of the old ones, and keep their times. You may stop an import at any time and run it
again: it recognises a domain by its name, a link by its domain and alias, and a space by where it came from. A day of a
link that has other clicks here is refused. Days without their links go to the links with the same domain and alias. Refused
lines are named on stderr, and the exit code is then 1.`,
    options: { account: { type: 'string' }, 'as-new': { type: 'boolean' }, ...jsonOption },
    takesOperand: 'file',
    makesDatabase: false,
    prepare: (given) => {
      const file = fileOf(given)
      const named = accountOf(given)
      const asNew = given.values['as-new'] === true
      return async (db, surroundings) => {
        const account = await chosenAccount(db, named)
        const { importRecords, transferables } = await transfer()
        const imported = await reading(file, surroundings, (input, listener) =>
          importRecords(db, { account, asNew, transferables }, input, listener),
        )
        const isComplete = imported.refused === 0 && imported.missing === null
        return { text: given.values.json ? json(imported) : summary(imported), code: isComplete ? 0 : 1 }
      }
    },
  },
} as const satisfies Record<string, Command>

/** Loaded when needed: the rules of all fields take longer to load than most commands take. */
async function transfer() {
  const [{ exported }, { importRecords }, { transferables }] = await Promise.all([
    import('../transfer/export.ts'),
    import('../transfer/import.ts'),
    import('../app/app.ts'),
  ])
  return { exported, importRecords, transferables }
}

/** Opens the file, or standard input where none is given, and says on stderr what becomes of its lines. */
async function reading(
  file: string | undefined,
  { input, err }: Surroundings,
  read: (input: Readable, listener: Listener) => Promise<Imported>,
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
        progressed: (counts) => progress.tell(() => summary(counts)),
      }),
    )
  } catch (error) {
    throw file === undefined ? error : unreadable(file, error as NodeJS.ErrnoException)
  }
}

/** What the system says of the file, as a sentence; any other error as it is. */
function unreadable(file: string, error: NodeJS.ErrnoException): Error {
  const { code, message } = error
  if (code === 'ENOENT') return new StartupFailure(`There is no file ${file}.`)
  if (code === 'EISDIR') {
    return new StartupFailure(`${file} is a folder. Name the file in it that "${program} export" wrote.`)
  }
  const isOfSystem = typeof code === 'string' && /^E[A-Z]+$/.test(code)
  return isOfSystem ? new StartupFailure(`The file ${file} cannot be read: ${message}.`) : error
}

function summary({ stored, known, refused, missing = null }: Omit<Imported, 'missing'> & Partial<Imported>): string {
  const lines = `Records stored: ${stored}, there already: ${known}, refused: ${refused}.`
  return missing === null ? lines : `${lines}\n${missing}`
}
