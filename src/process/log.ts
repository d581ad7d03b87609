import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

/** Lines are written once this many characters wait, or this many milliseconds after the last time, or at exit. */
const minLength = 4096
const periodicFlush = 500

/** Nothing logs headers today; whoever begins to must not leak keys. */
const secrets = ['authorization', 'headers.authorization', 'req.headers.authorization', 'request.headers.authorization']

/** The log of the process: a JSON object a line, on stdout. */
export function openLog(level: string): Logger {
  return pino(
    { level, timestamp: stdTimeFunctions.isoTime, redact: secrets },
    destination({ dest: 1, sync: false, minLength, periodicFlush }),
  )
}
