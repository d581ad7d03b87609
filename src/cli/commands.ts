import { version } from '../version.ts'
import { accountCommands } from './accounts.ts'
import { backupCommands } from './backup.ts'
import type { Command } from './command.ts'
import { keyCommands } from './keys.ts'
import { migrateCommand } from './migrate.ts'
import { table } from './table.ts'
import { transferCommands } from './transfer.ts'

type Topic = Readonly<Record<string, Command>>

/** Commands by their first word: a topic, which a second word follows, or a command that is one word. */
const topics: Readonly<Record<string, Topic | Command>> = {
  accounts: accountCommands,
  keys: keyCommands,
  migrate: migrateCommand,
  ...backupCommands,
  ...transferCommands,
}

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
  const [topicName = '', commandName = '', ...rest] = args
  const topic = own(topics, topicName)
  if (topic === undefined) return place(args, 'waymark', topics)
  if (isCommand(topic)) return asked(topic, topicName, args.slice(1))
  const command = own(topic, commandName)
  if (command === undefined) return place(args.slice(1), `waymark ${topicName}`, { [topicName]: topic })
  return asked(command, `${topicName} ${commandName}`, rest)
}

function asked(command: Command, name: string, rest: readonly string[]): Asked {
  const usage = `Usage: waymark ${name} ${command.synopsis}\n\n${command.details}`
  return { command, rest, usage, help: `${command.summary}\n\n${usage}` }
}

function isCommand(topic: Topic | Command): topic is Command {
  return typeof topic.summary === 'string'
}

function own<T>(named: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(named, name) ? named[name] : undefined
}

function place(rest: readonly string[], path: string, within: Readonly<Record<string, Topic | Command>>): Asked {
  const commands = Object.entries(within).flatMap(([topic, commands]) =>
    isCommand(commands)
      ? [[`  waymark ${topic}`, commands.summary]]
      : Object.entries(commands).map(([name, { summary }]) => [`  waymark ${topic} ${name}`, summary]),
  )
  const usage = `Usage: ${path} COMMAND\n\n${table(commands)}\n\n${hint}`
  return { command: undefined, rest, usage, help: `Waymark ${version}\n\n${usage}` }
}

const hint = `"--help" after a command explains it. Everything is done at the database that DATABASE_URL names,
whether or not a server runs.`
