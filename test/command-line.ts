/** The command line in the process of the test: faster than a process for each command, and covered. */
import { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { runCli } from '../src/cli/run.ts'
import type { StorageLocation } from '../src/storage/port.ts'
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

/** Opens an empty database. `run` runs commands on it. */
export async function newPlace(t: Bench, engine: StorageLocation['engine'] = 'sqlite') {
  const storage = await newStorage((work) => t.after(work), engine)
  const { location } = storage
  const variables = { DATABASE_URL: location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url }
  const run = (args: readonly string[], around: Around = {}) =>
    runHere(args, { ...around, variables: { ...variables, ...around.variables } })
  return { storage, run }
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
    return { code, stdout: out.text, stderr: err.text }
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
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
