/** The real server and the real command line as processes, which end with their test. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { type Answer, type Json, type Request, repeatWhileOverloaded, sendRequest } from './client.ts'
import { repository } from './scripts.ts'

/** A test. Its processes and folders are removed after it. */
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

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  stdout(): string
  stderr(): string
  /** Resolves with the match once stdout or stderr has one. Rejects if the process ends without a match. */
  said(pattern: RegExp): Promise<RegExpExecArray>
}

export interface RunningServer extends Running {
  readonly port: number
  readonly url: string
  /** The printed key; '' if none was printed. */
  readonly key: string
  /** Sends a request, and repeats it while the server is overloaded, because the machine may be busy. */
  send(method: string, path: string, request?: Request): Promise<Answer>
  /** Sends the signal. Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<Ended>
}

/**
 * Returns a bench for the file or suite that calls it. What a test starts on it lives on after the test, unlike what a test
 * passes to `after` of `node:test`.
 */
export function newBench(): Bench {
  const works: (() => unknown)[] = []
  after(async () => {
    for (const work of works.reverse()) await work()
  })
  return { after: (work) => void works.push(work) }
}

/** Returns the path of a new database, in a folder that does not exist yet, and its variables. */
export function newDatabase(t: Bench): { path: string; variables: Variables } {
  const path = join(newFolder(t), 'data', 'waymark.db')
  return { path, variables: { DATABASE_URL: `sqlite:${path}` } }
}

/** Creates a folder that other users may read. */
export function newFolder(t: Bench): string {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

export function runNpm(t: Bench, args: readonly string[], variables: Variables): Running {
  return startProgram(t, ['npm', ...args], variables)
}

/** Resolves once the server listens. */
export async function listening(running: Running): Promise<RunningServer> {
  const [, url = ''] = await running.said(/is listening on (http:\S+) /)
  const [key = ''] = /^ +wm_\w+$/m.exec(running.stderr()) ?? []
  const port = Number(new URL(url).port)
  // A stopping server would wait for requests on idle connections.
  const agent = new Agent({ keepAlive: false })
  return {
    ...running,
    url,
    port,
    key: key.trim(),
    send: (method, path, request = {}) => {
      const ask = () => sendRequest({ agent, port, method, path }, { key: key.trim(), ...request })
      return repeatWhileOverloaded(ask, method)
    },
    end: (signal) => {
      running.child.kill(signal)
      return running.ended
    },
  }
}

/** The next candidate for a free port. Test files run in processes with similar ids, and begin at different candidates. */
let candidate = (process.pid * 37) % 10_000

/** Finds a free port of 127.0.0.1, outside of the range from which the system chooses ports, and another one each time. */
export function freePort(): Promise<number> {
  return freePortRow(1)
}

/** Returns the first of `count` consecutive free ports. */
export async function freePortRow(count: number): Promise<number> {
  for (;;) {
    const first = 20_000 + candidate
    candidate = (candidate + count) % 10_000
    const servers = Array.from({ length: count }, (_, index) => createServer().listen(first + index, '127.0.0.1'))
    const isFree = await Promise.all(servers.map((server) => once(server, 'listening'))).then(
      () => true,
      () => false,
    )
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    if (isFree) return first
  }
}

/** Runs the `curl` line that the server printed, in a shell with this PATH. Returns the response body. */
export async function pasteCurl(server: RunningServer, PATH: string): Promise<Json> {
  const [curl = ''] = /^ *curl .*$/m.exec(server.stderr()) ?? []
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`], { env: { ...process.env, PATH } })
  return JSON.parse(stdout)
}

/** Runs all commands that the server printed, in a shell with this PATH. Returns their output. */
export async function pasteTrial(server: RunningServer, PATH: string): Promise<string> {
  const [, trial = ''] = /^Try it:\n([\s\S]*)/m.exec(server.stderr()) ?? []
  const commands = trial.split('\n').filter((line) => line.startsWith('  curl '))
  const { stdout } = await promisify(execFile)('sh', ['-c', commands.join('\n')], { env: { ...process.env, PATH } })
  return stdout
}

/**
 * Resolves once `work` returns true, which is tried every `everyMs`. `withinMs` ends a wait that would never end, even on a
 * busy machine.
 */
export async function eventually(
  work: () => Promise<boolean> | boolean,
  withinMs = 300_000,
  everyMs = 20,
): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await work())) {
    assert.ok(performance.now() < deadline, `not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

/** Where `said` looks after each event, in UTF-16 code units: more than a process writes at once. */
const maxNews = 200_000

/** Starts any program. */
export function startProgram(
  t: Bench,
  [command = '', ...args]: readonly string[],
  variables: Variables,
  options: SpawnOptions = {},
): Running {
  // Servers of several tests run at the same time, so none has a default port. Each process leads its own group, so that
  // the server ends with npm.
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, OPS_PORT: '0', REDIRECT_PORT: '0', ...variables }
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
    child.emit('said')
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
  const said = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = (length = maxNews) => {
        const match = pattern.exec(stdout.slice(-length)) ?? pattern.exec(stderr.slice(-length))
        if (match === null) return
        child.off('said', lookAtNews)
        resolve(match)
      }
      const lookAtNews = () => look()
      child.on('said', lookAtNews)
      look(Infinity)
      ended.then(() => reject(new Error(`It ended without output that matches ${pattern}: ${stdout}${stderr}`)), reject)
    })
  return { child, ended, stdout: () => stdout, stderr: () => stderr, said }
}

/** Ends the process and its descendants, even if the process itself has ended. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}

/** Returns the variables with which a process reports coverage, which makes it several times slower. */
export function measured(): Variables {
  const { NODE_V8_COVERAGE } = process.env
  // The coverage of cached code is less precise.
  return NODE_V8_COVERAGE === undefined ? {} : { NODE_V8_COVERAGE, NODE_DISABLE_COMPILE_CACHE: '1' }
}
