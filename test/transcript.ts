/**
 * The transcripts of a document: `console` blocks with commands, which start with `$ ` and may continue after a backslash,
 * and their outputs. JSON outputs may be indented.
 */
import { spawnSync } from 'node:child_process'
import { commandsWith } from './command-line.ts'
import type { Variables } from './processes.ts'
import { repository } from './scripts.ts'

export interface Step {
  readonly command: string
  readonly output: string
}

export interface RunOptions {
  /** Replaces `http://localhost:3000`. */
  readonly url: string
  /** Other replacements, by the text in the document. */
  readonly places?: Readonly<Record<string, string>>
  readonly env: Variables
  /** Whether outputs that are a JSON object are indented. */
  readonly isIndented?: boolean
}

type MutableOptions = RunOptions & { readonly env: Record<string, string> }

const block = /```console\n([\s\S]*?)```/

/** Returns all commands of the document with their outputs. */
export function stepsOf(document: string): Step[] {
  return document.split(block).flatMap((text, at) => (at % 2 === 1 ? stepsIn(text) : []))
}

/** Returns the steps of a block. */
function stepsIn(text: string): Step[] {
  const steps = text.split(/^\$ /m).slice(1)
  return steps.map((step) => {
    const [whole = '', command = ''] = /^((?:.*\\\n)*.*)\n/.exec(step) ?? []
    return { command, output: step.slice(whole.length) }
  })
}

/** Returns the document with the current outputs of its commands. A command may set a variable for the next commands. */
export async function rerun(document: string, { env, ...rest }: RunOptions): Promise<string> {
  const options = { ...rest, env: { ...env } }
  const parts = document.split(block)
  for (let at = 1; at < parts.length; at += 2) {
    let text = ''
    for (const { command } of stepsIn(String(parts[at]))) text += `$ ${command}\n${await outputOf(command, options)}`
    parts[at] = `\`\`\`console\n${text}\`\`\``
  }
  return parts.join('')
}

/** Returns the document with every value that differs from run to run replaced by its kind. */
export function timeless(document: string): string {
  return document
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z/g, 'TIME')
    .replace(/until \d{4}-\d\d-\d\d/g, 'until DAY')
    .replace(/"request_id":( ?)"[^"]+"/g, '"request_id":$1"ID"')
    .replace(/^(x-ratelimit-(?:remaining|reset): )\d+$/gm, '$1N')
    .replace(/;r=\d+;t=\d+/g, ';r=N;t=N')
    .replace(/wm_[0-9A-Za-z]{49}/g, 'KEY')
    .replace(/wm[il]_[\w-]{43}/g, 'TOKEN')
    .replace(/wm_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}/g, 'KEY')
    .replace(/ +$/gm, '')
}

/** If the command sets a variable, puts it into `env`. */
async function outputOf(command: string, options: MutableOptions): Promise<string> {
  const { url, places = {}, env, isIndented = false } = options
  const stands = Object.entries({ 'http://localhost:3000': url, 'http://127.0.0.1:3000': url, ...places })
  const real = stands.reduce((text, [written, meant]) => text.replaceAll(written, meant), command)
  const [, variable] = /^([A-Z]+)=/.exec(real) ?? []
  if (variable !== undefined) {
    env[variable] = outputOfShell(`${real}; printf %s "$${variable}"`, env)
    return ''
  }
  const printed = (await outputOfWaymark(real, env)) ?? outputOfShell(real, env)
  const output = stands.reduce((text, [written, meant]) => replacePlace(text, meant, written), printed)
  const shown = isIndented && output.startsWith('{') ? JSON.stringify(JSON.parse(output), null, 2) : output
  return shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`
}

/** Replaces a URL. In a table, the column keeps its width. */
function replacePlace(output: string, meant: string, written: string): string {
  const gap = ' '.repeat(Math.max(0, meant.length - written.length))
  return output
    .split(meant)
    .map((text, index) => (index === 0 ? text : text.replace(/^(\S*)(?= {2})/, `$1${gap}`)))
    .join(written)
}

/** Runs a command of Waymark without a shell, in this process. Returns undefined for any other command. */
async function outputOfWaymark(command: string, env: Variables): Promise<string | undefined> {
  const [, line] = /^(?:npx waymark|npm run -s waymark --) ([^$&;<>|]*)$/.exec(command) ?? []
  if (line === undefined) return undefined
  const { code, stdout, stderr } = await commandsWith(env).run(line)
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`)
  return stdout
}

function outputOfShell(command: string, env: RunOptions['env']): string {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { cwd: repository, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`)
  return stdout
}
