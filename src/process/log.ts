import cluster from 'node:cluster'
import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

/**
 * Lines are written once this many bytes wait, or after this many milliseconds, or at exit: handing them to the thread
 * that writes costs as much as twenty lines. What workers write to the pipe that they share is smaller, so that it is not
 * torn by what others write (POSIX, PIPE_BUF).
 */
const mostAtOnce = cluster.isWorker ? 4_096 : 16_384
const writeEveryMs = 500
/** So many bytes wait for whoever reads stdout; lines past them are lost rather than the process. */
const mostWaiting = 16 * 1_024 * 1_024
/** So long the process waits at its end for stdout to take the log. Milliseconds. */
const patienceMs = 3_000

const lineFeed = 0x0a
/** Of UTF-8, to a unit of UTF-16. */
const mostBytesPerUnit = 3

/** Nothing logs headers today; whoever begins to must not leak keys. */
const secrets = ['authorization', 'headers.authorization', 'req.headers.authorization', 'request.headers.authorization']

/** The log of the process, and its end. */
export interface Log {
  /** A JSON object a line, on stdout. */
  readonly logger: Logger
  /** Ends the process once the log is written: by a signal where nobody reads it, for then nothing else would end it. */
  exit(code: number): Promise<void>
}

/** Opens the log. Lines that are lost, since nobody reads stdout, are counted in a line of their own. */
export function openLog(level: string): Log {
  const lines = new Lines((count) => {
    logger.warn({ lines: count }, 'log lines were lost, since stdout was not read')
  })
  const logger = pino({ level, timestamp: stdTimeFunctions.isoTime, redact: secrets }, lines)
  const exit = async (code: number) => {
    if (await lines.areWritten()) process.exit(code)
    process.kill(process.pid, 'SIGKILL')
  }
  return { logger, exit }
}

/**
 * Collects lines for sonic-boom, which writes without blocking, and whose own collecting measures all that waits again
 * with each line.
 */
class Lines {
  readonly #file = destination({
    dest: 1,
    sync: false,
    minLength: mostAtOnce - 1,
    maxWrite: mostAtOnce,
    maxLength: mostWaiting,
    contentMode: 'buffer',
  })
  /** Bytes, since strings that are collected live long enough to be moved by the garbage collector, twice. */
  readonly #waiting = Buffer.allocUnsafe(mostAtOnce)
  #length = 0
  #lost = 0
  /** Whether nothing can be written any more. */
  #isGone = false

  constructor(onLost: (count: number) => void) {
    setInterval(() => {
      if (this.#pass()) this.#file.flush()
    }, writeEveryMs).unref()
    // Before pino's own listener, which writes what it was passed.
    process.prependListener('exit', () => this.#pass())
    // Such as a disk that is full: the lines wait for the next attempt.
    this.#file.on('error', () => undefined)
    this.#file.on('drop', (lines: Buffer) => {
      for (const byte of lines) if (byte === lineFeed) this.#lost += 1
    })
    this.#file.on('drain', () => {
      const count = this.#lost
      this.#lost = 0
      if (count > 0) onLost(count)
    })
  }

  write(line: string): void {
    const most = line.length * mostBytesPerUnit
    if (this.#length + most > mostAtOnce) this.#pass()
    if (most > mostAtOnce) this.#send(Buffer.from(line))
    else this.#length += this.#waiting.write(line, this.#length)
  }

  /** Resolves to true once stdout has taken the lines, or nobody can; to false when that takes too long. */
  areWritten(): Promise<boolean> {
    this.#pass()
    return new Promise((resolve) => {
      setTimeout(resolve, patienceMs, false)
      this.#file.flush((error) => {
        // At the exit sonic-boom would try for ever to write what cannot be written.
        if ((error as NodeJS.ErrnoException | undefined)?.syscall === 'write') {
          this.#isGone = true
          this.#file.destroy()
        }
        resolve(true)
      })
    })
  }

  /** Whether there was anything to pass on. */
  #pass(): boolean {
    if (this.#length === 0) return false
    this.#send(Buffer.from(this.#waiting.subarray(0, this.#length)))
    this.#length = 0
    return true
  }

  /** In this mode sonic-boom takes bytes, which its types do not know. */
  #send(bytes: Buffer): void {
    if (!this.#isGone) this.#file.write(bytes as unknown as string)
  }
}
