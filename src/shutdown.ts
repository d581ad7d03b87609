import type { Logger } from 'pino'
import type { App } from './app.ts'
import type { Storage } from './storage/port.ts'
import { Traffic } from './traffic.ts'

/** How long requests under way may take once the process is told to stop. Milliseconds. */
const deadlineMs = 10_000
/** Closing cannot take longer than this after the deadline: what hangs then will hang for ever. */
const closingMs = 8_000
/**
 * A terminal sends Ctrl-C to every process in the foreground, and npm passes its own on: two signals so close to each
 * other are one.
 */
const sameSignalMs = 500

interface Parts {
  readonly app: App
  readonly storage: Storage
  readonly logger: Logger
}

/** Ends the process in good order. */
export class Shutdown {
  readonly #parts: Parts
  readonly #traffic: Traffic
  #startedAt: number | undefined
  #exitCode = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.#traffic = new Traffic(parts.app.server.server)
  }

  /** From now on SIGTERM, SIGINT and errors that nobody caught end the process by way of a drain. */
  install(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#onSignal(signal))
    process.on('uncaughtException', (error) => this.#onBug(error))
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.#startedAt === undefined) {
      this.#parts.logger.info({ signal }, 'stopping')
      this.#begin()
    } else if (performance.now() - this.#startedAt >= sameSignalMs) {
      this.#parts.logger.warn({ signal }, 'stopped at once by a second signal')
      process.exit(1)
    }
  }

  /** Whatever state the error left behind, others must not work with it for long. */
  #onBug(error: unknown): void {
    this.#parts.logger.fatal({ err: error }, 'unexpected error: stopping')
    this.#exitCode = 1
    if (this.#startedAt === undefined) this.#begin()
  }

  #begin(): void {
    this.#startedAt = performance.now()
    setTimeout(() => process.exit(1), deadlineMs + closingMs).unref()
    void this.#stop().then(
      () => process.exit(this.#exitCode),
      (error: unknown) => {
        this.#parts.logger.fatal({ err: error }, 'not stopped in good order')
        process.exit(1)
      },
    )
  }

  async #stop(): Promise<void> {
    const { app, storage, logger } = this.#parts
    app.drain.isDraining = true
    await this.#traffic.stop(deadlineMs)
    await app.server.close()
    await storage.close()
    logger.info('stopped')
  }
}
