import { describeUntrusted, isUntrusted } from '../../lib/tls-errors.ts'
import { columns, formatBatch, type Sink, SinkFailure, Unconfirmed } from './sink.ts'

/** A table of a ClickHouse server. */
export interface ClickHouseTable {
  /** The server's HTTP interface: scheme, host and port. */
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
  readonly table: string
}

/** How long an insert may take. Milliseconds. */
const defaultTimeoutMs = 30_000
/** The characters of a server's error in messages. */
const maxShown = 300

/**
 * Inserts each batch into a table of ClickHouse (22.2 or newer) over HTTP. The batch id is the deduplication token, so a
 * table with a deduplication window stores a repeated batch once.
 */
export function clickHouseSink(to: ClickHouseTable, timeoutMs = defaultTimeoutMs): Sink {
  const headers = {
    // The server expects UTF-8, and headers are Latin-1.
    'X-ClickHouse-User': Buffer.from(to.user).toString('latin1'),
    'X-ClickHouse-Key': Buffer.from(to.password).toString('latin1'),
    'Content-Type': 'application/x-ndjson',
  }
  const settings = {
    database: to.database,
    query: `INSERT INTO ${to.table} (batch, row, ${columns.join(', ')}) FORMAT JSONEachRow`,
    // The rows must be in the table before the response.
    async_insert: '0',
    date_time_input_format: 'best_effort',
  }
  return {
    send: async (batch, signal) => {
      const query = new URLSearchParams({ ...settings, insert_deduplication_token: batch.id })
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      // A redirect would send the password to another server.
      const request = { method: 'POST', headers, body: formatBatch(batch), signal: limited, redirect: 'error' } as const
      const { response, text } = await answerTo(`${to.url}/?${query}`, request).catch((error) => {
        throw new SinkFailure(`ClickHouse at ${to.url} does not respond: ${describeError(error)}.`, { cause: error })
      })
      if (response.ok && text.trim() === '') {
        if (isClickHouse(response)) return
        throw new Unconfirmed(
          `ClickHouse at ${to.url} accepts clicks, but its responses have no X-ClickHouse-* headers: a proxy may remove them.`,
        )
      }
      const refusal = describeRejection(response, text)
      const shown = to.password === '' ? refusal : refusal.replaceAll(to.password, '***')
      const hint = isClickHouse(response) && isTooOld(text) ? ' Waymark requires ClickHouse 22.2 or newer.' : ''
      throw new SinkFailure(`ClickHouse at ${to.url} takes no clicks: ${shown}.${hint}`)
    },
  }
}

async function answerTo(url: string, request: RequestInit): Promise<{ response: Response; text: string }> {
  const response = await fetch(url, request)
  return { response, text: await response.text() }
}

/** The message of `fetch` is only "fetch failed". */
function describeError({ message, cause }: Error): string {
  if (isUntrusted(cause)) return describeUntrusted(cause as Error)
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** Another server may respond with 200 to any request. */
function isClickHouse({ headers }: Response): boolean {
  return [...headers.keys()].some((name) => name.startsWith('x-clickhouse-'))
}

/** Returns the reason for which the rows may not be in the table. ClickHouse can send an error after the status. */
function describeRejection(response: Response, text: string): string {
  const [said = ''] = text.trim().split('\n', 1)
  return isClickHouse(response)
    ? `${response.status} ${said.slice(0, maxShown).replace(/\.$/, '')}`.trim()
    : `the answer, ${response.status}, is not one of ClickHouse`
}

/** Returns whether the server lacks a setting of the insert. Old servers do not send their version. */
function isTooOld(text: string): boolean {
  const [, major, minor] = /\(version (\d+)\.(\d+)/.exec(text) ?? []
  if (major === undefined) return /^Code: 115\b/.test(text.trim())
  return Number(major) < 22 || (Number(major) === 22 && Number(minor) < 2)
}
