/** Exports of records: files of any length, which are read in batches while the client reads them. */

import { setImmediate as nextTick, setTimeout as wait } from 'node:timers/promises'
import { Failure } from '../errors.ts'
import { type Form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { oneOf } from '../forms/rules.ts'
import { rejectIfMatch } from '../http/conditions.ts'
import { formatDisposition, sendParts } from '../http/response.ts'
import { csvRow } from '../lib/csv.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Page, PageRequest } from '../storage/port.ts'
import type { Operation } from './operations.ts'
import type { Api } from './routes.ts'

type Format = 'csv' | 'jsonl'

/** The parameter that every export has. */
export const exportFormat = optional(
  oneOf(['csv', 'jsonl'], 'The format: a spreadsheet, or one JSON record per line.'),
  'csv',
)

const mediaTypes = { csv: 'text/csv; charset=utf-8', jsonl: 'application/x-ndjson' } as const

/** Returns the operation of an export. */
export function describeExport(described: Omit<Operation, 'method' | 'success' | 'failures'>): Operation {
  return {
    ...described,
    method: 'GET',
    success: {
      status: 200,
      description: 'The file.',
      media: { 'text/csv': { schema: Type.String() }, 'application/x-ndjson': {} },
      headers: ['Content-Disposition'],
    },
    failures: ['precondition_failed', 'validation_failed'],
  }
}

/** An export of one kind of record. */
export interface Exported<Query, Row> {
  readonly query: Form<Query>
  /** The plural noun, for the name of the file. */
  readonly name: string
  /** The columns, in order. */
  readonly fields: readonly string[]
  readonly read: (account: number, query: Query) => Promise<AsyncIterable<readonly Row[]>>
  /** Returns the API's record of a row at the time `now` (RFC 3339). */
  readonly format: (row: Row, now: string) => object
  /** Returns a value of a record as a cell. */
  readonly cell: (value: never) => string | number | null
}

/** Adds an export to the API. `downloads` limits simultaneous exports. */
export function exportRoute<Query extends { readonly format: Format }, Row>(
  api: Api,
  operation: Operation,
  downloads: Semaphore,
  exported: Exported<Query, Row>,
): void {
  api.add(operation, async (exchange, { actor: { account } }) => {
    rejectIfMatch(exchange)
    const query = exported.query.check(exchange.query)
    if (query instanceof Failure) return query
    const { format } = query
    const sendFile = async () => {
      const day = new Date().toISOString().slice(0, 10)
      return sendParts(exchange, recordFile(await exported.read(account, query), format, exported), {
        'content-type': mediaTypes[format],
        'content-disposition': formatDisposition('attachment', `waymark-${exported.name}-${day}.${format}`),
      })
    }
    return downloads.run(sendFile, String(account))
  })
}

/** Yields the file. Yields the header with the first batch, so that a failure of that batch still gets its own response. */
export async function* recordFile<Row>(
  batches: AsyncIterable<readonly Row[]>,
  format: Format,
  { fields, format: formatRow, cell }: Pick<Exported<never, Row>, 'fields' | 'format' | 'cell'>,
): AsyncGenerator<string> {
  const isCsv = format === 'csv'
  const ticks = new Ticks()
  let text = isCsv ? csvRow(fields) : ''
  for await (const rows of batches) {
    const now = new Date().toISOString()
    for (const row of rows) {
      const record = formatRow(row, now) as Readonly<Record<string, unknown>>
      text += isCsv ? csvRow(fields.map((name) => cell(record[name] as never))) : `${JSON.stringify(record)}\n`
      await ticks.next()
    }
    yield text
    text = ''
  }
}

/** The records that are read together: few enough for a short event-loop tick. */
const batchSize = 100

/**
 * Yields the records of a list from its first one on, by id in the direction of the request: only ids keep their order while
 * others store records. The first batch may be empty. If the event loop is busy, pauses after each batch up to `maxPause` times as long as the
 * batch took, so that redirects stay fast.
 */
export async function* readInBatches<Row extends { readonly id: number }>(
  list: (page: PageRequest) => Promise<Pick<Page<Row>, 'rows'>>,
  request: PageRequest,
  maxPause = 5,
): AsyncGenerator<readonly Row[]> {
  const isAscending = request.direction === 'asc'
  const page = { ...request, sortBy: 'id', offset: 0, limit: batchSize } as const
  let after = request.after ?? (isAscending ? 0 : Number.MAX_SAFE_INTEGER)
  let busy = 0
  for (;;) {
    const start = performance.now()
    const { rows } = await list({ ...page, after })
    yield rows
    if (rows.length < batchSize) return
    after = (rows.at(-1) as Row).id
    const took = Math.min(maxBatchMs, performance.now() - start)
    const before = performance.eventLoopUtilization()
    const pause = took * busy * maxPause
    // A timer takes at least a millisecond.
    await (pause < 1 ? nextTick() : wait(pause))
    busy = performance.eventLoopUtilization(before).utilization
  }
}

/** A slow client does not lengthen the pause. Milliseconds. */
const maxBatchMs = 100
