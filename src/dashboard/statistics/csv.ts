import { validationFailed } from '../../errors.ts'
import type { Exchange, Outcome } from '../../http/exchange.ts'
import { addHeader, addHeaders, dispositionOf, sendText } from '../../http/response.ts'
import { responseHeaders } from '../frame.ts'
import type { Statistics } from './statistics.ts'

/** Sends the clicks as CSV (RFC 4180), or returns `validation_failed`. No cell can be a formula. */
export async function sendClicksCsv(statistics: Statistics, exchange: Exchange, fileName: string): Promise<Outcome> {
  const { calendar, reading } = statistics
  const { period, violations } = reading
  if (violations.length > 0) return validationFailed(violations)
  const { buckets } = await statistics.seriesOf(period.range, period.interval)
  const lines = buckets.map(({ start_at, clicks, unique_clicks, bots, previews }) =>
    [start_at, clicks, unique_clicks, bots, previews, calendar.timeZone].join(','),
  )
  addHeaders(exchange, { ...responseHeaders, 'content-type': 'text/csv; charset=utf-8' })
  addHeader(exchange, 'content-disposition', dispositionOf('attachment', fileName))
  return sendText(
    exchange,
    200,
    `${['start_at,clicks,unique_clicks,bots,previews,time_zone', ...lines].join('\r\n')}\r\n`,
  )
}
