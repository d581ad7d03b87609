import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'

/** How long to wait before a worker is replaced that did not live for `soundLifeMs`; doubled each time. Milliseconds. */
const soundLifeMs = 10_000
const shortestPauseMs = 100
const longestPauseMs = 30_000

/** Whether this process answers requests alone, or is the first of several that do. */
export function isFirst(): boolean {
  return cluster.isPrimary || cluster.worker?.id === 1
}

/** Whether this process is to start the ones that answer requests. */
export function isSupervisor(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Starts `count` processes that share the port, and replaces those that die. The first starts alone: it migrates the
 * database, and when it cannot start, nothing does. Signals are passed on; this process ends with the last worker, with
 * exit code 0 when all of them ended in good order.
 */
export function superviseWorkers(count: number, logger: Logger): void {
  const startedAt = new Map<number, number>()
  let isUp = false
  let isStopping = false
  let exitCode = 0
  let pauseMs = shortestPauseMs

  const start = () => {
    if (!isStopping) startedAt.set(cluster.fork().id, performance.now())
  }
  const replace = ({ id, process: { pid } }: Worker, code: number | null, signal: string | null) => {
    logger.error({ worker: pid, code, signal }, 'a worker died and is replaced')
    const lifeMs = performance.now() - (startedAt.get(id) ?? 0)
    pauseMs = lifeMs < soundLifeMs ? Math.min(pauseMs * 2, longestPauseMs) : shortestPauseMs
    setTimeout(start, pauseMs)
  }
  cluster.once('listening', () => {
    isUp = true
    for (let more = 1; more < count; more++) start()
  })
  cluster.on('exit', (worker, code, signal) => {
    if (!isUp || isStopping) exitCode ||= code ?? 1
    else replace(worker, code, signal)
    startedAt.delete(worker.id)
    if ((!isUp || isStopping) && startedAt.size === 0) process.exit(exitCode)
  })
  const stop = (signal: NodeJS.Signals) => {
    isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
    if (startedAt.size === 0) process.exit(exitCode)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  start()
}
