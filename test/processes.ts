/**
 * The real server and the real command line, each as a process of its own that does not outlive its test.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Answer, type Json, type Request, sendRequest } from './client.ts'
import { commandArguments, repository, serverArguments } from './scripts.ts'

/** A test, with which its processes and folders end. */
export interface Bench {
  after(work: () => unknown): void
}

export type Variables = Readonly<Record<string, string>>

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process that runs, what it has said so far, and how it ends. */
export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  stdout(): string
  /** Resolves with the match once stdout has one; rejects when the process ends without. */
  said(pattern: RegExp): Promise<RegExpExecArray>
}

export interface RunningServer extends Running {
  readonly port: number
  readonly url: string
  /** The key that was printed; '' when none was. */
  readonly key: string
  /** Sends a request, and again while the server says that it is overloaded: the machine may be. */
  send(method: string, path: string, request?: Request): Promise<Answer>
  /** Sends the signal and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<Ended>
}

/** Variables for a database of one's own, in a folder that is not there yet. */
export function newDatabase(t: Bench): { path: string; variables: Variables } {
  const path = join(newFolder(t), 'data', 'waymark.db')
  return { path, variables: { DATABASE_URL: `sqlite:${path}` } }
}

/** A new folder that others may use as well. */
export function newFolder(t: Bench): string {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** Starts the server as `npm start` does, without npm in between. `nodeOptions` are arguments to Node itself. */
export function run(
  t: Bench,
  variables: Variables,
  options: SpawnOptions = {},
  nodeOptions: readonly string[] = [],
): Running {
  return startProgram(t, [process.execPath, ...nodeOptions, ...serverArguments], variables, options)
}

export function runNpm(t: Bench, args: readonly string[], variables: Variables): Running {
  return startProgram(t, ['npm', ...args], variables)
}

/** Runs one command line to its end. */
export function waymark(t: Bench, args: readonly string[], variables: Variables): Promise<Ended> {
  return startProgram(t, [process.execPath, ...commandArguments, ...args], variables).ended
}

/** The server once it listens, on a port that was free. */
export async function listening(running: Running): Promise<RunningServer> {
  const [, url = ''] = await running.said(/is listening on (http:\S+) /)
  const [key = ''] = /^ +wm_\w+$/m.exec(running.stdout()) ?? []
  const port = Number(new URL(url).port)
  // A connection that is kept would keep a server that stops waiting for what it may bring.
  const agent = new Agent({ keepAlive: false })
  return {
    ...running,
    url,
    port,
    key: key.trim(),
    send: async (method, path, request = {}) => {
      for (;;) {
        const answer = await sendRequest({ agent, port, method, path }, { key: key.trim(), ...request })
        if (answer.body?.code !== 'overloaded') return answer
      }
    },
    end: (signal) => {
      running.child.kill(signal)
      return running.ended
    },
  }
}

/** Finds a port of 127.0.0.1 that is free, and that the system gives to no other process that asks for any port. */
export function freePort(): Promise<number> {
  return freePortRow(1)
}

/** The first of `count` ports in a row of 127.0.0.1 that are free at this moment, none of them one that is given to others. */
export async function freePortRow(count: number): Promise<number> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000)
    const servers = Array.from({ length: count }, (_, index) => createServer().listen(first + index, '127.0.0.1'))
    const isFree = await Promise.all(servers.map((server) => once(server, 'listening'))).then(
      () => true,
      () => false,
    )
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    if (isFree) return first
  }
}

/** A server on a free port. */
export function startServer(t: Bench, variables: Variables): Promise<RunningServer> {
  return listening(run(t, { PORT: '0', ...variables }))
}

/** The answer's body when the `curl` line that the server printed is pasted into a shell with this PATH. */
export async function pasteCurl(server: RunningServer, PATH: string): Promise<Json> {
  const [curl = ''] = /^ *curl .*$/m.exec(server.stdout()) ?? []
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`], { env: { ...process.env, PATH } })
  return JSON.parse(stdout)
}

/** What is printed when all that the server told to try is pasted into a shell with this PATH. */
export async function pasteTrial(server: RunningServer, PATH: string): Promise<string> {
  const [, trial = ''] = /^Try it:\n([\s\S]*)/m.exec(server.stdout()) ?? []
  const commands = trial.split('\n').filter((line) => line.startsWith('  curl '))
  const { stdout } = await promisify(execFile)('sh', ['-c', commands.join('\n')], { env: { ...process.env, PATH } })
  return stdout
}

/** Resolves once `work` returns true. */
export async function eventually(work: () => Promise<boolean> | boolean, withinMs = 30_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await work())) {
    assert.ok(performance.now() < deadline, `not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Starts any program. */
export function startProgram(
  t: Bench,
  [command = '', ...args]: readonly string[],
  variables: Variables,
  options: SpawnOptions = {},
): Running {
  // Two servers on one machine cannot both have the default port. A group of its own, so that what npm started ends with it.
  const env = { ...inherited(), OPS_PORT: '0', REDIRECT_PORT: '0', ...variables }
  const child = spawn(command, args, {
    cwd: repository,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    env,
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    child.emit('said')
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  let isClosed = false
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      isClosed = true
      resolve({ code, signal, stdout, stderr })
    })
  })
  t.after(() => {
    if (!isClosed) killGroup(child)
    return ended.catch(() => undefined)
  })
  return { child, ended, stdout: () => stdout, said: (pattern) => said(child, ended, pattern, () => stdout) }
}

function said(
  child: ChildProcess,
  ended: Promise<Ended>,
  pattern: RegExp,
  stdout: () => string,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(stdout())
      if (match === null) return
      child.off('said', look)
      resolve(match)
    }
    child.on('said', look)
    look()
    ended.then(({ stderr }) => reject(new Error(`It ended without saying ${pattern}: ${stdout()}${stderr}`)), reject)
  })
}

/** Ends what npm started as well, also when npm itself has ended. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended in this very moment.
  }
}

/** What a process needs from its surroundings, and none of Waymark's own variables. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME }
}

/**
 * Variables with which a process tells what of the code it ran: for code that nothing else runs, since it takes each
 * process several times as long.
 */
export function measured(): Variables {
  const { NODE_V8_COVERAGE } = process.env
  // What was compiled earlier tells less precisely what of it ran.
  return NODE_V8_COVERAGE === undefined ? {} : { NODE_V8_COVERAGE, NODE_DISABLE_COMPILE_CACHE: '1' }
}
