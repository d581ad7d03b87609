import { columns } from './row.ts'
import { linesOf, type Sink, SinkFailure, Unconfirmed } from './sink.ts'

/** A table of a ClickHouse server. */
export interface ClickHouseTable {
  /** The server's HTTP interface: scheme, host and port. */
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
  readonly table: string
}

/** How long an insert may take. */
const defaultTimeoutMs = 30_000
/** What is shown of a server's error. */
const maxShown = 300

/**
 * Inserts clicks into a table of ClickHouse (22.2 or newer) over HTTP, a batch in one insert. The id of the batch is the
 * insert's deduplication token, so a table that has a deduplication window keeps a batch once, however often it is sent.
 */
export function clickHouseSink(to: ClickHouseTable, timeoutMs = defaultTimeoutMs): Sink {
  const headers = {
    // Bytes of UTF-8: the server reads them so, and a header takes no other characters.
    'X-ClickHouse-User': Buffer.from(to.user).toString('latin1'),
    'X-ClickHouse-Key': Buffer.from(to.password).toString('latin1'),
    'Content-Type': 'application/x-ndjson',
  }
  const settings = {
    database: to.database,
    query: `INSERT INTO ${to.table} (batch, row, ${columns.join(', ')}) FORMAT JSONEachRow`,
    // The answer must mean that the rows are in the table.
    async_insert: '0',
    date_time_input_format: 'best_effort',
  }
  return {
    send: async (batch, signal) => {
      const query = new URLSearchParams({ ...settings, insert_deduplication_token: batch.id })
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      // A redirect would take the password to another server.
      const request = { method: 'POST', headers, body: linesOf(batch), signal: limited, redirect: 'error' } as const
      const { response, text } = await answerTo(`${to.url}/?${query}`, request).catch((error) => {
        throw new SinkFailure(`ClickHouse at ${to.url} does not answer: ${reasonOf(error)}.`, { cause: error })
      })
      if (response.ok && text.trim() === '') {
        if (isClickHouse(response)) return
        throw new Unconfirmed(
          `ClickHouse at ${to.url} accepts clicks, but its responses have no X-ClickHouse-* headers: a proxy may remove them.`,
        )
      }
      const refusal = refusalOf(response, text)
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

/** `fetch failed` alone would not help. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** A server that is not ClickHouse may say 200 to anything. */
function isClickHouse({ headers }: Response): boolean {
  return [...headers.keys()].some((name) => name.startsWith('x-clickhouse-'))
}

/** Why the rows are not in the table, or may not be. ClickHouse can send an error after the status. */
function refusalOf(response: Response, text: string): string {
  const [said = ''] = text.trim().split('\n', 1)
  return isClickHouse(response)
    ? `${response.status} ${said.slice(0, maxShown).replace(/\.$/, '')}`.trim()
    : `the answer, ${response.status}, is not one of ClickHouse`
}

/** Whether an error is one of a server that lacks a setting of the insert. Old servers do not send their version. */
function isTooOld(text: string): boolean {
  const [, major, minor] = /\(version (\d+)\.(\d+)/.exec(text) ?? []
  if (major === undefined) return /^Code: 115\b/.test(text.trim())
  return Number(major) < 22 || (Number(major) === 22 && Number(minor) < 2)
}
