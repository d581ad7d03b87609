/**
 * Statistics from the stored days. Of each day only what the answer needs is read.
 */
import type { Dimension } from '../../storage/clicks/day-facts.ts'
import { decodeHours } from '../../storage/clicks/day-parts.ts'
import type { Db } from '../../storage/port.ts'
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
  if (name === 'classes' || (name === 'links' && subject.scope === 'link')) {
    const ranking = new Ranking()
    const { totals } = await seriesOf(db, account, subject, range, 'month')
    // The days of a link do not name it: it is the only one.
    if (name === 'links' && totals.clicks > 0) ranking.add(subject.id, totals.clicks)
    if (name === 'classes') for (const [value, of] of classes) ranking.add(value, totals[of])
    return ranking
  }
  return (await rankingsOf(db, account, subject, range, [name]))[name]
}

/** The same for several dimensions, for which the days are read once. The days of a link do not name it. */
export async function rankingsOf<Name extends Dimension>(
  db: Db,
  account: number,
  subject: Subject,
  range: DayRange,
  names: readonly Name[],
): Promise<Record<Name, Ranking>> {
  const rankings = Object.fromEntries(names.map((name) => [name, new Ranking()])) as Record<Name, Ranking>
  await readBreakdowns(db, account, subject, range, names, (name, breakdown) => {
    for (const [value, people] of breakdown) rankings[name].add(value, people)
  })
  return rankings
}

/** Classes and what counts them. All of them are told, even at zero. */
const classes = [
  ['person', 'clicks'],
  ['bot', 'bots'],
  ['preview', 'previews'],
] as const
