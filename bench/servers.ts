import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { repository } from '../test/scripts.ts'
import { serverArguments } from '../test/waymark.ts'
import { type Call, call, withKey } from './call.ts'
import type { Answer } from './raw-server.ts'
import type { Seed } from './seed.ts'

const observer = pathToFileURL(join(import.meta.dirname, 'observer.mjs')).href
/** Node options of Waymark's start script, for both servers. */
const nodeFlags = serverArguments.filter((argument) => argument.startsWith('--') && argument !== '--import')
/** The interval of requests to a starting server. */
const askMs = 2
const startsWithinMs = 20_000

/** Resources that a process has used since its start, in microseconds and bytes. */
export interface Usage {
  /** CPU time of all threads. */
  readonly cpu: number
  /** CPU time of the event loop. */
  readonly loopCpu: number
  readonly rss: number
  readonly peakRss: number
  /** The longest event-loop tick since the previous call, in milliseconds. */
  readonly longestTick: number
}

/** The measured listeners. */
export type ListenerName = 'api' | 'redirect'

/** A port for each process. */
type Ports = readonly [number, ...number[]]

/** A server process, or several that share the load. */
export interface Measured {
  readonly ports: Readonly<Record<ListenerName, Ports>>
  /** Returns the used resources. */
  usage(): Promise<Usage>
  stop(): Promise<void>
}

/** Several nodes over one database. */
export class Fleet implements Measured {
  readonly ports: Readonly<Record<ListenerName, Ports>>
  readonly #servers: readonly Server[]

  private constructor(first: Server, others: readonly Server[]) {
    this.#servers = [first, ...others]
    const portsOf = (name: ListenerName): Ports => [first.ports[name][0], ...others.map(({ ports }) => ports[name][0])]
    this.ports = { api: portsOf('api'), redirect: portsOf('redirect') }
  }

  static async of(seed: Seed, nodes: number): Promise<Fleet> {
    const first = await Server.waymark(seed)
    const others: Server[] = []
    try {
      while (others.length < nodes - 1) others.push(await Server.waymark(seed))
    } catch (error) {
      for (const server of [first, ...others]) await server.stop()
      throw error
    }
    return new Fleet(first, others)
  }

  /** Returns the sum of CPU times, and the maximum of memory and ticks. */
  async usage(): Promise<Usage> {
    const usages = await Promise.all(this.#servers.map((server) => server.usage()))
    const sum = (name: 'cpu' | 'loopCpu') => usages.reduce((total, usage) => total + usage[name], 0)
    const most = (name: 'rss' | 'peakRss' | 'longestTick') => Math.max(...usages.map((usage) => usage[name]))
    return {
      cpu: sum('cpu'),
      loopCpu: sum('loopCpu'),
      rss: most('rss'),
      peakRss: most('peakRss'),
      longestTick: most('longestTick'),
    }
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop()
  }
}

/** A measured server process. */
export class Server implements Measured {
  readonly ports: Readonly<Record<ListenerName, Ports>>
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, { api, redirect }: Record<ListenerName, number>) {
    this.#child = child
    this.ports = { api: [api], redirect: [redirect] }
  }

  /** Starts Waymark as in production on a prepared database. Resolves when it responds. */
  static async waymark(seed: Seed): Promise<Server> {
    const ports = await freePorts()
    const args = ['--import', observer, ...serverArguments]
    const child = start(args, environment(seed, ports), true)
    await untilAnswered(child, ports, seed)
    return new Server(child, ports)
  }

  static async raw(): Promise<Server> {
    const port = await freePort()
    const args = ['--import', observer, ...rawArguments(port)]
    return new Server(start(args, {}, true), { api: port, redirect: port })
  }

  /** Returns the used resources. */
  async usage(): Promise<Usage> {
    return (await this.#ask('usage')) as Usage
  }

  /** Sets the response of a raw server. */
  async answerWith(answer: Answer): Promise<void> {
    await this.#ask(answer)
  }

  async stop(): Promise<void> {
    await stop(this.#child)
  }

  async #ask(message: Answer | 'usage'): Promise<unknown> {
    const reply = once(this.#child, 'message')
    this.#child.send(message)
    return (await reply)[0]
  }
}

/** Measures milliseconds from the start of an unobserved process to its first 200. */
export async function timeToFirstAnswer(seed: Seed): Promise<number> {
  const ports = await freePorts()
  const begun = performance.now()
  const child = start(serverArguments, environment(seed, ports), false)
  await untilAnswered(child, ports, seed)
  const taken = performance.now() - begun
  await stop(child)
  return taken
}

/** Measures milliseconds from the start of a raw server to its first response. */
export async function rawTimeToFirstAnswer(): Promise<number> {
  const port = await freePort()
  const begun = performance.now()
  const child = start(rawArguments(port), {}, false)
  while ((await statusOf(port, { method: 'GET', path: '/', host: 'localhost', head: '', form: '' })) !== 200) {
    if (child.exitCode !== null) throw new Error('The raw server does not start.')
    await sleep(askMs)
  }
  const taken = performance.now() - begun
  await stop(child)
  return taken
}

function rawArguments(port: number): string[] {
  return [...nodeFlags, join(import.meta.dirname, 'raw-server.ts'), String(port)]
}

/** Starts a process that logs to /dev/null. */
function start(args: readonly string[], env: Record<string, string>, observed: boolean): ChildProcess {
  return spawn(process.execPath, args, {
    cwd: repository,
    env,
    stdio: ['ignore', 'ignore', 'inherit', ...(observed ? (['ipc'] as const) : [])],
  })
}

/** Enables the redirect server only for databases with links. */
function environment(seed: Seed, { api, redirect }: Record<ListenerName, number>): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: String(api),
    REDIRECT_PORT: seed.kind === 'links' ? String(redirect) : '0',
    DATABASE_URL: urlOf(seed),
    RATE_LIMIT: '0',
    OPS_PORT: '0',
  }
}

function urlOf({ location }: Seed): string {
  return location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** Resolves when all measured listeners respond. */
async function untilAnswered(
  child: ChildProcess,
  { api, redirect }: Record<ListenerName, number>,
  { kind, secret }: Seed,
): Promise<void> {
  const deadline = performance.now() + startsWithinMs
  const show = { ...withKey(secret), method: 'GET', path: '/api/v1/domains/1', form: '' }
  const lost = { method: 'GET', path: '/', host: 'unknown.example', head: '', form: '' }
  while (performance.now() < deadline && child.exitCode === null) {
    const answers = [
      (await statusOf(api, show)) === 200,
      kind === 'domains' || (await statusOf(redirect, lost)) === 404,
    ]
    if (answers.every((isThere) => isThere)) return
    await sleep(askMs)
  }
  child.kill()
  throw new Error('The server does not start, or does not answer.')
}

async function statusOf(port: number, asked: Call): Promise<number | null> {
  const answer = await call(port, asked).catch(() => null)
  return answer?.status ?? null
}

async function freePorts(): Promise<Record<ListenerName, number>> {
  const api = await freePort()
  let redirect = api
  while (redirect === api) redirect = await freePort()
  return { api, redirect }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
