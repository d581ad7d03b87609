import { type Calendar, utc } from '../../accounts/calendar.ts'
import type { Storage } from '../../storage/port.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking } from './ranking.ts'
import type { StatsQuery } from './schema.ts'
import { Series } from './series.ts'
import { rankingsOf, readHours, readTagHours, type Subject } from './store.ts'

/** Returns the clicks over time. */
export async function seriesOf(
  db: Storage,
  account: number,
  { level, id }: Subject,
  calendar: Calendar,
  range: DayRange,
  interval: Interval,
): Promise<Series> {
  const series = new Series(range, interval, calendar)
  const days = level === 'tag' ? readTagHours(db, account, id, range) : readHours(db, account, level, [id], range)
  for await (const { day, hours } of days) series.add(day, hours)
  return series
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
    return (await rankingsOf(db, account, subject, range, [name]))[name]
  }
  const ranking = new Ranking()
  // Totals of days are the same in every zone.
  const { totals } = await seriesOf(db, account, subject, utc, range, 'month')
  // A link's own days don't name the link.
  if (name === 'links' && totals.clicks > 0) ranking.add(subject.id, totals.clicks)
  if (name === 'classes') for (const [value, counter] of classes) ranking.add(value, totals[counter])
  return ranking
}
