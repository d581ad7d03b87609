import { type Calendar, utc } from '../../accounts/calendar.ts'
import { formatShortUrl, type ShortUrl } from '../../names/short-url.ts'
import type { Db, Storage } from '../../storage/port.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking } from './ranking.ts'
import type { StatsQuery } from './schema.ts'
import { Series } from './series.ts'
import type { Subject } from './statements.ts'
import { addressesOfLink, countsFor, readClicks } from './store.ts'

/** Returns the clicks over time. */
export async function readSeries(
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
export async function readRanking(
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
  const { totals } = await readSeries(db, account, subject, utc, range, 'month')
  // A link's own days don't name the link.
  if (name === 'links' && totals.clicks > 0) ranking.add(subject.id, totals.clicks)
  if (name === 'classes') for (const [value, counter] of classes) ranking.add(value, totals[counter])
  return ranking
}

/**
 * Returns a link's clicks by short URL, from those by the ids of its addresses. Clicks at deleted addresses count for the
 * main one, and so do those whose address earlier versions didn't store.
 */
export async function byShortUrl(
  db: Db,
  account: number,
  link: number,
  byId: Ranking,
  shortUrl: ShortUrl,
): Promise<Ranking> {
  const addresses = await addressesOfLink(db, account, link)
  const main = addresses.get(null) ?? ''
  return byId.renamed((id) => formatShortUrl(addresses.get(typeof id === 'number' ? id : null) ?? main, shortUrl))
}
