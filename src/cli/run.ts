import { Failure, StartupFailure, UseOwnTool } from '../errors.ts'
import { program, version } from '../version.ts'
import { accountCommands } from './accounts.ts'
import { UnknownCommand, WrongUse } from './arguments.ts'
import { type Command, didYouMean, type Terminal, wrapped } from './command.ts'
import { completionCommand } from './completion.ts'
import { databaseCommands } from './database.ts'
import { historyCommands } from './history.ts'
import { keyCommands } from './keys.ts'
import { linkFileCommands } from './link-files.ts'
import { linkCommands } from './links.ts'
import { invitationCommands, memberCommands } from './members.ts'
import { moveCommands } from './move.ts'
import { oidcCommands } from './oidc.ts'
import { json, printable, table } from './output.ts'
import { domainCommands, spaceCommands, tagCommands } from './resources.ts'
import { loginLinkCommand, startCommand } from './server.ts'
import { statsCommand } from './stats.ts'
import { transferCommands } from './transfer.ts'

/** All commands by name, in the order of the help. */
export const commands: Readonly<Record<string, Command>> = {
  start: startCommand,
  ...withPrefix('accounts', accountCommands),
  ...withPrefix('keys', keyCommands),
  ...withPrefix('members', memberCommands),
  ...withPrefix('invitations', invitationCommands),
  ...withPrefix('domains', domainCommands),
  ...withPrefix('links', { ...linkCommands, ...linkFileCommands }),
  ...withPrefix('spaces', spaceCommands),
  ...withPrefix('tags', tagCommands),
  ...withPrefix('move', moveCommands),
  stats: statsCommand,
  ...historyCommands,
  'login-link': loginLinkCommand,
  ...withPrefix('oidc', oidcCommands),
  ...databaseCommands,
  ...transferCommands,
  completion: completionCommand(() => commands),
}

function withPrefix(prefix: string, commands: Readonly<Record<string, Command>>): Record<string, Command> {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [`${prefix} ${name}`, command]))
}

/** What to use instead of commands of earlier versions. */
const replacements: Readonly<Record<string, string>> = {
  'links import': `"${program} links import" was removed. Use "${program} move plan FILE", and then "${program} move apply ID".`,
}

const helpWords = ['--help', '-h', 'help']
const versionWords = ['version', '--version', '-v']

/** Runs a command. Returns the exit code: 0 done, 1 not or partly done, 2 wrong command line or another tool needed. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const isHelp = args[0] === 'help'
  const { path, command, names, rest } = findCommand(isHelp ? args.slice(1) : args)
  const synopsis = `Usage: ${wrapped(`${path} ${command.synopsis}`.trimEnd(), 7)}`
  const usage = `${synopsis}\n\n${command.details}`
  try {
    const replaced = replacements[(isHelp ? args.slice(1) : args).slice(0, 2).join(' ')]
    if (replaced !== undefined) throw new UnknownCommand(replaced)
    const result = isHelp ? askForHelp(rest, names) : await command.run(rest, terminal)
    const { text, code } = result ?? { text: `${command.summary}\n\n${usage}`, code: 0 }
    if (text !== '') terminal.out.write(`${text}\n`)
    return code
  } catch (error) {
    if (error instanceof WrongUse) {
      terminal.err.write(`${printable(error.message)}\n${adviceFor(error)}\n`)
      return 2
    }
    if (!(error instanceof Failure || error instanceof StartupFailure || error instanceof UseOwnTool)) throw error
    terminal.err.write(`${printable(error.message)}\n`)
    return error instanceof UseOwnTool ? 2 : 1
  }

  function adviceFor(error: WrongUse): string {
    if (error instanceof UnknownCommand) return `Run "${program} help" to see all commands.`
    if (names.length > 0) return `\n${usage}`
    return `\n${synopsis}\nRun "${path.replace(program, `${program} help`)}" for the meaning of each option.`
  }
}

/**
 * Finds the command, or the group of commands, that the first one or two arguments name. `path` is the program with these
 * words, `names` are the words that may follow a group, and `rest` are the other arguments.
 */
function findCommand(args: readonly string[]) {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ')
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command !== undefined) return { path: `${program} ${name}`, command, names: [], rest: args.slice(words) }
  }
  const prefix = `${args[0] ?? ''} `
  const all = Object.entries(commands)
  const members = all.filter(([name]) => name.startsWith(prefix))
  if (members.length > 0) {
    const names = members.map(([name]) => name.slice(prefix.length))
    return { path: `${program} ${args[0]}`, command: group(members, names), names, rest: args.slice(1) }
  }
  const names = [...new Set(all.map(([name]) => name.replace(/ .*/, '')))]
  return { path: program, command: group(all, names), names, rest: args }
}

/** Returns the command that stands for a group if the arguments name none of its members. */
function group(members: readonly (readonly [string, Command])[], names: readonly string[]): Command {
  const lines = table(members.map(([name, { summary }]) => [`  ${program} ${name}`, summary]))
  return {
    summary: `Waymark ${version}`,
    synopsis: 'COMMAND',
    details: `${lines}\n\n${hint}`,
    arguments: {},
    usesApi: false,
    run: async (args) => {
      const [word, option] = args
      if (word === undefined) throw new WrongUse('No command given.')
      if (!versionWords.includes(word)) return askForHelp(args, names)
      return { text: option === '--json' ? json({ version }) : version, code: 0 }
    },
  }
}

/** Returns null, which prints the help. Throws `WrongUse` if a word follows the name of the command. */
function askForHelp([word]: readonly string[], names: readonly string[]): null {
  if (word === undefined || helpWords.includes(word)) return null
  const what = word.startsWith('-') ? 'option' : 'command'
  throw new UnknownCommand(`Unknown ${what} "${word}".${didYouMean(word, [...names, 'help', 'version'])}`)
}

const hint = `Run "${program} help COMMAND" for help with a command, and "${program} version" for the version. Commands
use the database in DATABASE_URL, whether or not the server is running. Only "restore" requires a stopped server.

Exit codes: 0 success; 1 failure or partial success; 2 invalid command line, or another tool is required.`
