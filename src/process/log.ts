import cluster from 'node:cluster'
import { hostname } from 'node:os'
import { type DestinationStream, destination, pino } from 'pino'
import type { AppOptions } from '../app/options.ts'

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

type Output = AppOptions['log']

/** The log of the process, and its end: one JSON object per line, on stdout; at a terminal, a line for people. */
export interface Log extends Output {
  /** Writes the log and ends the process. If stdout is not read, the process ends by SIGKILL: nothing else would end it. */
  exit(code: number): void
}

/** Opens the log. */
export async function openLog(level: string): Promise<Log> {
  return process.stdout.isTTY ? openTerminal(level) : openStream(level)
}

/** A log whose lines go to `stream`: JSON objects, each followed by a line feed. */
export function logTo(stream: DestinationStream, level: string): Output {
  const base = { pid: process.pid, hostname: hostname() }
  const logger = pino({ level, base, timestamp: () => `,"time":"${isoTime()}"`, redact: secrets }, stream)
  const origin = JSON.stringify(base).slice(1, -1)
  const writeLine: Output['writeLine'] = (of, members) => {
    stream.write(`{"level":${logger.levels.values[of]},"time":"${isoTime()}",${origin}${members}}\n`)
  }
  return { logger, writeLine }
}

let shownAt = 0
let shown = ''

/** The time, formatted once a millisecond: many lines fall into one. */
function isoTime(): string {
  const now = Date.now()
  if (now !== shownAt) shown = new Date(now).toISOString()
  shownAt = now
  return shown
}

/** A terminal takes each line at once. */
async function openTerminal(level: string): Promise<Log> {
  const { terminalStream } = await import('./terminal-log.ts')
  return { ...logTo(terminalStream(), level), exit: (code) => process.exit(code) }
}

/** Lines that are dropped because stdout is not read are counted in a line of their own. */
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
  // In text mode, each line copies everything that waits, just to measure it (ADR 18). The types allow only text.
  const lines = { write: (line: string) => void stdout.write(Buffer.from(line) as unknown as string) }
  const output = logTo(lines, level)
  let lost = 0
  stdout.on('drop', () => {
    lost += 1
  })
  stdout.on('drain', () => {
    if (lost > 0) output.logger.warn({ lines: lost }, 'log lines were lost, since stdout was not read')
    lost = 0
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
  return { ...output, exit }
}
