import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'

/** How long to wait before a worker is replaced that did not live for `soundLifeMs`; doubled each time. Milliseconds. */
const soundLifeMs = 10_000
const shortestPauseMs = 100
const longestPauseMs = 30_000

/** What a worker tells its supervisor once it listens. */
interface Up {
  readonly port: number
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

/** Tells the supervisor, where there is one, that this process listens. */
export function announce(port: number): void {
  const up: Up = { port }
  if (cluster.isWorker) process.send?.(up)
}

/**
 * Starts `count` processes that share the port, and replaces those that die. The first starts alone: it migrates the
 * database, and when it cannot start, nothing does. Signals are passed on; this process ends with the last worker, with
 * exit code 0 when all of them ended in good order.
 */
export async function superviseWorkers(count: number, logger: Logger): Promise<void> {
  const supervisor = new Supervisor(logger)
  process.on('SIGTERM', (signal) => supervisor.stop(signal))
  process.on('SIGINT', (signal) => supervisor.stop(signal))
  const { port } = await supervisor.startFirst()
  // The others take the port that the first was given, also where that was any.
  for (let more = 1; more < count; more++) supervisor.start(port)
}

class Supervisor {
  readonly #logger: Logger
  readonly #startedAt = new Map<number, number>()
  #port: number | undefined
  #isStopping = false
  #exitCode = 0
  #pauseMs = shortestPauseMs

  constructor(logger: Logger) {
    this.#logger = logger
    cluster.on('exit', (worker, code, signal) => this.#ended(worker, code, signal))
  }

  async startFirst(): Promise<Up> {
    const [up] = await once(this.#fork({}), 'message')
    this.#port = (up as Up).port
    return up
  }

  start(port: number): void {
    if (!this.#isStopping) this.#fork({ PORT: String(port) })
  }

  stop(signal: NodeJS.Signals): void {
    this.#isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
    this.#endIfAlone()
  }

  #fork(variables: Readonly<Record<string, string>>): Worker {
    const worker = cluster.fork(variables)
    this.#startedAt.set(worker.id, performance.now())
    return worker
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const lifeMs = performance.now() - (this.#startedAt.get(worker.id) ?? 0)
    this.#startedAt.delete(worker.id)
    if (this.#port === undefined || this.#isStopping) {
      this.#exitCode ||= code ?? 1
      this.#endIfAlone()
    } else {
      this.#logger.error({ worker: worker.process.pid, code, signal }, 'a worker died and is replaced')
      this.#pauseMs = lifeMs < soundLifeMs ? Math.min(this.#pauseMs * 2, longestPauseMs) : shortestPauseMs
      setTimeout(() => this.start(this.#port as number), this.#pauseMs)
    }
  }

  #endIfAlone(): void {
    if (this.#startedAt.size === 0) process.exit(this.#exitCode)
  }
}
