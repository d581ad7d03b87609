import type { Bucket, Series } from '../../analytics/statistics/series.ts'
import type { Exchange, Outcome } from '../../http/exchange.ts'
import { addHeaders, dispositionOf, sendText } from '../../http/response.ts'
import { csvParts, type csvRow } from '../../lib/csv.ts'
import { clicksBefore, countLabels } from '../charts/area-chart.ts'
import { axisHeading } from '../charts/plot.ts'
import { responseHeaders } from '../frame.ts'
import { comparedClicks, earlierClicks } from './comparison.ts'
import type { Statistics } from './statistics.ts'

export type CsvRow = Parameters<typeof csvRow>[0]

/** Begins each CSV file, because Excel reads files without a byte order mark in the encoding of the system. */
export const byteOrderMark = '\ufeff'

/** Returns the headers of a CSV file (RFC 4180). */
export function csvHeaders(fileName: string): Readonly<Record<string, string>> {
  return {
    ...responseHeaders,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': dispositionOf('attachment', fileName),
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
  {
    calendar: { timeZone },
    reading: {
      period: { interval },
    },
  }: Statistics,
  { buckets, localStarts }: Series,
  labels: readonly string[],
  figuresOf: (place: number) => readonly (number | null)[],
): Promise<undefined> {
  const head = [axisHeading({ interval, timeZone }), ...labels, 'Time zone', 'Start (UTC)']
  const rows = buckets.map(({ start_at }, at) => {
    const start = new Date(localStarts[at] as number).toISOString()
    const name =
      interval === 'hour' ? `${start.slice(0, 10)} ${start.slice(11, 16)}` : start.slice(0, interval === 'day' ? 10 : 7)
    return [name, ...figuresOf(at), timeZone, start_at]
  })
  return sendCsv(exchange, fileName, [head, ...rows])
}

/** Sends the clicks over time as CSV. Throws `validation_failed` for an invalid period. */
export async function sendClicksCsv(statistics: Statistics, exchange: Exchange, fileName: string): Promise<Outcome> {
  const period = statistics.validPeriod()
  const series = await statistics.seriesOf(period.range, period.interval)
  const { buckets } = series
  const now = Date.now()
  const earlier = await earlierClicks(statistics, now)
  const before = earlier && comparedClicks(period, series, earlier)
  const clicksThen = clicksBefore({ before, started: series.startedAt(now) })
  const labels = [...Object.values(countLabels), ...(before ? [`Clicks in the ${before.phrase}`] : [])]
  return sendBuckets(exchange, fileName, statistics, series, labels, (at) => {
    const { clicks, unique_clicks, bots, previews } = buckets[at] as Bucket
    const counts = [clicks, unique_clicks, bots, previews]
    return clicksThen === undefined ? counts : [...counts, clicksThen[at] ?? null]
  })
}
