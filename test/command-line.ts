/** The command line, run in the process of the test: faster than a process each, and its lines are measured. */
import { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { runCli } from '../src/cli/run.ts'
import type { Variables } from './processes.ts'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Around {
  readonly variables?: Variables
  /** What standard input brings. */
  readonly input?: Readable
  /** Whether a person sees what is printed. */
  readonly isTerminal?: boolean
  /** Stands for the server. */
  readonly serve?: () => Promise<void>
}

/** Runs one command to its end. Commands that run at once need the same variables. */
export async function runHere(args: readonly string[], around: Around = {}): Promise<Said> {
  const { variables = {}, input = Readable.from([]), isTerminal = false, serve = async () => undefined } = around
  // The command must not see the tester's own database settings.
  const strange = Object.keys(process.env).filter((name) => name.startsWith('DATABASE_'))
  const before = [...strange, ...Object.keys(variables)].map((name) => [name, process.env[name]] as const)
  for (const name of strange) delete process.env[name]
  Object.assign(process.env, variables)
  const [out, err] = [new Reader(isTerminal), new Reader(isTerminal)]
  try {
    const code = await runCli(args, { input: () => input, out, err, serve })
    for (const stream of [out, err]) await finished(stream.end())
    return { code, stdout: out.text, stderr: err.text }
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** Takes one text at a time, so that the writer has to wait. */
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
