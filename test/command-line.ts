/** The command line in the process of the test: faster than a process for each command, and covered. */
import assert from 'node:assert/strict'
import { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createAccount } from '../src/accounts/store.ts'
import { runCli } from '../src/cli/run.ts'
import type { Storage, StorageLocation } from '../src/storage/port.ts'
import type { Json } from './client.ts'
import { newStorage } from './engine.ts'
import type { Bench, Variables } from './processes.ts'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Around {
  readonly variables?: Variables
  /** Standard input. */
  readonly input?: Readable
  /** Whether the output is a terminal. */
  readonly isTerminal?: boolean
}

export interface Place {
  readonly storage: Storage
  /** The variables for processes that use the database. */
  readonly variables: Variables
  /** Runs a command on the database. Words of the line may have quotes. */
  run(line: string, around?: Around): Promise<Said>
  /** Runs a command that must succeed without a word on stderr. Returns its output. */
  say(line: string): Promise<string>
  /** Runs such a command with `--json`. Returns the value that it prints. */
  json(line: string): Promise<Json>
  /** Runs a command that must fail with this exit code and message. After code 2, the usage must follow. */
  fails(line: string, code: 1 | 2, message: string | RegExp, around?: Around): Promise<void>
}

/** Opens a database with one account for each name. */
export async function newPlace(
  t: Bench,
  engine: StorageLocation['engine'] = 'sqlite',
  accounts: readonly string[] = ['Acme'],
): Promise<Place> {
  const storage = await newStorage((work) => t.after(work), engine)
  for (const name of accounts) await createAccount(storage, name)
  const { location } = storage
  const variables = { DATABASE_URL: location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url }
  return { storage, variables, ...commandsWith(variables) }
}

/** Returns functions that run commands with these variables. */
export function commandsWith(variables: Variables): Omit<Place, 'storage' | 'variables'> {
  const run: Place['run'] = (line, around = {}) =>
    runHere(wordsOf(line), { ...around, variables: { ...variables, ...around.variables } })
  const say = async (line: string) => {
    const { code, stdout, stderr } = await run(line)
    assert.deepEqual([code, stderr], [0, ''], line)
    return stdout.trimEnd()
  }
  const fails: Place['fails'] = async (line, code, message, around) => {
    const { stderr, ...ended } = await run(line, around)
    assert.deepEqual(ended, { code, stdout: '' }, line + stderr)
    const [text = '', usage] = stderr.split(/\n(?=\nUsage: npx waymark |$)/)
    if (typeof message === 'string') assert.equal(text, message)
    else assert.match(text, message)
    assert.equal(usage !== '', code === 2, stderr)
  }
  return { run, say, json: async (line) => JSON.parse(await say(`${line} --json`)), fails }
}

function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g), ([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  )
}

/** Standard input as a person types it at a terminal. */
export function typed(lines: Iterable<string> | AsyncIterable<string>): { readonly input: Readable } {
  return { input: Object.assign(Readable.from(lines), { isTTY: true }) }
}

/** Runs one command to its end. Concurrent commands need the same variables. */
export async function runHere(args: readonly string[], around: Around = {}): Promise<Said> {
  const { variables = {}, input = Readable.from([]), isTerminal = false } = around
  // The command must not use the tester's own database.
  const foreign = Object.keys(process.env).filter((name) => name.startsWith('DATABASE_'))
  const before = [...foreign, ...Object.keys(variables)].map((name) => [name, process.env[name]] as const)
  for (const name of foreign) delete process.env[name]
  Object.assign(process.env, variables)
  const [out, err] = [new Reader(isTerminal), new Reader(isTerminal)]
  try {
    const code = await runCli(args, { input: () => input, out, err, serve: async () => undefined })
    for (const stream of [out, err]) await finished(stream.end())
    return { code, stdout: out.text, stderr: withoutProgress(err.text) }
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** Removes the lines of progress, which commands write to other streams than terminals on a busy machine. */
export function withoutProgress(stderr: string): string {
  return stderr.replace(
    /^(\d+% \w+|\d+\.\d MB exported|[\d,]+ rows? (?:read|checked)|[\d,]+ links? imported|[\d,]+ address(?:es)? compared|Checking the plan|Another process is working on the import|Records stored: .*)\n/gm,
    '',
  )
}

/** Accepts one text at a time, so that the writer has to wait. */
class Reader extends Writable {
  readonly isTTY: boolean
  text = ''

  constructor(isTTY: boolean) {
    super({ highWaterMark: 1 })
    this.isTTY = isTTY
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += String(chunk)
    setImmediate(done)
  }
}
