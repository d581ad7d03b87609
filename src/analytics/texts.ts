import type { Db } from '../storage/port.ts'
import { exportRecords } from '../transfer/export.ts'
import type { Totals } from '../transfer/format.ts'
import { dayFrom } from './calendar.ts'
import { csvHead, csvRows } from './csv.ts'
import { clicksOfPeriod } from './transfer.ts'
import { daysOfLinks } from './transfer-store.ts'

/** Days as `YYYY-MM-DD`, both included; undefined where there is no bound. */
interface Period {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The clicks of the account's links by day, as texts of many lines. Returns how many days of links there were. */
export function clickTexts(
  db: Db,
  account: number,
  format: 'jsonl' | 'csv',
  { from, to }: Period,
): AsyncGenerator<string, Totals> {
  const days = { from: dayFrom(from ?? '') ?? 0, to: dayFrom(to ?? '') ?? Number.POSITIVE_INFINITY }
  if (format === 'jsonl') return exportRecords(db, account, [clicksOfPeriod({ ...days, isNamed: true })])
  return csvOf(db, account, days)
}

async function* csvOf(
  db: Db,
  account: number,
  days: { readonly from: number; readonly to: number },
): AsyncGenerator<string, Totals> {
  let click_days = 0
  yield csvHead
  for await (const page of daysOfLinks(db, account, { ...days, lastLink: Number.MAX_SAFE_INTEGER })) {
    click_days += page.length
    yield page.map(csvRows).join('')
  }
  return { click_days }
}
