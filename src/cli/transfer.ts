import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { StartupFailure } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { writeWhole } from '../storage/whole-file.ts'
import type { Imported } from '../transfer/import.ts'
import { accountOf, fileOf } from './arguments.ts'
import { chosenAccount } from './chosen-account.ts'
import { type Command, json, jsonOption, type Streams } from './command.ts'
import { Progress } from './progress.ts'

export const transferCommands = {
  export: {
    summary: "Write an account's domains and spaces as JSON Lines.",
    synopsis: '[FILE] [--account ID] [--force]',
    details: `  FILE           where they go; printed when it is left out or "-"
  --account ID   whose records; may be left out when there is one account
  --force        replace the file when there is one

A line for each record, with its fields, between a header and an end. Keys and accounts are not in it.`,
    options: { account: { type: 'string' }, force: { type: 'boolean' } },
    takesOperand: true,
    makesDatabase: false,
    prepare: (given) => {
      const file = fileOf(given)
      const named = accountOf(given)
      return async (db, { out, err }) => {
        // Loaded when needed: the rules of all fields take longer to load than most commands take.
        const { exported } = await import('../transfer/export.ts')
        const account = await chosenAccount(db, named)
        const progress = new Progress(err)
        const writeAll = (stream: Writable) => writeTo(stream, exported(db, account), progress)
        if (file === undefined) await writeAll(out)
        else await writeWhole(file, given.values.force === true, (temporary) => intoFile(temporary, writeAll))
        progress.clear()
        return ''
      }
    },
  },

  import: {
    summary: 'Store the records of an export in an account.',
    synopsis: '[FILE] [--account ID] [--json]',
    details: `  FILE           what "waymark export" wrote; read from the standard input when it is left out or "-"
  --account ID   whose records they become; may be left out when there is one account
  --json         print the summary as JSON

Records get new ids, in the order of the old ones, and keep their times. It may be ended at any time and run again:
a domain is known by its name, a space by where it came from. Lines that are refused are named on stderr, and the exit
code is 1 then.`,
    options: { account: { type: 'string' }, ...jsonOption },
    takesOperand: true,
    makesDatabase: false,
    prepare: (given) => {
      const file = fileOf(given)
      const named = accountOf(given)
      return async (db, streams) => {
        const account = await chosenAccount(db, named)
        const imported = await readInto(db, account, file, streams)
        const isComplete = imported.refused === 0 && imported.missing === null
        return { text: given.values.json ? json(imported) : summary(imported), code: isComplete ? 0 : 1 }
      }
    },
  },
} as const satisfies Record<string, Command>

/** Writes the texts as fast as they are taken. */
async function writeTo(out: Writable, texts: AsyncIterable<string>, progress: Progress): Promise<void> {
  let written = 0
  for await (const text of texts) {
    if (!out.write(text)) await once(out, 'drain')
    written += text.length
    progress.tell(() => `${(written / 1e6).toFixed(1)} MB are exported`)
  }
}

async function intoFile(path: string, write: (stream: Writable) => Promise<void>): Promise<void> {
  const stream = createWriteStream(path)
  const isWritten = finished(stream)
  await Promise.race([write(stream), isWritten])
  stream.end()
  await isWritten
}

async function readInto(db: Db, account: number, file: string | undefined, streams: Streams): Promise<Imported> {
  const { importRecords } = await import('../transfer/import.ts')
  const { err } = streams
  const progress = new Progress(err)
  const input: Readable = file === undefined ? streams.input() : createReadStream(file)
  try {
    return await importRecords(db, account, input, {
      refused: (line, reason) => {
        progress.clear()
        err.write(`Line ${line}: ${reason}\n`)
      },
      progressed: (counts) => progress.tell(() => summary(counts)),
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (file !== undefined && typeof code === 'string' && code.startsWith('E')) {
      throw new StartupFailure(`The file ${file} cannot be read: ${message}.`)
    }
    throw error
  } finally {
    progress.clear()
  }
}

function summary({ stored, known, refused, missing = null }: Omit<Imported, 'missing'> & Partial<Imported>): string {
  const lines = `Records stored: ${stored}, there already: ${known}, refused: ${refused}.`
  return missing === null ? lines : `${lines}\n${missing}`
}
