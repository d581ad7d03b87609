import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { ListenerConfig, ListenerName } from '../config/config.ts'
import type { Log } from './log.ts'

/** The pause before a worker is replaced doubles for each replacement, until one lives for `stableLifeMs`. Milliseconds. */
const minPauseMs = 100
const maxPauseMs = 30_000
export const stableLifeMs = 10_000

/** The time between two pings of a worker. Milliseconds. */
const pingEveryMs = 1_000
/** A worker that leaves this many pings without an answer is killed. */
const maxUnanswered = 10

/** The ports that a worker sends to the supervisor when it listens. */
export type Ports = Readonly<Partial<Record<ListenerName, number>>>

export function listenersOfWorkers(listeners: readonly ListenerConfig[], workers: number): ListenerConfig[] {
  return listeners.flatMap((listener) =>
    Array.from({ length: listener.isPerWorker ? workers : 1 }, (_, slot) => ({
      ...listener,
      port: choosePort(listener, slot),
    })),
  )
}

/** Port 0 lets the system choose a port for each worker. */
function choosePort({ port, isPerWorker }: ListenerConfig, slot: number): number {
  return isPerWorker && port !== 0 ? port + slot : port
}

/** Runs workers until the last one ends. The first starts before the others, because it migrates the database. */
export async function superviseWorkers(listeners: readonly ListenerConfig[], workers: number, log: Log): Promise<void> {
  const supervisor = new Supervisor(listeners, log)
  await supervisor.startFirst()
  for (let slot = 1; slot < workers; slot++) supervisor.start(slot)
}

/** Answers the pings of the supervisor as long as the event loop of this worker runs. */
export function answerPings(): void {
  // The supervisor may have ended.
  process.on('message', () => process.send?.('pong', undefined, undefined, () => undefined))
}

interface WorkerState {
  /** The slot, from 0. A replacement gets the same slot. */
  readonly slot: number
  readonly startedAt: number
  isListening: boolean
  /** The pings since the last message of the worker. */
  unanswered: number
}

class Supervisor {
  readonly #listeners: readonly ListenerConfig[]
  readonly #log: Log
  readonly #running = new Map<number, WorkerState>()
  readonly #pauses = new Map<number, number>()
  /** The ports of the first worker, which the system may have chosen. Other workers share them. */
  #ports: Ports | undefined
  #isStopping = false
  #exitCode = 0

  constructor(listeners: readonly ListenerConfig[], log: Log) {
    this.#listeners = listeners
    this.#log = log
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal))
    cluster.on('message', ({ id }) => {
      const state = this.#running.get(id)
      if (state !== undefined) Object.assign(state, { isListening: true, unanswered: 0 })
    })
    setInterval(() => this.#pingAll(), pingEveryMs).unref()
    cluster.on('exit', (worker, code, signal) => this.#ended(worker, code, signal))
  }

  async startFirst(): Promise<void> {
    const [ports] = await once(this.#fork(0), 'message')
    this.#ports = ports
  }

  start(slot: number): void {
    if (!this.#isStopping) this.#fork(slot)
  }

  #stop(signal: NodeJS.Signals): void {
    this.#isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
    this.#exitIfDone()
  }

  #fork(slot: number): Worker {
    const ports = this.#listeners.map((listener) => {
      const port = listener.isPerWorker ? undefined : this.#ports?.[listener.name]
      return variable(`${listener.prefix}PORT`, port ?? choosePort(listener, slot))
    })
    const worker = cluster.fork(Object.assign({}, ...ports, variable('WORKERS', 1)))
    this.#running.set(worker.id, { slot, startedAt: performance.now(), isListening: false, unanswered: 0 })
    return worker
  }

  /**
   * Pings the listening workers, because a migration may block new ones. Kills workers that don't respond. Counting
   * pings, not time, spares the workers when this process or the machine was suspended.
   */
  #pingAll(): void {
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker === undefined) continue
      const state = this.#running.get(worker.id)
      if (!state?.isListening) continue
      if (state.unanswered === maxUnanswered) {
        this.#log.logger.error({ worker: worker.process.pid }, 'worker does not respond; killing it')
        worker.process.kill('SIGKILL')
      } else {
        worker.send('ping', () => undefined)
      }
      state.unanswered += 1
    }
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const state = this.#running.get(worker.id) as WorkerState
    this.#running.delete(worker.id)
    if (this.#ports === undefined || this.#isStopping) {
      // A worker that starts has no signal handlers yet, so the signal ends it.
      this.#exitCode ||= code ?? (this.#isStopping && (signal === 'SIGTERM' || signal === 'SIGINT') ? 0 : 1)
      this.#exitIfDone()
      return
    }
    const pauseMs = this.#pauseAfter(state)
    this.#log.logger.error({ worker: worker.process.pid, code, signal, pause_ms: pauseMs }, 'worker died; replacing it')
    setTimeout(() => this.start(state.slot), pauseMs)
  }

  /** Returns 0 for the last listening worker, because connections are refused until it is replaced. */
  #pauseAfter({ slot, startedAt, isListening }: WorkerState): number {
    if (isListening && ![...this.#running.values()].some((other) => other.isListening)) return 0
    const last = performance.now() - startedAt >= stableLifeMs ? undefined : this.#pauses.get(slot)
    const pauseMs = last === undefined ? minPauseMs : Math.min(last * 2, maxPauseMs)
    this.#pauses.set(slot, pauseMs)
    return pauseMs
  }

  #exitIfDone(): void {
    if (this.#running.size === 0) this.#log.exit(this.#exitCode)
  }
}

/** Returns a variable for a worker, which overrides both forms of the supervisor's variable. */
function variable(name: string, value: number): Readonly<Record<string, string>> {
  return { [name]: String(value), [`${name}_FILE`]: '' }
}
