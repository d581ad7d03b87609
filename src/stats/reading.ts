/**
 * Statistics from the stored days. Of each day only what the answer needs is decoded.
 */
import { decodeBreakdown, decodeHours } from '../storage/clicks/day-form.ts'
import type { Db } from '../storage/port.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking } from './ranking.ts'
import type { StatsQuery } from './schema.ts'
import { Series } from './series.ts'
import { readDays, type Subject } from './store.ts'

/** The clicks over time. */
export async function seriesOf(
  db: Db,
  account: number,
  subject: Subject,
  range: DayRange,
  interval: Interval,
): Promise<Series> {
  const series = new Series(range, interval)
  await readDays(db, account, subject, range, (day, facts) => series.add(day, decodeHours(facts)))
  return series
}

/** The clicks by value. */
export async function rankingOf(
  db: Db,
  account: number,
  subject: Subject,
  range: DayRange,
  name: Exclude<StatsQuery['name'], 'clicks'>,
): Promise<Ranking> {
  const ranking = new Ranking()
  if (name === 'classes' || (name === 'links' && subject.scope === 'link')) {
    const { totals } = await seriesOf(db, account, subject, range, 'month')
    // The days of a link do not name it: it is the only one.
    if (name === 'links' && totals.clicks > 0) ranking.add(subject.id, totals.clicks)
    if (name === 'classes') for (const [value, of] of classes) ranking.add(value, totals[of])
    return ranking
  }
  await readDays(db, account, subject, range, (_, facts) => {
    for (const [value, people] of decodeBreakdown(facts, name)) ranking.add(value, people)
  })
  return ranking
}

/** Classes and what counts them. All of them are told, even at zero. */
const classes = [
  ['person', 'clicks'],
  ['bot', 'bots'],
  ['preview', 'previews'],
] as const
