import type { DestinationStream } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** Formats log lines for people at a terminal. Each line is written before `write` returns. */
export function terminalStream(terminal: Pick<NodeJS.WriteStream, 'write'> = process.stdout): DestinationStream {
  const pretty = prettyFactory({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,method,route,status,ms',
    messageFormat: formatMessage,
  })
  return {
    write: (line) => {
      terminal.write(pretty(line))
    },
  }
}

/** Formats a request as `GET /api/v1/domains 200 in 1.2 ms`. Returns other messages unchanged. */
function formatMessage({ msg, method, route, status, ms }: Record<string, unknown>): string {
  const what = msg === 'request' ? `${method} ${route ?? '(no such operation)'}` : msg
  return [what, status, typeof ms === 'number' ? `in ${ms.toFixed(1)} ms` : undefined]
    .filter((part) => part !== undefined)
    .join(' ')
}
