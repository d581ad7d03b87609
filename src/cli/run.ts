import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readStorageLocation } from '../config.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { openStorage, type StorageLocation } from '../storage/open.ts'
import { version } from '../version.ts'
import { type Command, type Given, type Result, type Streams, WrongUse } from './command.ts'
import { type Asked, find } from './commands.ts'

/**
 * Runs one command and returns the exit code: 0 when it was done, 1 when it could not be or not wholly, 2 when the
 * arguments are wrong. Results go to `out`, sentences about failures to `err`.
 */
export async function runCli(args: readonly string[], streams: Streams): Promise<number> {
  const { out, err } = streams
  const asked = find(args)
  try {
    const { text, exitCode } = await answer(asked, streams)
    if (text !== '') out.write(`${text}\n`)
    return exitCode
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

async function answer({ command, rest, help }: Asked, streams: Streams): Promise<Exclude<Result, string>> {
  const result = command === undefined ? withoutCommand(rest, help) : await perform(command, rest, help, streams)
  return typeof result === 'string' ? { text: result, exitCode: 0 } : result
}

function withoutCommand([next]: readonly string[], help: string): string {
  if (next === '--help' || next === '-h') return help
  if (next === '--version') return version
  throw new WrongUse(next === undefined ? 'Say what is to be done.' : `There is no command or option "${next}" here.`)
}

async function perform(command: Command, rest: readonly string[], help: string, streams: Streams): Promise<Result> {
  const given = parse(command, rest)
  if (given === 'help') return help
  if ('prepareFile' in command) {
    const work = command.prepareFile(given)
    return work(locationFor(command, given), streams)
  }
  return atDatabase(command, given, streams)
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

async function atDatabase(
  command: Extract<Command, { prepare: unknown }>,
  given: Given,
  streams: Streams,
): Promise<Result> {
  const work = command.prepare(given)
  const storage = await openStorage(locationFor(command, given))
  try {
    return await work(storage, streams)
  } finally {
    await storage.close()
  }
}

function locationFor({ makesDatabase }: Command, { operand }: Given): StorageLocation {
  const location = readStorageLocation()
  const found = statSync(location.path, { throwIfNoEntry: false })
  if (found === undefined && !makesDatabase) {
    throw new StartupFailure(`There is no database at ${location.path}. Check DATABASE_URL, or start the server once.`)
  }
  const named = operand === undefined ? undefined : statSync(operand, { throwIfNoEntry: false })
  if (found !== undefined && found.ino === named?.ino && found.dev === named.dev) {
    throw new WrongUse(`${operand} is the database itself. Name another file.`)
  }
  return location
}
