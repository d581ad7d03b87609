import { version } from '../version.ts'
import { accountCommands } from './accounts.ts'
import type { Command } from './command.ts'
import { databaseCommands } from './database.ts'
import { keyCommands } from './keys.ts'
import { linkCommands } from './links.ts'
import { table } from './output.ts'
import { loginLinkCommand, startCommand } from './server.ts'
import { transferCommands } from './transfer.ts'
import { program } from './usage.ts'

/** All commands by name, in the order of the help. */
const commands: Readonly<Record<string, Command>> = {
  start: startCommand,
  ...withPrefix('accounts', accountCommands),
  ...withPrefix('keys', keyCommands),
  ...withPrefix('links', linkCommands),
  'login-link': loginLinkCommand,
  ...databaseCommands,
  ...transferCommands,
}

function withPrefix(prefix: string, commands: Readonly<Record<string, Command>>): Record<string, Command> {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [`${prefix} ${name}`, command]))
}

/** A command, or a group of commands. */
export interface Found {
  /** Undefined if the arguments name no command. */
  readonly command: Command | undefined
  /** The words that could follow if no command is named. */
  readonly names: readonly string[]
  /** The arguments after the name. */
  readonly rest: readonly string[]
  readonly usage: string
  readonly help: string
}

/** Finds the command that the first one or two arguments name. */
export function findCommand(args: readonly string[]): Found {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ')
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command !== undefined) return foundCommand(name, command, args.slice(words))
  }
  const prefix = `${args[0] ?? ''} `
  const all = Object.entries(commands)
  const group = all.filter(([name]) => name.startsWith(prefix))
  return group.length > 0
    ? foundGroup(
        `${program} ${args[0]}`,
        group,
        group.map(([name]) => name.slice(prefix.length)),
        args.slice(1),
      )
    : foundGroup(program, all, [...new Set(all.map(([name]) => name.replace(/ .*/, '')))], args)
}

function foundCommand(name: string, command: Command, rest: readonly string[]): Found {
  const usage = `${`Usage: ${program} ${name} ${command.synopsis}`.trimEnd()}\n\n${command.details}`
  return { command, names: [], rest, usage, help: `${command.summary}\n\n${usage}` }
}

function foundGroup(
  path: string,
  group: readonly (readonly [string, Command])[],
  names: readonly string[],
  rest: readonly string[],
): Found {
  const lines = table(group.map(([name, { summary }]) => [`  ${program} ${name}`, summary]))
  const usage = `Usage: ${path} COMMAND\n\n${lines}\n\n${hint}`
  return { command: undefined, names, rest, usage, help: `Waymark ${version}\n\n${usage}` }
}

const hint = `"${program} help COMMAND" explains a command, "${program} version" prints the version. The commands work
on the database in DATABASE_URL, whether or not a server runs; only "restore" needs it stopped.

Exit codes: 0 done; 1 not done, or only in part; 2 the command line is wrong, or another program is needed.`
