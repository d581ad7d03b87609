import type { DestinationStream } from 'pino'
import { prettyFactory } from 'pino-pretty'

/**
 * Where the log goes when people read it at a terminal: a line of text for each object, colored, and written before
 * `write` returns. What goes into a pipe or a file stays JSON.
 */
export function terminalStream(terminal: Pick<NodeJS.WriteStream, 'write'> = process.stdout): DestinationStream {
  const pretty = prettyFactory({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    // `said` has them, but for the first two, which say nothing at a terminal.
    ignore: 'pid,hostname,method,route,status,ms',
    messageFormat: said,
  })
  return {
    write: (line) => {
      terminal.write(pretty(line))
    },
  }
}

/** `GET /api/v1/domains 200 in 1.2 ms` for a request, and the message for everything else. */
function said({ msg, method, route, status, ms }: Record<string, unknown>): string {
  const what = msg === 'request' ? `${method} ${route ?? '(no such operation)'}` : msg
  return [what, status, typeof ms === 'number' ? `in ${ms.toFixed(1)} ms` : undefined]
    .filter((part) => part !== undefined)
    .join(' ')
}
