import cluster from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino'

/** Bytes of one write, which wakes a thread. In the pipe that workers share, 4,096 bytes never mix (PIPE_BUF). */
const maxWrite = cluster.isWorker ? 4_096 : 16_384
/** The longest time that a line waits. Milliseconds. */
const flushEveryMs = 500
/** The bytes that may wait while stdout is not read. Further lines are dropped. */
const maxWaiting = 16 * 1_024 * 1_024
/** How long the process waits at its end for stdout to accept the log. Milliseconds. */
const patienceMs = 3_000

/** No line has a header today. If code adds one, keys must not leak. */
const secrets = ['authorization', 'headers.authorization', 'req.headers.authorization', 'request.headers.authorization']

/** The log of the process on stdout: one JSON object per line, or readable text at a terminal. */
export interface Log {
  readonly logger: Logger
  /** Holds back all lines until `announce`, unless they go to a terminal. */
  hold(): void
  /**
   * Writes a line with these fields, at every level, and then the held lines. Resolves when other processes may write.
   * At a terminal, does nothing.
   */
  announce(fields: object): Promise<void>
  /** Writes the log and ends the process. If stdout is not read, only SIGKILL ends the process. */
  exit(code: number): void
}

export async function openLog(level: string): Promise<Log> {
  if (!process.stdout.isTTY) return openStream(level)
  const logger = logTo(await terminalStream(), level)
  return { logger, hold: () => undefined, announce: async () => undefined, exit: (code) => process.exit(code) }
}

/** Returns a logger whose lines go to `stream`: JSON objects, each followed by a line feed. */
export function logTo(stream: DestinationStream, level: string): Logger {
  return pino({ level, timestamp: stdTimeFunctions.isoTime, redact: secrets }, stream)
}

/** Formats log lines for people. Each line is written before `write` returns. */
export async function terminalStream(
  terminal: Pick<NodeJS.WriteStream, 'write'> = process.stdout,
): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,method,route,status,ms',
    messageFormat: formatMessage,
  })
  return { write: (line) => void terminal.write(pretty(line)) }
}

/** Formats a request as `GET /api/v1/domains 200 in 1.2 ms`. Returns other messages unchanged. */
function formatMessage({ msg, method, route, status, ms }: Record<string, unknown>): string {
  const what = msg === 'request' ? `${method} ${route ?? '(unknown route)'}` : msg
  return [what, status, typeof ms === 'number' ? `in ${ms.toFixed(1)} ms` : undefined]
    .filter((part) => part !== undefined)
    .join(' ')
}

/** If lines are dropped because stdout is not read, a later line has their number. */
function openStream(level: string): Log {
  const stdout = destination({
    dest: 1,
    sync: false,
    minLength: maxWrite - 1,
    maxWrite,
    maxLength: maxWaiting,
    periodicFlush: flushEveryMs,
    contentMode: 'buffer',
  })
  // In text mode, each line copies all waiting lines to measure them. The types allow only text.
  const write = (line: string) => void stdout.write(Buffer.from(line) as unknown as string)
  let held: string[] | undefined
  const logger = logTo({ write: (line) => (held === undefined ? write(line) : void held.push(line)) }, level)
  let lost = 0
  stdout.on('drop', () => {
    lost += 1
  })
  stdout.on('drain', () => {
    if (lost > 0) logger.warn({ lines: lost }, 'log lines were lost because stdout was not read')
    lost = 0
  })
  // On an error such as a full disk, the lines wait for the next attempt.
  stdout.on('error', () => undefined)

  const hold = () => {
    held = []
  }
  const release = (writeFirst?: () => void) => {
    const lines = held ?? []
    held = undefined
    writeFirst?.()
    lines.forEach(write)
  }
  const announce = async (fields: object) => {
    release(() => logger.child({}, { level: 'info' }).info(fields, 'listening'))
    if (!cluster.isWorker) return
    const written = new Promise((done) => stdout.flush(done))
    await Promise.race([written, wait(patienceMs, undefined, { ref: false })])
  }
  const exit = (code: number) => {
    release()
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), patienceMs)
    // The first flush may end with a write that started before the last lines were added.
    stdout.flush(() => {
      stdout.flush((error) => {
        // pino writes the rest when the process exits, and would retry a failing write forever.
        if ((error as NodeJS.ErrnoException | undefined)?.syscall === 'write') stdout.destroy()
        process.exit(code)
      })
    })
  }
  return { logger, hold, announce, exit }
}
