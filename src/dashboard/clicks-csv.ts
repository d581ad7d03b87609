import { validationFailed } from '../errors.ts'
import { addHeader, sendText } from '../http/answer.ts'
import { dispositionOf } from '../http/disposition.ts'
import type { Outcome } from '../http/exchange.ts'
import { seriesOf } from '../stats/reading.ts'
import type { Subject } from '../stats/store.ts'
import type { Db } from '../storage/port.ts'
import type { Asked } from './pages.ts'
import { answerHeaders } from './policy.ts'
import { periodOf } from './statistics.ts'

/**
 * Sends the clicks over the asked period for spreadsheets (RFC 4180). Times and numbers alone: no cell can be a formula.
 * Returns `validation_failed`.
 */
export async function sendClicks(
  { exchange, account, query }: Asked,
  db: Db,
  of: Subject,
  name: string,
): Promise<Outcome> {
  const { period, violations } = periodOf(query)
  if (violations.length > 0) return validationFailed(violations)
  const { range, interval } = period
  const { buckets } = await seriesOf(db, account, of, range, interval)
  const lines = buckets.map(({ start_at, clicks, unique_clicks, bots, previews }) =>
    [start_at, clicks, unique_clicks, bots, previews].join(','),
  )
  for (const header in answerHeaders) addHeader(exchange, header, answerHeaders[header] as string)
  addHeader(exchange, 'content-type', 'text/csv; charset=utf-8')
  addHeader(exchange, 'content-disposition', dispositionOf('attachment', name))
  return sendText(exchange, 200, `${['start_at,clicks,unique_clicks,bots,previews', ...lines].join('\r\n')}\r\n`)
}
