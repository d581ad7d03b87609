import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

/**
 * Lines are written once this many bytes wait, or after this many milliseconds, or at exit. What is written to a pipe in
 * one piece up to this size is not torn by what other processes write to it (POSIX, PIPE_BUF).
 */
const mostAtOnce = 4_096
const writeEveryMs = 500

/** Nothing logs headers today; whoever begins to must not leak keys. */
const secrets = ['authorization', 'headers.authorization', 'req.headers.authorization', 'request.headers.authorization']

/** The log of the process: a JSON object a line, on stdout. */
export function openLog(level: string): Logger {
  return pino({ level, timestamp: stdTimeFunctions.isoTime, redact: secrets }, new Lines())
}

/**
 * Collects lines for sonic-boom, which writes without blocking, and whose own collecting measures all that waits again
 * with each line.
 */
class Lines {
  readonly #file = destination({ dest: 1, sync: false, minLength: mostAtOnce - 1, maxWrite: mostAtOnce })
  #waiting = ''

  constructor() {
    setInterval(() => {
      if (this.#pass()) this.#file.flush()
    }, writeEveryMs).unref()
    // Before pino's own listener, which writes what it was passed.
    process.prependListener('exit', () => this.#pass())
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > mostAtOnce) this.#pass()
    this.#waiting += line
  }

  /** Whether there was anything to pass on. */
  #pass(): boolean {
    if (this.#waiting === '') return false
    this.#file.write(this.#waiting)
    this.#waiting = ''
    return true
  }
}
