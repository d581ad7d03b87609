/**
 * The transcripts of a document: blocks of `console`, in which a line after `$ ` is a command, which goes on below a line
 * that ends with a backslash, and the lines below it are what it printed. An answer in JSON is shown indented.
 */
import { spawnSync } from 'node:child_process'
import { repository } from './scripts.ts'

export interface Step {
  readonly command: string
  readonly output: string
}

/** Where the commands of a document lead when they are run. */
export interface Surroundings {
  /** Stands for `http://127.0.0.1:3000`. */
  readonly url: string
  /** What else in the document stands for something. */
  readonly places?: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether outputs that are a JSON object are indented. */
  readonly isIndented?: boolean
}

type WithVariables = Surroundings & { readonly env: Record<string, string | undefined> }

const block = /```console\n([\s\S]*?)```/g

/** All commands of the document with their outputs, in order. */
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

/** The document with the outputs that its commands have now. A variable that one of them sets is there for the next. */
export function rerun(document: string, { env, ...where }: Surroundings): string {
  const surroundings = { ...where, env: { ...env } }
  return document.replace(block, (_, text: string) => {
    const steps = stepsOf(`\`\`\`console\n${text}\`\`\``)
    return `\`\`\`console\n${steps.map(({ command }) => `$ ${command}\n${outputOf(command, surroundings)}`).join('')}\`\`\``
  })
}

/** The document with every value that differs from run to run replaced by its kind. */
export function timeless(document: string): string {
  return document
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z/g, 'TIME')
    .replace(/"request_id":( ?)"[^"]+"/g, '"request_id":$1"ID"')
    .replace(/wm_[0-9A-Za-z]{49}/g, 'KEY')
    .replace(/wml_[\w-]{43}/g, 'TOKEN')
    .replace(/wm_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}/g, 'KEY')
    .replace(/ +$/gm, '')
}

/** If the command sets a variable, puts it into `env`. */
function outputOf(command: string, { url, places = {}, env, isIndented = false }: WithVariables): string {
  const stands = Object.entries({ 'http://127.0.0.1:3000': url, ...places })
  const real = stands.reduce((text, [written, meant]) => text.replaceAll(written, meant), command)
  const [, variable] = /^([A-Z]+)=/.exec(real) ?? []
  if (variable !== undefined) {
    env[variable] = ran(`${real}; printf %s "$${variable}"`, env)
    return ''
  }
  const said = stands.reduce((text, [written, meant]) => text.replaceAll(meant, written), ran(real, env))
  const shown = isIndented && said.startsWith('{') ? JSON.stringify(JSON.parse(said), null, 2) : said
  return shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`
}

function ran(real: string, env: Surroundings['env']): string {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', real], { cwd: repository, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${real} ended with ${status}: ${stderr}`)
  return stdout
}
