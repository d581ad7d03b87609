import { version } from '../version.ts'
import { accountCommands } from './accounts.ts'
import { backupCommands } from './backup.ts'
import { type Command, program } from './command.ts'
import { exportClicksCommand } from './export-clicks.ts'
import { keyCommands } from './keys.ts'
import { linkCommands } from './links.ts'
import { loginLinkCommand } from './login-link.ts'
import { migrateCommand } from './migrate.ts'
import { startCommand } from './start.ts'
import { table } from './table.ts'
import { transferCommands } from './transfer.ts'

type Topic = Readonly<Record<string, Command>>
type Commands = Readonly<Record<string, Topic | Command>>

/** Commands by their first word: a topic, which a second word follows, or a command that is one word. */
const topics: Commands = {
  start: startCommand,
  accounts: accountCommands,
  keys: keyCommands,
  links: linkCommands,
  'login-link': loginLinkCommand,
  migrate: migrateCommand,
  ...backupCommands,
  ...transferCommands,
  'export clicks': exportClicksCommand,
}

/** What the first arguments name: a command, or a topic (or nothing) within which a command is still to be named. */
export interface Asked {
  readonly command: Command | undefined
  /** The words that could follow where no command is named. */
  readonly names: readonly string[]
  /** The arguments that follow. */
  readonly rest: readonly string[]
  readonly usage: string
  readonly help: string
}

/** Finds the command that the arguments name. */
export function find(args: readonly string[]): Asked {
  const [topicName = '', commandName = '', ...rest] = args
  const both = own(topics, `${topicName} ${commandName}`)
  if (both !== undefined && isCommand(both)) return asked(both, `${topicName} ${commandName}`, rest)
  const topic = own(topics, topicName)
  if (topic === undefined) return place(args, program, topics, Object.keys(topics))
  if (isCommand(topic)) return asked(topic, topicName, args.slice(1))
  const command = own(topic, commandName)
  if (command !== undefined) return asked(command, `${topicName} ${commandName}`, rest)
  return place(args.slice(1), `${program} ${topicName}`, { [topicName]: topic }, Object.keys(topic))
}

function asked(command: Command, name: string, rest: readonly string[]): Asked {
  const usage = `${`Usage: ${program} ${name} ${command.synopsis}`.trimEnd()}\n\n${command.details}`
  return { command, names: [], rest, usage, help: `${command.summary}\n\n${usage}` }
}

function isCommand(topic: Topic | Command): topic is Command {
  return typeof topic.summary === 'string'
}

function own<T>(named: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(named, name) ? named[name] : undefined
}

function place(rest: readonly string[], path: string, within: Commands, names: readonly string[]): Asked {
  const commands = Object.entries(within).flatMap(([topic, commands]) =>
    isCommand(commands)
      ? [[`  ${program} ${topic}`, commands.summary]]
      : Object.entries(commands).map(([name, { summary }]) => [`  ${program} ${topic} ${name}`, summary]),
  )
  const usage = `Usage: ${path} COMMAND\n\n${table(commands)}\n\n${hint}`
  return { command: undefined, names, rest, usage, help: `Waymark ${version}\n\n${usage}` }
}

const hint = `"${program} help COMMAND" explains a command, "${program} version" prints the version. The commands work
on the database that DATABASE_URL names, whether or not a server runs; only "restore" needs it stopped.

Exit codes: 0 done; 1 not done, or only in part; 2 the command line is wrong, or another program is needed.`
