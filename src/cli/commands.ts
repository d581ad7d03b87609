import { version } from '../version.ts'
import { accountCommands } from './accounts.ts'
import { backupCommands } from './backup.ts'
import type { Command } from './command.ts'
import { keyCommands } from './keys.ts'
import { table } from './table.ts'
import { transferCommands } from './transfer.ts'

type Topic = Readonly<Record<string, Command>>

const topics: Readonly<Record<string, Topic>> = { accounts: accountCommands, keys: keyCommands }
/** Those that need no topic. */
const plain: Topic = { ...backupCommands, ...transferCommands }

/** What the first arguments name: a command, or, where they name none, the place at which one is to be named. */
export interface Asked {
  readonly command: Command | undefined
  /** The arguments that follow. */
  readonly rest: readonly string[]
  readonly usage: string
  readonly help: string
}

/** Finds the command that the arguments name. */
export function find(args: readonly string[]): Asked {
  const [first = '', second = '', ...rest] = args
  const simple = own(plain, first)
  if (simple !== undefined) return asked(first, simple, args.slice(1))
  const topic = own(topics, first)
  if (topic === undefined) return place(args, 'waymark', everything)
  const command = own(topic, second)
  if (command === undefined) return place(args.slice(1), `waymark ${first}`, under(first, topic))
  return asked(`${first} ${second}`, command, rest)
}

function asked(name: string, command: Command, rest: readonly string[]): Asked {
  const usage = `Usage: waymark ${name} ${command.synopsis}\n\n${command.details}`
  return { command, rest, usage, help: `${command.summary}\n\n${usage}` }
}

function own<T>(named: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(named, name) ? named[name] : undefined
}

function place(rest: readonly string[], path: string, within: Topic): Asked {
  const commands = Object.entries(within).map(([name, { summary }]) => [`  waymark ${name}`, summary])
  const usage = `Usage: ${path} COMMAND\n\n${table(commands)}\n\n${hint}`
  return { command: undefined, rest, usage, help: `Waymark ${version}\n\n${usage}` }
}

/** The commands of a topic by their whole names. */
function under(topic: string, commands: Topic): Topic {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [`${topic} ${name}`, command]))
}

const hint = `"--help" after a command explains it. Everything is done at the database that DATABASE_URL names,
whether or not a server runs.`

const everything: Topic = Object.assign({}, ...Object.entries(topics).map(([name, topic]) => under(name, topic)), plain)
