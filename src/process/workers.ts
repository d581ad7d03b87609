import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { ListenerConfig } from '../config/listeners.ts'
import type { Log } from './log.ts'

/**
 * How long the supervisor waits before it replaces a worker, in milliseconds. The pause of a slot doubles each time, up to
 * the maximum, and begins at the minimum again after a worker that lived for `soundLifeMs`.
 */
const minPauseMs = 100
const maxPauseMs = 30_000
export const soundLifeMs = 10_000

/** The ports that a process listens on, by the prefix of their listener. A worker tells its supervisor once it does. */
type Ports = Readonly<Record<string, number>>

/** The places of all workers together. */
export function placesOf(listeners: readonly ListenerConfig[], workers: number): ListenerConfig[] {
  return listeners.flatMap((listener) =>
    Array.from({ length: listener.isPerWorker ? workers : 1 }, (_, slot) => ({
      ...listener,
      port: portOf(listener, slot),
    })),
  )
}

/** Port 0 lets the system choose, so workers do not count up from it. */
function portOf({ port, isPerWorker }: ListenerConfig, slot: number): number {
  return isPerWorker && port !== 0 ? port + slot : port
}

/** Whether this process answers requests alone, or is the first of several that do. */
export function isFirst(): boolean {
  return cluster.isPrimary || cluster.worker?.id === 1
}

/** Whether a supervisor started this process. */
export function isWorker(): boolean {
  return cluster.isWorker
}

/** Whether this process starts the ones that answer requests. */
export function isSupervisor(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Whether each worker opens its own socket on a shared port, so that the kernel distributes the connections. On other
 * systems the supervisor does, and loses a connection that it hands to a worker that dies.
 */
export function hasOwnSocket(): boolean {
  return cluster.isWorker && process.platform === 'linux'
}

/** Tells the supervisor, if there is one, that this process listens. */
export function announce(ports: Ports): void {
  if (cluster.isWorker) process.send?.(ports)
}

/**
 * Starts `workers` workers and replaces those that die. The first one starts alone: it migrates the database, and when it
 * cannot start, no other is started. The supervisor passes signals on and ends with the last worker; its exit code is 0
 * when all workers ended in good order.
 */
export async function superviseWorkers(listeners: readonly ListenerConfig[], workers: number, log: Log): Promise<void> {
  const supervisor = new Supervisor(listeners, log)
  process.on('SIGTERM', (signal) => supervisor.stop(signal))
  process.on('SIGINT', (signal) => supervisor.stop(signal))
  await supervisor.startFirst()
  for (let slot = 1; slot < workers; slot++) supervisor.start(slot)
}

/** A worker that runs. */
interface Life {
  /** Counted from 0; its replacement has the same. */
  readonly slot: number
  readonly startedAt: number
  /** Whether it listens. */
  isUp: boolean
}

class Supervisor {
  readonly #listeners: readonly ListenerConfig[]
  readonly #log: Log
  readonly #lives = new Map<number, Life>()
  /** By slot, the pause before its last worker was replaced. */
  readonly #pauses = new Map<number, number>()
  /** The ports of the first worker, which may have been chosen by the system. The others share them. */
  #ports: Ports | undefined
  #isStopping = false
  #exitCode = 0

  constructor(listeners: readonly ListenerConfig[], log: Log) {
    this.#listeners = listeners
    this.#log = log
    cluster.on('message', ({ id }) => {
      const life = this.#lives.get(id)
      if (life !== undefined) life.isUp = true
    })
    cluster.on('exit', (worker, code, signal) => this.#ended(worker, code, signal))
  }

  async startFirst(): Promise<void> {
    const [ports] = await once(this.#fork(0), 'message')
    this.#ports = ports
  }

  start(slot: number): void {
    if (!this.#isStopping) this.#fork(slot)
  }

  stop(signal: NodeJS.Signals): void {
    this.#isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
    this.#endIfAlone()
  }

  #fork(slot: number): Worker {
    const ports = this.#listeners.map((listener) => {
      const port = listener.isPerWorker ? undefined : this.#ports?.[listener.prefix]
      return variable(`${listener.prefix}PORT`, port ?? portOf(listener, slot))
    })
    const worker = cluster.fork(Object.assign({}, ...ports, variable('WORKERS', 1)))
    this.#lives.set(worker.id, { slot, startedAt: performance.now(), isUp: false })
    return worker
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const life = this.#lives.get(worker.id) as Life
    this.#lives.delete(worker.id)
    if (this.#ports === undefined || this.#isStopping) {
      // A worker that did not listen for signals yet has nothing to put in order.
      this.#exitCode ||= code ?? (this.#isStopping && isStop(signal) ? 0 : 1)
      this.#endIfAlone()
    } else {
      const pauseMs = this.#pauseAfter(life)
      this.#log.logger.error(
        { worker: worker.process.pid, code, signal, pause_ms: pauseMs },
        'a worker died and is replaced',
      )
      setTimeout(() => this.start(life.slot), pauseMs)
    }
  }

  /** The last worker that served is replaced at once: until then, every connection is refused. */
  #pauseAfter({ slot, startedAt, isUp }: Life): number {
    if (isUp && ![...this.#lives.values()].some((other) => other.isUp)) return 0
    const last = performance.now() - startedAt >= soundLifeMs ? undefined : this.#pauses.get(slot)
    const pauseMs = last === undefined ? minPauseMs : Math.min(last * 2, maxPauseMs)
    this.#pauses.set(slot, pauseMs)
    return pauseMs
  }

  #endIfAlone(): void {
    if (this.#lives.size === 0) this.#log.exit(this.#exitCode)
  }
}

function isStop(signal: string | null): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT'
}

/** A variable for a worker, which replaces the supervisor's own in either form. */
function variable(name: string, value: number): Readonly<Record<string, string>> {
  return { [name]: String(value), [`${name}_FILE`]: '' }
}
