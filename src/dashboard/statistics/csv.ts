import type { Series } from '../../analytics/statistics/series.ts'
import type { Exchange, HandlerResult } from '../../http/exchange.ts'
import { addHeaders, formatDisposition, sendText } from '../../http/response.ts'
import { csvParts, type csvRow } from '../../lib/csv.ts'
import { clicksTable } from '../charts/area-chart.ts'
import { axisHeading, type BucketTable } from '../charts/plot.ts'
import { responseHeaders } from '../frame.ts'
import { earlierClicks } from './comparison.ts'
import type { Statistics } from './statistics.ts'

export type CsvRow = Parameters<typeof csvRow>[0]

/** Begins each CSV file, because Excel reads files without a byte order mark in the encoding of the system. */
export const byteOrderMark = '\ufeff'

/** Yields the parts of a CSV file after the byte order mark. */
export async function* withByteOrderMark(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let mark = byteOrderMark
  for await (const part of parts) {
    yield mark + part
    mark = ''
  }
}

/** Returns the headers of a CSV file (RFC 4180). */
export function csvHeaders(fileName: string): Readonly<Record<string, string>> {
  return {
    ...responseHeaders,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': formatDisposition('attachment', fileName),
  }
}

/** Sends rows as a CSV file. */
export async function sendCsv(exchange: Exchange, fileName: string, rows: readonly CsvRow[]): Promise<undefined> {
  let text = byteOrderMark
  for await (const part of csvParts(rows)) text += part
  addHeaders(exchange, csvHeaders(fileName))
  return sendText(exchange, 200, text)
}

/** Returns a share with two decimals, as spreadsheets read it: "42.86%". */
export function shareText(clicks: number, total: number): string {
  return `${total === 0 ? 0 : Math.round((clicks / total) * 10_000) / 100}%`
}

/** Sends a row of figures for each hour, day or month as CSV. */
export function sendBuckets(
  exchange: Exchange,
  fileName: string,
  { calendar: { timeZone }, reading }: Statistics,
  { buckets, localStarts }: Series,
  { columns, figuresOf }: BucketTable,
): Promise<undefined> {
  const { interval } = reading.period
  const head = [axisHeading({ interval, timeZone }), ...columns, 'Time zone', 'Start (UTC)']
  const rows = buckets.map(({ start_at }, at) => {
    const start = new Date(localStarts[at] as number).toISOString()
    const name =
      interval === 'hour' ? `${start.slice(0, 10)} ${start.slice(11, 16)}` : start.slice(0, interval === 'day' ? 10 : 7)
    return [name, ...figuresOf(at), timeZone, start_at]
  })
  return sendCsv(exchange, fileName, [head, ...rows])
}

/** Sends the clicks over time as CSV. Throws `validation_failed` for an invalid period. */
export async function sendClicksCsv(
  statistics: Statistics,
  exchange: Exchange,
  fileName: string,
): Promise<HandlerResult> {
  const { range, interval } = statistics.validPeriod()
  const series = await statistics.seriesOf(range, interval)
  const now = Date.now()
  const before = await earlierClicks(statistics, series, now)
  const table = clicksTable({ buckets: series.buckets, started: series.startedAt(now), before })
  return sendBuckets(exchange, fileName, statistics, series, table)
}
