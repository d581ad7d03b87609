import { Failure, StartupFailure, UseOwnTool } from '../errors.ts'
import { version } from '../version.ts'
import type { Result, Terminal } from './command.ts'
import { type Found, findCommand } from './commands.ts'
import { didYouMean, WrongUse } from './usage.ts'

/**
 * Runs one command. Results go to `out`, errors to `err`. Returns the exit code: 0 if it is done, 1 if it is not done or only
 * in part, 2 if the command line is wrong or another program is needed.
 */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const isHelp = args[0] === 'help'
  const found = findCommand(isHelp ? args.slice(1) : args)
  try {
    const { text, code } = isHelp ? help(found) : await run(found, terminal)
    if (text !== '') terminal.out.write(`${text}\n`)
    return code
  } catch (error) {
    if (error instanceof WrongUse) {
      terminal.err.write(`${error.message}\n\n${found.usage}\n`)
      return 2
    }
    if (!(error instanceof Failure || error instanceof StartupFailure || error instanceof UseOwnTool)) throw error
    terminal.err.write(`${error.message}\n`)
    return error instanceof UseOwnTool ? 2 : 1
  }
}

const helpOptions = ['--help', '-h']
const versionWords = ['version', '--version', '-v']

function help({ help, names, rest: [next] }: Found): Result {
  if (next === undefined || helpOptions.includes(next)) return { text: help, code: 0 }
  throw unknownCommand(next, names)
}

async function run({ command, names, rest, help }: Found, terminal: Terminal): Promise<Result> {
  if (command !== undefined) {
    const work = command.prepare(rest)
    return work === null ? { text: help, code: 0 } : work(terminal)
  }
  const [next] = rest
  if (next === undefined) throw new WrongUse('Name a command.')
  if (helpOptions.includes(next) || next === 'help') return { text: help, code: 0 }
  if (versionWords.includes(next)) return { text: version, code: 0 }
  throw unknownCommand(next, names)
}

function unknownCommand(word: string, names: readonly string[]): WrongUse {
  const what = word.startsWith('-') ? 'option' : 'command'
  return new WrongUse(`There is no ${what} "${word}" here.${didYouMean(word, [...names, 'help', 'version'])}`)
}
