/**
 * Statistics from the stored days. Of each day only what the answer needs is read.
 */
import type { Breakdown } from '../storage/clicks/day-facts.ts'
import { decodeHours } from '../storage/clicks/day-parts.ts'
import type { Db } from '../storage/port.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking } from './ranking.ts'
import type { StatsQuery } from './schema.ts'
import { Series } from './series.ts'
import { readBreakdowns, readHeads, type Subject } from './store.ts'

/** The clicks over time. */
export async function seriesOf(
  db: Db,
  account: number,
  subject: Subject,
  range: DayRange,
  interval: Interval,
): Promise<Series> {
  const series = new Series(range, interval)
  await readHeads(db, account, subject, range, (day, head) => series.add(day, decodeHours(head)))
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
  const add = (breakdown: Breakdown) => {
    for (const [value, people] of breakdown) ranking.add(value, people)
  }
  await readBreakdowns(db, account, subject, range, { name, read: add })
  return ranking
}

/** Classes and what counts them. All of them are told, even at zero. */
const classes = [
  ['person', 'clicks'],
  ['bot', 'bots'],
  ['preview', 'previews'],
] as const
