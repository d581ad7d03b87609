import cluster from 'node:cluster'
import { destination, type Logger, type LoggerOptions, pino } from 'pino'

/**
 * Lines are written once this many bytes wait, since each write wakes a thread. Workers share a pipe: a write of 4 096 bytes
 * is never mixed with another's (POSIX, PIPE_BUF).
 */
const maxWrite = cluster.isWorker ? 4_096 : 16_384
/** Lines are written after this long at the latest. Milliseconds. */
const flushEveryMs = 500
/** How many bytes wait while stdout is not read. Lines beyond are dropped. */
const maxWaiting = 16 * 1_024 * 1_024
/** How long the end of the process waits for stdout to take the log. Milliseconds. */
const patienceMs = 3_000

/** No line has a header today. Code that adds one must not leak keys. */
const secrets = ['authorization', 'headers.authorization', 'req.headers.authorization', 'request.headers.authorization']

/** The log of the process, and its end. */
export interface Log {
  /** One JSON object per line, on stdout; at a terminal, a line for people. */
  readonly logger: Logger
  /** Writes the log and ends the process. If stdout is not read, the process ends by SIGKILL: nothing else would end it. */
  exit(code: number): void
}

/** Opens the log. */
export async function openLog(level: string): Promise<Log> {
  const options = { level, timestamp: timeWriter(), redact: secrets }
  return process.stdout.isTTY ? openTerminal(options) : openStream(options)
}

/** A terminal takes each line at once. */
async function openTerminal(options: LoggerOptions): Promise<Log> {
  const { terminalStream } = await import('./terminal-log.ts')
  return { logger: pino(options, terminalStream()), exit: (code) => process.exit(code) }
}

/** Lines that are dropped because stdout is not read are counted in a line of their own. */
function openStream(options: LoggerOptions): Log {
  const stdout = destination({
    dest: 1,
    sync: false,
    minLength: maxWrite - 1,
    maxWrite,
    maxLength: maxWaiting,
    periodicFlush: flushEveryMs,
  })
  const logger = pino(options, stdout)
  let lines = 0
  stdout.on('drop', () => {
    lines += 1
  })
  stdout.on('drain', () => {
    if (lines > 0) logger.warn({ lines }, 'log lines were lost, since stdout was not read')
    lines = 0
  })
  // On an error such as a full disk, the lines wait for the next attempt.
  stdout.on('error', () => undefined)

  const exit = (code: number) => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), patienceMs)
    // The first flush may end with a write that began before the last lines came.
    stdout.flush(() => {
      stdout.flush((error) => {
        // pino writes the rest when the process exits, and would retry a failing write for ever.
        if ((error as NodeJS.ErrnoException | undefined)?.syscall === 'write') stdout.destroy()
        process.exit(code)
      })
    })
  }
  return { logger, exit }
}

/** Writes the time of a line in ISO 8601. Many lines fall into one millisecond, and formatting takes a quarter of a line. */
function timeWriter(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) text = `,"time":"${new Date(now).toISOString()}"`
    at = now
    return text
  }
}
