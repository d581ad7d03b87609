import { parseArgs } from 'node:util'
import { readStorageLocation } from '../config/config.ts'
import { Failure, noDatabaseAt, StartupFailure, UseOwnTool } from '../errors.ts'
import type { StorageLocation } from '../storage/location.ts'
import { copiesOf, isThere, openStorage, placeOf } from '../storage/open.ts'
import { version } from '../version.ts'
import { type Command, type Given, type Printed, type RecordCommand, type Surroundings, WrongUse } from './command.ts'
import { type Asked, find } from './commands.ts'
import { didYouMean } from './nearest.ts'

/**
 * Runs one command and returns the exit code: 0 when it is done, 1 when it could not be done or only in part, 2 when the
 * command line is wrong or another program is needed. Results go to `out`, sentences about failures to `err`.
 */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings
  const [first, ...named] = args
  const asked = find(first === 'help' ? named : args)
  try {
    const { text, code } = first === 'help' ? help(asked) : await answer(asked, surroundings)
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

const helpOptions = ['--help', '-h']
const versionWords = ['version', '--version', '-v']

function help({ help, names, rest: [next] }: Asked): Printed {
  if (next === undefined || helpOptions.includes(next)) return done(help)
  throw unknownCommand(next, names)
}

async function answer({ command, names, rest, help }: Asked, surroundings: Surroundings): Promise<Printed> {
  const [next] = rest
  if (command === undefined) {
    if (next === undefined) throw new WrongUse('Name a command.')
    if (helpOptions.includes(next) || next === 'help') return done(help)
    if (versionWords.includes(next)) return done(version)
    throw unknownCommand(next, names)
  }
  const given = parse(command, rest)
  if (given === 'help') return done(help)
  if ('serves' in command) {
    await surroundings.serve()
    return done('')
  }
  if ('prepare' in command) return atDatabase(command, given, surroundings)
  const work = command.prepareAt(given)
  return work(locationFor(command, given), surroundings)
}

function done(text: string): Printed {
  return { text, code: 0 }
}

function unknownCommand(word: string, names: readonly string[]): WrongUse {
  const what = word.startsWith('-') ? 'option' : 'command'
  return new WrongUse(`There is no ${what} "${word}" here.${didYouMean(word, [...names, 'help', 'version'])}`)
}

function parse(command: Command, args: readonly string[]): Given | 'help' {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const
  const { values, positionals } = strictly(Object.keys(options), () =>
    parseArgs({ args: [...args], options, allowPositionals: true }),
  )
  if (values.help) return 'help'
  const [operand, ...others] = command.takesOperand ? positionals : [undefined, ...positionals]
  if (others.length > 0) throw new WrongUse('There are more arguments than the command takes.')
  return { values: values as Given['values'], operand }
}

/** Makes sentences of what `parseArgs` throws; its second sentence tells of positional arguments. */
function strictly<T>(names: readonly string[], work: () => T): T {
  try {
    return work()
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\.\s|\n/)
    const [, unknown = ''] = /^Unknown option '(--?[^']+)'/.exec(sentence) ?? []
    const options = names.map((name) => `--${name}`)
    throw new WrongUse(`${sentence.replace(/\.$/, '')}.${didYouMean(unknown, options)}`)
  }
}

async function atDatabase(command: RecordCommand, given: Given, surroundings: Surroundings): Promise<Printed> {
  const work = command.prepare(given)
  const location = locationFor(command, given)
  if (!(command.makesDatabase || (await isThere(location)))) throw noDatabaseAt(placeOf(location))
  const storage = await openStorage(location)
  try {
    const printed = await work(storage, surroundings)
    return typeof printed === 'string' ? done(printed) : printed
  } finally {
    await storage.close()
  }
}

/** The database, which is not the file that the command reads or writes. */
function locationFor({ takesOperand }: Command, { operand }: Given): StorageLocation {
  const location = readStorageLocation()
  if (takesOperand !== 'file' || operand === undefined || !copiesOf(location).isItself(operand)) return location
  throw new WrongUse(`${operand} is the database itself. Name another file.`)
}
