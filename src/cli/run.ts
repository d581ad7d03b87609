import { parseArgs } from 'node:util'
import { readStorageLocation } from '../config.ts'
import { Failure, StartupFailure, UseOwnTool } from '../errors.ts'
import { copiesOf, isThere, openStorage, placeOf, type StorageLocation } from '../storage/open.ts'
import { version } from '../version.ts'
import { type Command, type Given, type Printed, type RecordCommand, type Streams, WrongUse } from './command.ts'
import { type Asked, find } from './commands.ts'

/**
 * Runs one command and returns the exit code: 0 when it was done, 1 when it could not be or not wholly, 2 when the
 * arguments are wrong or another program is to be used. Results go to `out`, sentences about failures to `err`.
 */
export async function runCli(args: readonly string[], streams: Streams): Promise<number> {
  const { out, err } = streams
  const asked = find(args)
  try {
    const { text, code } = await answer(asked, streams)
    if (text !== '') out.write(`${text}\n`)
    return code
  } catch (error) {
    if (error instanceof WrongUse) {
      err.write(`${error.message}\n\n${asked.usage}\n`)
      return 2
    }
    if (!(error instanceof Failure || error instanceof StartupFailure || error instanceof UseOwnTool)) throw error
    err.write(`${error.message}\n`)
    return error instanceof UseOwnTool ? 2 : 1
  }
}

async function answer({ command, rest, help }: Asked, streams: Streams): Promise<Printed> {
  const [next] = rest
  if (command === undefined) {
    if (next === '--help' || next === '-h') return done(help)
    if (next === '--version') return done(version)
    throw new WrongUse(next === undefined ? 'Say what is to be done.' : `There is no command or option "${next}" here.`)
  }
  const given = parse(command, rest)
  if (given === 'help') return done(help)
  if (!('prepareAt' in command)) return atDatabase(command, given, streams)
  const work = command.prepareAt(given)
  return work(locationFor(given), streams)
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
  const [operand, ...others] = command.takesOperand ? positionals : [undefined, ...positionals]
  if (others.length > 0) throw new WrongUse('There are more arguments than the command takes.')
  return { values: values as Given['values'], operand }
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

async function atDatabase(command: RecordCommand, given: Given, streams: Streams): Promise<Printed> {
  const work = command.prepare(given)
  const location = locationFor(given)
  if (!(command.makesDatabase || (await isThere(location)))) {
    const place = placeOf(location)
    throw new StartupFailure(
      `There is no Waymark database at ${place} yet. Check DATABASE_URL, or start the server once.`,
    )
  }
  const storage = await openStorage(location)
  try {
    const printed = await work(storage, streams)
    return typeof printed === 'string' ? done(printed) : printed
  } finally {
    await storage.close()
  }
}

/** The database, which is not the file that the command reads or writes. */
function locationFor({ operand }: Given): StorageLocation {
  const location = readStorageLocation()
  if (operand === undefined || !copiesOf(location).isItself(operand)) return location
  throw new WrongUse(`${operand} is the database itself. Name another file.`)
}
