/** Statistics of a link, a domain, a space, a tag or the account over a period, as part of a page. */
import { type Calendar, calendarOf, toUtcDay } from '../../accounts/calendar.ts'
import type { Dimension } from '../../analytics/day.ts'
import type { DayRange, Interval } from '../../analytics/statistics/day-range.ts'
import { Series } from '../../analytics/statistics/series.ts'
import type { Subject } from '../../analytics/statistics/statements.ts'
import { readSeries } from '../../analytics/statistics/statistics.ts'
import { type Clicks, countsFor, hasVisits, readClicks } from '../../analytics/statistics/store.ts'
import { domainRecords } from '../../domains/store.ts'
import { found, validationFailed } from '../../errors.ts'
import type { Html } from '../../http/html.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLink } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Storage } from '../../storage/port.ts'
import { tagRecords } from '../../tags/store.ts'
import {
  bucketQuery,
  currentHourOf,
  namedPeriod,
  type Period,
  type PeriodReading,
  periodSince,
  readPeriod,
} from '../charts/period.ts'
import { livePart, type Section } from '../frame.ts'
import { idParam, type PageRequest } from '../page.ts'
import { linkButton } from '../parts/buttons.ts'
import { shortUrlText } from '../parts/links.ts'
import { emptyState } from '../parts/messages.ts'

export interface StatisticsServices {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  /** The number of days after which statistics are deleted. 0 means never. */
  readonly clicksRetention: number
}

type StatisticsRequest = Pick<PageRequest, 'account' | 'query'> & {
  readonly session: { readonly account: Pick<PageRequest['session']['account'], 'time_zones'> }
}

/** The subject of a page with statistics, and its period. `Name` are the dimensions whose breakdowns it shows. */
export class Statistics<Name extends Dimension = never> {
  readonly shortUrl: ShortUrl
  readonly source: readonly [db: Storage, account: number, subject: Subject]
  readonly subject: Subject
  readonly calendar: Calendar
  /** The path of the page, without its query. */
  readonly path: string
  readonly reading: PeriodReading
  /** Earlier days are deleted. 0 means never. */
  readonly retentionDays: number
  /** Returns the clicks in the period. All parts of the page share them, so they add up. */
  readonly clicks: () => Promise<Clicks<Name>>

  constructor(
    { storage, shortUrl, clicksRetention }: StatisticsServices,
    { account, session, query }: StatisticsRequest,
    subject: Subject,
    path: string,
    names: readonly Name[] = [],
  ) {
    this.shortUrl = shortUrl
    this.source = [storage, account, subject]
    this.subject = subject
    this.path = path
    this.retentionDays = clicksRetention
    this.calendar = calendarOf(session.account.time_zones)
    this.reading = readPeriod(query, this.calendar.today())
    const { range, interval } = this.reading.period
    let clicks: Promise<Clicks<Name>> | undefined
    this.clicks = () => {
      clicks ??= readClicks(...this.source, range, [countsFor(interval), ...names])
      return clicks
    }
  }

  /** The status of the page: 422 if the period is invalid. */
  get status(): number {
    return this.reading.violations.length > 0 ? 422 : 200
  }

  /** Returns whether there were visits in the period or in the last twelve months, or the period is invalid. */
  async areWorthShowing(): Promise<boolean> {
    if (this.reading.violations.length > 0) return true
    const { counts } = await this.clicks()
    return counts.length > 0 || hasVisits(...this.source, namedPeriod('12m', this.calendar.today()).range)
  }

  /**
   * Renders a part of the page that is current while the page is open, unless the period is over. The clicks of a tag are
   * added up for each view, which takes too long to repeat.
   */
  live(id: string, content: Html): Html {
    const isOver = this.reading.period.range.to < this.calendar.today()
    return isOver || this.subject.level === 'tag' ? content : livePart(id, content)
  }

  /** Returns the period. Throws `validation_failed` if it is invalid. */
  validPeriod(): Period {
    const { period, violations } = this.reading
    if (violations.length > 0) throw validationFailed(violations)
    return period
  }

  /**
   * Returns the clicks over time for a chart, and its period. It begins with the record or with its first visit, if there
   * are visits from before. `series` has the whole period, and `createdAt` is RFC 3339.
   */
  async seriesSince(createdAt: string, series: Series, period = this.reading.period): Promise<[Series, Period]> {
    const { buckets, localStarts } = series
    const visited = localStarts[buckets.findIndex(({ clicks, bots, previews }) => clicks + bots + previews > 0)]
    const created = this.calendar.dayAt(Date.parse(createdAt))
    const shorter = periodSince(period, visited === undefined ? created : Math.min(created, toUtcDay(visited)))
    if (shorter === period) return [series, period]
    // The days of a month show which of them is the first.
    return this.seriesSince(createdAt, await this.seriesOf(shorter.range, shorter.interval), shorter)
  }

  /** Returns the axis of a chart. `page` is the URL of the page about a bucket, without the query of the bucket. */
  axisOf(series: Series, now: number, period: Period, page = `${this.path}?`) {
    const { interval } = period
    return {
      buckets: series.buckets,
      localStarts: series.localStarts,
      timeZone: this.calendar.timeZone,
      started: series.startedAt(now),
      currentHour: currentHourOf(period, this.calendar.localTimeAt(now)),
      interval,
      hrefOf: interval === 'hour' ? undefined : (index: number) => page + bucketQuery(period, index),
    }
  }

  /** Returns the clicks over time in the period or in a part of it. */
  async seriesOf(range: DayRange, interval: Interval): Promise<Series> {
    // The clicks of a longer period have no hours.
    if (countsFor(interval) === 'hours' && countsFor(this.reading.period.interval) === 'days') {
      return readSeries(...this.source, this.calendar, range, interval)
    }
    return new Series(range, interval, this.calendar).add((await this.clicks()).counts)
  }
}

/** Explains why a link that isn't active has no clicks. */
export function inactiveText(status: Link['status']): string {
  return `This link is ${status}, so visitors can’t reach its destination.`
}

/** Renders a placeholder for the figures until the first click. A script polls for it. */
export function noClicksYet({ short_url, status }: Pick<Link, 'short_url' | 'status'>): Html {
  const title = 'No clicks yet'
  if (status !== 'active') return emptyState({ title, why: inactiveText(status) })
  return emptyState({
    title,
    why: 'Open the short link. Your click appears here within seconds. Bots and link previews are counted separately.',
    action: linkButton({ label: 'Open short link', href: short_url, inNewTab: true }),
  })
}

/** The templates of the paths of subjects. */
export const homes = {
  account: '/app',
  domain: '/app/domains/:id',
  space: '/app/spaces/:id',
  tag: '/app/tags/:id',
  link: '/app/links/:id',
} as const satisfies Record<Subject['level'], string>

/** The statistics of a link, a domain, a space, a tag or the account, and its name on pages about its clicks. */
export interface NamedStatistics {
  readonly statistics: Statistics
  readonly section: Section
  /** Null for the account. */
  readonly name: string | null
  /** The start of the names of its files. */
  readonly fileName: string
}

/** Returns the requested statistics. Throws `not_found` if the account has no such record. */
export async function requestedStatistics(
  request: PageRequest,
  services: StatisticsServices,
  level: Subject['level'],
): Promise<NamedStatistics> {
  const { storage, shortUrl } = services
  const { account } = request
  if (level === 'account') {
    const statistics = new Statistics(services, request, { level, id: account }, '/app')
    return { statistics, section: 'overview', name: null, fileName: '' }
  }
  const id = idParam(request, level)
  const section = `${level}s` as const
  const statistics = new Statistics(services, request, { level, id }, `/app/${section}/${id}`)
  if (level === 'link') {
    const { record } = found(await findLink(storage, account, id), level)
    const name = shortUrlText(linkOf(record, shortUrl).short_url)
    return { statistics, section, name, fileName: `${record.alias}-` }
  }
  const name =
    level === 'domain'
      ? found(await domainRecords.find(storage, account, id), level).record.name_unicode
      : found(await (level === 'space' ? spaceRecords : tagRecords).find(storage, account, id), level).record.name
  return { statistics, section, name, fileName: `${name}-` }
}
