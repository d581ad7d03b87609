import { parseArgs } from 'node:util'
import { readStorageLocation } from '../config.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { isThere, openStorage, placeOf } from '../storage/open.ts'
import { version } from '../version.ts'
import { type Command, type Given, type Printed, type RecordCommand, type Work, WrongUse } from './command.ts'
import { type Asked, find } from './commands.ts'

interface Output {
  write(text: string): unknown
}

/**
 * Runs one command and returns the exit code: 0 when it was done, 1 when it could not be, 2 when the arguments are
 * wrong. Results go to `out`, sentences about failures to `err`.
 */
export async function runCli(args: readonly string[], out: Output, err: Output): Promise<number> {
  const asked = find(args)
  try {
    const { text, code } = await answer(asked)
    out.write(`${text}\n`)
    return code
  } catch (error) {
    if (error instanceof WrongUse) {
      err.write(`${error.message}\n\n${asked.usage}\n`)
      return 2
    }
    if (!(error instanceof Failure || error instanceof StartupFailure)) throw error
    err.write(`${error.message}\n`)
    return 1
  }
}

async function answer({ command, rest, help }: Asked): Promise<Printed> {
  const [next] = rest
  if (command === undefined) {
    if (next === '--help' || next === '-h') return done(help)
    if (next === '--version') return done(version)
    throw new WrongUse(next === undefined ? 'Say what is to be done.' : `There is no command or option "${next}" here.`)
  }
  const given = parse(command, rest)
  if (given === 'help') return done(help)
  if ('prepareAt' in command) return command.prepareAt(given)(readStorageLocation())
  return done(await atDatabase(command, command.prepare(given)))
}

function done(text: string): Printed {
  return { text, code: 0 }
}

function parse(command: Command, args: readonly string[]): Given | 'help' {
  const { values, positionals } = strictly(() =>
    parseArgs({
      args: [...args],
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    }),
  )
  if (values.help) return 'help'
  const [id, ...others] = command.takesId ? positionals : [undefined, ...positionals]
  if (others.length > 0) throw new WrongUse('There are more arguments than the command takes.')
  return { values: values as Given['values'], id }
}

/** Makes sentences of what `parseArgs` throws; its second sentence tells of positional arguments. */
function strictly<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\.\s|\n/)
    throw new WrongUse(sentence.endsWith('.') ? sentence : `${sentence}.`)
  }
}

async function atDatabase({ makesDatabase }: RecordCommand, work: Work): Promise<string> {
  const location = readStorageLocation()
  if (!(makesDatabase || (await isThere(location)))) {
    const place = placeOf(location)
    throw new StartupFailure(`There is no database at ${place}. Check DATABASE_URL, or start the server once.`)
  }
  const storage = await openStorage(location)
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}
