import { type Calendar, utc } from '../../accounts/calendar.ts'
import type { Storage } from '../../storage/port.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking } from './ranking.ts'
import type { StatsQuery } from './schema.ts'
import { Series } from './series.ts'
import type { Subject } from './statements.ts'
import { countsFor, readClicks } from './store.ts'

/** Returns the clicks over time. */
export async function seriesOf(
  db: Storage,
  account: number,
  subject: Subject,
  calendar: Calendar,
  range: DayRange,
  interval: Interval,
): Promise<Series> {
  const { counts } = await readClicks(db, account, subject, range, [countsFor(interval)])
  return new Series(range, interval, calendar).add(counts)
}

const classes = [
  ['person', 'clicks'],
  ['bot', 'bots'],
  ['preview', 'previews'],
] as const

/** Returns the clicks by value. */
export async function rankingOf(
  db: Storage,
  account: number,
  subject: Subject,
  range: DayRange,
  name: Exclude<StatsQuery['name'], 'clicks'>,
): Promise<Ranking> {
  if (name !== 'classes' && !(name === 'links' && subject.level === 'link')) {
    return (await readClicks(db, account, subject, range, [name])).rankings[name]
  }
  const ranking = new Ranking()
  // Totals of days are the same in every zone.
  const { totals } = await seriesOf(db, account, subject, utc, range, 'month')
  // A link's own days don't name the link.
  if (name === 'links' && totals.clicks > 0) ranking.add(subject.id, totals.clicks)
  if (name === 'classes') for (const [value, counter] of classes) ranking.add(value, totals[counter])
  return ranking
}
