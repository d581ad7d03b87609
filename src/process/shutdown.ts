import type { App } from '../app/app.ts'
import type { Storage } from '../storage/port.ts'
import type { Log } from './log.ts'

/** How long requests under way may take once the process is told to stop. Milliseconds. */
const deadlineMs = 10_000
/** Closing cannot take longer than this after the deadline: what hangs then will hang for ever. */
const closingMs = 8_000
/**
 * A terminal sends Ctrl-C to every process in the foreground, and npm passes its own on: two signals so close to each
 * other are one.
 */
const sameSignalMs = 500

/** What a server process is made of. */
interface Parts {
  readonly app: App
  readonly storage: Storage
  readonly log: Log
}

/** From now on SIGTERM, SIGINT and uncaught errors end the process by way of a drain. */
export function endInGoodOrder(parts: Parts): void {
  const { logger, exit } = parts.log
  let startedAt: number | undefined
  let exitCode = 0

  const begin = () => {
    startedAt = performance.now()
    setTimeout(() => exit(1), deadlineMs + closingMs).unref()
    void stop(parts).then((isInOrder) => exit(isInOrder ? exitCode : 1))
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (startedAt === undefined) {
      logger.info({ signal }, 'stopping')
      begin()
    } else if (performance.now() - startedAt >= sameSignalMs) {
      logger.warn({ signal }, 'stopped at once by a second signal')
      exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'unexpected error: stopping')
    exitCode = 1
    // The error may have left a broken state behind: stop working with it soon.
    if (startedAt === undefined) begin()
  })
}

async function stop({ app, storage, log: { logger } }: Parts): Promise<boolean> {
  const { api, redirect, ops } = app.listeners
  try {
    await Promise.all([api.drain(deadlineMs), redirect.drain(deadlineMs)])
    // Last, so that the operator can watch the others.
    await ops.drain(deadlineMs)
    await app.close()
    await storage.close()
    logger.info('stopped')
    return true
  } catch (error) {
    logger.fatal({ err: error }, 'not stopped in good order')
    return false
  }
}
