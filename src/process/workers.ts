import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Config, Place } from '../config.ts'
import type { Log } from './log.ts'

/** How long to wait before a worker is replaced that did not live for `soundLifeMs`; doubled each time. Milliseconds. */
const soundLifeMs = 10_000
const shortestPauseMs = 100
const longestPauseMs = 30_000

/** The ports that a worker listens on, by the prefix of their variables: what it tells its supervisor. */
type Ports = Readonly<Record<string, number>>

/** What the supervisor needs to know to start workers. */
type Plan = Pick<Config, 'workers' | 'listeners'>

/** Every place where one of the workers listens. */
export function placesOf({ workers, listeners }: Plan): Place[] {
  return listeners.flatMap((place) =>
    place.isPerWorker ? Array.from({ length: workers }, (_, slot) => ofSlot(place, slot)) : [place],
  )
}

/** The place of the worker in a slot, which is counted from 0. */
function ofSlot(place: Place, slot: number): Place {
  return place.isPerWorker ? { ...place, port: place.port + slot } : place
}

/** Whether this process answers requests alone, or is the first of several that do. */
export function isFirst(): boolean {
  return cluster.isPrimary || cluster.worker?.id === 1
}

/** Whether this process is to start the ones that answer requests. */
export function isSupervisor(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Whether each worker has a socket of its own on the port, among which the kernel shares out the connections. Where it
 * cannot, the supervisor hands them out; a connection that is on its way to a worker that dies is lost then.
 */
export function hasOwnSocket(): boolean {
  return cluster.isWorker && process.platform === 'linux'
}

/** Tells the supervisor, if there is one, that this process listens. */
export function announce(ports: Ports): void {
  if (cluster.isWorker) process.send?.(ports)
}

/**
 * Starts the workers, which share the port, and replaces those that die. The first starts alone: it migrates the
 * database, and when it cannot start, nothing does. Signals are passed on; this process ends with the last worker, with
 * exit code 0 when all of them ended in good order.
 */
export async function superviseWorkers(plan: Plan, log: Log): Promise<void> {
  const supervisor = new Supervisor(plan, log)
  process.on('SIGTERM', (signal) => supervisor.stop(signal))
  process.on('SIGINT', (signal) => supervisor.stop(signal))
  await supervisor.startFirst()
  for (let slot = 1; slot < plan.workers; slot++) supervisor.start(slot)
}

/** A worker that runs. */
interface Life {
  /** Counted from 0; whoever replaces the worker has the same. */
  readonly slot: number
  readonly startedAt: number
}

class Supervisor {
  readonly #listeners: readonly Place[]
  readonly #log: Log
  readonly #lives = new Map<number, Life>()
  /** The ports of the first worker. The others take those that are shared, also if the first was to choose one. */
  #ports: Ports | undefined
  #isStopping = false
  #exitCode = 0
  #pauseMs = shortestPauseMs

  constructor(plan: Plan, log: Log) {
    this.#listeners = plan.listeners
    this.#log = log
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
    const ports = this.#listeners.map((place) => {
      const { prefix, isPerWorker, port } = ofSlot(place, slot)
      return variable(`${prefix}PORT`, isPerWorker ? port : (this.#ports?.[prefix] ?? port))
    })
    const worker = cluster.fork(Object.assign({}, ...ports, variable('WORKERS', 1)))
    this.#lives.set(worker.id, { slot, startedAt: performance.now() })
    return worker
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const { slot, startedAt } = this.#lives.get(worker.id) as Life
    this.#lives.delete(worker.id)
    if (this.#ports === undefined || this.#isStopping) {
      // One that had not begun to listen for signals has nothing to put in order.
      this.#exitCode ||= code ?? (this.#isStopping && isStop(signal) ? 0 : 1)
      this.#endIfAlone()
    } else {
      this.#log.logger.error({ worker: worker.process.pid, code, signal }, 'a worker died and is replaced')
      const isSound = performance.now() - startedAt >= soundLifeMs
      this.#pauseMs = isSound ? shortestPauseMs : Math.min(this.#pauseMs * 2, longestPauseMs)
      setTimeout(() => this.start(slot), this.#pauseMs)
    }
  }

  #endIfAlone(): void {
    if (this.#lives.size === 0) void this.#log.exit(this.#exitCode)
  }
}

function isStop(signal: string | null): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT'
}

/** A variable for a worker, which replaces any other that says the same. */
function variable(name: string, value: number): Readonly<Record<string, string>> {
  return { [name]: String(value), [`${name}_FILE`]: '' }
}
