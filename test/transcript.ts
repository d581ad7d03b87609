/**
 * The transcripts of a document: `console` blocks with commands, which start with `$ ` and may continue after a backslash,
 * and their outputs. JSON outputs may be indented.
 */
import { spawnSync } from 'node:child_process'
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
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether outputs that are a JSON object are indented. */
  readonly isIndented?: boolean
}

type MutableOptions = RunOptions & { readonly env: Record<string, string | undefined> }

const block = /```console\n([\s\S]*?)```/g

/** Returns all commands of the document with their outputs. */
export function stepsOf(document: string): Step[] {
  return [...document.matchAll(block)].flatMap(([, text = '']) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [whole = '', command = ''] = /^((?:.*\\\n)*.*)\n/.exec(step) ?? []
        return { command, output: step.slice(whole.length) }
      }),
  )
}

/** Returns the document with the current outputs of its commands. A command may set a variable for the next commands. */
export function rerun(document: string, { env, ...rest }: RunOptions): string {
  const options = { ...rest, env: { ...env } }
  return document.replace(block, (_, text: string) => {
    const steps = stepsOf(`\`\`\`console\n${text}\`\`\``)
    return `\`\`\`console\n${steps.map(({ command }) => `$ ${command}\n${outputOf(command, options)}`).join('')}\`\`\``
  })
}

/** Returns the document with every value that differs from run to run replaced by its kind. */
export function timeless(document: string): string {
  return document
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z/g, 'TIME')
    .replace(/"request_id":( ?)"[^"]+"/g, '"request_id":$1"ID"')
    .replace(/^(x-ratelimit-(?:remaining|reset): )\d+$/gm, '$1N')
    .replace(/;r=\d+;t=\d+/g, ';r=N;t=N')
    .replace(/wm_[0-9A-Za-z]{49}/g, 'KEY')
    .replace(/wml_[\w-]{43}/g, 'TOKEN')
    .replace(/wm_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}/g, 'KEY')
    .replace(/ +$/gm, '')
}

/** If the command sets a variable, puts it into `env`. */
function outputOf(command: string, { url, places = {}, env, isIndented = false }: MutableOptions): string {
  const stands = Object.entries({ 'http://localhost:3000': url, 'http://127.0.0.1:3000': url, ...places })
  const real = stands.reduce((text, [written, meant]) => text.replaceAll(written, meant), command)
  const [, variable] = /^([A-Z]+)=/.exec(real) ?? []
  if (variable !== undefined) {
    env[variable] = outputOfShell(`${real}; printf %s "$${variable}"`, env)
    return ''
  }
  const output = stands.reduce((text, [written, meant]) => replacePlace(text, meant, written), outputOfShell(real, env))
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

function outputOfShell(command: string, env: RunOptions['env']): string {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { cwd: repository, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`)
  return stdout
}
