import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { distance } from 'fastest-levenshtein'
import { readStorageLocation } from '../config/config.ts'
import { describeLocation, isDatabaseFile, isThere, noDatabaseAt, openStorage } from '../storage/open.ts'
import type { Storage, StorageLocation } from '../storage/port.ts'
import { type Argument, WrongUse } from './arguments.ts'

/** The streams of the process, and the server that `start` runs. */
export interface Terminal {
  readonly input: () => Readable
  readonly out: Writable
  readonly err: Writable
  /** Starts the server. Resolves once it listens. */
  readonly serve: () => Promise<void>
}

/** Text for standard output, if any, and the exit code. */
export interface Result {
  readonly text: string
  readonly code: 0 | 1
}

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** The arguments in one line. */
  readonly synopsis: string
  /** One line for each argument, and notes. */
  readonly details: string
  readonly arguments: Arguments
  /** Whether the command uses only the API, and not the database. */
  readonly usesApi: boolean
  /** Runs the command. Returns null if the arguments ask for help instead. Throws `WrongUse`. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<Result | null>
}

/** The options by name. The key `operand` declares the argument without a name. */
export type Arguments = Readonly<Record<string, Argument<unknown>>>
export type Values<A extends Arguments> = { readonly [Name in keyof A]: A[Name] extends Argument<infer T> ? T : never }
/** A plain text means exit code 0. */
export type Printed = Promise<string | Result>

export interface Declared<A extends Arguments> {
  readonly summary: string
  readonly arguments: A
  readonly notes?: string
  readonly usesApi?: true
  /** Throws `WrongUse` if the values contradict each other. Runs before the command, which may open the database. */
  readonly check?: (values: Values<A>) => void
}

/** Declares a command. Its usage and its help are generated from its arguments. */
export function command<const A extends Arguments>(
  declared: Declared<A> & { readonly run: (values: Values<A>, terminal: Terminal) => Printed },
): Command {
  const entries = Object.entries(declared.arguments).map(([name, argument]) => ({
    ...argument,
    label: formatLabel(name, argument),
  }))
  const width = Math.min(maxLabelLength, Math.max(0, ...entries.map(({ label }) => label.length))) + 3
  const lines = entries.map(({ label, help }) => {
    const column = label.length < width ? label.padEnd(width) : `${label}\n${' '.repeat(width + 2)}`
    return `  ${column}${wrapped(help, width + 2)}`
  })
  return {
    summary: declared.summary,
    synopsis: entries
      .map(({ label, isRequired }) => (isRequired ? label : `[${label}]`).replace(' ', unbroken))
      .join(' '),
    details: [lines.join('\n'), declared.notes].filter(Boolean).join('\n\n'),
    arguments: declared.arguments,
    usesApi: declared.usesApi ?? false,
    run: async (args, terminal) => {
      const values = parse(declared.arguments, args)
      if (values === null) return null
      declared.check?.(values)
      const printed = await declared.run(values, terminal)
      return typeof printed === 'string' ? { text: printed, code: 0 } : printed
    },
  }
}

/** Declares a command on records. A missing database is an error, as its location may be wrong. */
export function recordCommand<const A extends Arguments>(
  declared: Declared<A> & {
    readonly createsDatabase?: true
    readonly run: (storage: Storage, values: Values<A>, terminal: Terminal) => Printed
  },
): Command {
  const { arguments: known, createsDatabase = false } = declared
  const run = async (values: Values<A>, terminal: Terminal) => {
    const [, file] = Object.entries<unknown>(values).find(([name]) => known[name]?.isFile) ?? []
    const location = locationFor(file as string | undefined)
    if (!(createsDatabase || (await isThere(location)))) throw noDatabaseAt(describeLocation(location))
    const storage = await openStorage(location)
    try {
      return await declared.run(storage, values, terminal)
    } finally {
      await storage.close()
    }
  }
  return command({ ...declared, run })
}

/** Returns the location of the database. Throws `WrongUse` if the command would read or write the database as its `file`. */
export function locationFor(file: string | undefined): StorageLocation {
  const location = readStorageLocation()
  if (file === undefined || !isDatabaseFile(location, file)) return location
  throw new WrongUse(`${file} is the database itself. Choose another file.`)
}

/** The longest label with a description on the same line. */
const maxLabelLength = 36
/** The longest line of a help text. */
const maxLineLength = 120

/** A space at which `wrapped` starts no line. */
const unbroken = '\u00a0'

/** Breaks a text into lines that fit next to a column of this width. */
export function wrapped(text: string, indent: number): string {
  const lines = new RegExp(`(?! )(.{1,${Math.max(40, maxLineLength - indent)}})(?: +|\n|$)`, 'g')
  const broken = Array.from(text.matchAll(lines), ([, line]) => line).join(`\n${' '.repeat(indent)}`)
  return broken.replaceAll(unbroken, ' ')
}

function formatLabel(name: string, { placeholder }: Argument<unknown>): string {
  if (name === 'operand') return placeholder
  return placeholder === '' ? `--${name}` : `--${name} ${placeholder}`
}

/** Parses arguments; null if they ask for help. */
function parse<A extends Arguments>(known: A, args: readonly string[]): Values<A> | null {
  const { operand, ...named } = known as Arguments
  const options = Object.entries(named).map(
    ([name, { placeholder }]) =>
      [name, placeholder === '' ? { type: 'boolean' } : { type: 'string', multiple: true }] as const,
  )
  const help = { type: 'boolean', short: 'h' } as const
  const config = { args: [...args], options: { ...Object.fromEntries(options), help }, allowPositionals: true }
  const { values, positionals } = withUsage([...Object.keys(named), 'help'], () => parseArgs(config))
  if (values.help) return null
  const extra = positionals[operand === undefined ? 0 : 1]
  if (extra !== undefined) throw unexpected(extra, 'name' in named && !('name' in values))
  const texts: Readonly<Record<string, unknown>> = { ...values, operand: positionals[0] }
  return Object.fromEntries(
    Object.entries(known as Arguments).map(([name, argument]) => {
      const text = texts[name]
      const label = name === 'operand' ? argument.placeholder : `--${name}`
      const isTwice = Array.isArray(text) && text.length > 1 && !argument.isRepeatable
      if (isTwice) throw new WrongUse(`${label} is given more than once.`)
      return [name, argument.parse(text === undefined ? undefined : String(text), label)]
    }),
  ) as Values<A>
}

/** The message doesn't contain an API key. */
function unexpected(text: string, lacksName: boolean): WrongUse {
  if (text.startsWith('wm_')) return new WrongUse('Too many arguments.')
  return new WrongUse(`Unexpected argument "${text}".${lacksName ? ' Put the name after --name.' : ''}`)
}

/** Formats the errors of `parseArgs`, which has an error code but no field for the option. */
function withUsage<T>(names: readonly string[], work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { message } = error as Error
    const [, option = ''] = /[Oo]ption '(?:-\w, )?(--?[^'\s]+)/.exec(message) ?? []
    if (message.startsWith('Unknown option')) {
      const options = names.map((name) => `--${name}`)
      throw new WrongUse(`Unknown option "${option}".${didYouMean(option, options)}`)
    }
    if (message.includes('does not take an argument')) throw new WrongUse(`${option} takes no value.`)
    if (message.includes('argument missing')) throw new WrongUse(`${option} needs a value.`)
    throw new WrongUse(`${option} needs a value. If the value starts with a hyphen, write ${option}=VALUE.`)
  }
}

/** Returns a suggestion of the most similar name, with a leading space; '' if no name is similar. */
export function didYouMean(word: string, names: readonly string[]): string {
  const lower = word.toLowerCase()
  const [nearest] = names
    .map((name) => ({ name, steps: distance(name, lower) }))
    .filter(({ name, steps }) => steps <= Math.max(2, name.length / 3))
    .sort((a, b) => a.steps - b.steps)
  return nearest === undefined ? '' : ` Did you mean "${nearest.name}"?`
}
