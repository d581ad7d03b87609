import type { App } from '../app/app.ts'
import type { Storage } from '../storage/port.ts'
import type { Log } from './log.ts'

/** Time for active requests after the first signal. Milliseconds. */
const deadlineMs = 10_000
/** Time for closing the services after the deadline. Milliseconds. */
const closingMs = 8_000
/** Signals within this time count as one, because both the terminal and npm send Ctrl-C. Milliseconds. */
const sameSignalMs = 500

interface Services {
  readonly app: App
  readonly storage: Storage
  readonly log: Log
}

/** Makes SIGTERM, SIGINT and uncaught errors drain the listeners and end the process. */
export function stopOnSignals(services: Services): void {
  const { logger, exit } = services.log
  let startedAt: number | undefined
  let exitCode = 0

  const begin = () => {
    startedAt = performance.now()
    setTimeout(() => exit(1), deadlineMs + closingMs).unref()
    void stop(services).then((isClean) => exit(isClean ? exitCode : 1))
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (startedAt === undefined) {
      logger.info({ signal }, 'stopping')
      begin()
    } else if (performance.now() - startedAt >= sameSignalMs) {
      logger.warn({ signal }, 'second signal: exiting without waiting')
      exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'unexpected error; stopping')
    exitCode = 1
    // The error may have left broken state behind.
    if (startedAt === undefined) begin()
  })
}

async function stop({ app, storage, log: { logger } }: Services): Promise<boolean> {
  const { api, redirect, ops } = app.listeners
  try {
    await Promise.all([api.drain(deadlineMs), redirect.drain(deadlineMs)])
    // The ops listener drains last, so that the operator can watch the others.
    await ops.drain(deadlineMs)
    await app.close()
    await storage.close()
    logger.info('stopped')
    return true
  } catch (error) {
    logger.fatal({ err: error }, 'stopping failed')
    return false
  }
}
