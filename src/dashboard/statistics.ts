/** Statistics of a link, a domain, a space or the account over a period, as part of a page. */
import { type Calendar, calendarOf, dayMs, dayText, hourMs } from '../analytics/calendar.ts'
import type { DayRange, Interval } from '../analytics/statistics/day-range.ts'
import type { Counts, Series } from '../analytics/statistics/series.ts'
import { rankingOf, seriesOf } from '../analytics/statistics/statistics.ts'
import { rankingsOf, type Subject } from '../analytics/statistics/store.ts'
import { validationFailed } from '../errors.ts'
import { icon } from '../frame/icons.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { addHeader, addHeaders, dispositionOf, sendText } from '../http/response.ts'
import type { Link } from '../links/schema.ts'
import { findLink } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { areaChart, countLabels, totalOf } from './charts/area-chart.ts'
import { currentHourOf, namedPeriod, type PeriodReading, periodQuery, periods, readPeriod } from './charts/period.ts'
import { barChart, valueLabel } from './charts/small-charts.ts'
import { responseHeaders } from './frame.ts'
import type { PageRequest, Services } from './pages.ts'
import { attributes, linkButton, submitButton } from './parts/buttons.ts'
import { FormState, textField } from './parts/fields.ts'
import { formatCount, formatDay, formatDayRange, formatPercent } from './parts/format.ts'
import { shortUrlText } from './parts/links.ts'
import { emptyState } from './parts/messages.ts'

const breakdowns = {
  countries: 'Countries',
  referrers: 'Referrers',
  browsers: 'Browsers',
  operating_systems: 'Operating systems',
  devices: 'Devices',
  languages: 'Languages',
} as const

const allBreakdowns = Object.keys(breakdowns) as readonly (keyof typeof breakdowns)[]

/** The number of values in a breakdown, and of links in the ranking. */
const [shownValues, shownLinks] = [8, 10]

type StatisticsRequest = Pick<PageRequest, 'account' | 'query'> & {
  readonly session: { readonly account: Pick<PageRequest['session']['account'], 'time_zones'> }
}

export class Statistics {
  readonly #shortUrl: ShortUrl
  readonly #scope: readonly [db: Db, account: number, subject: Subject]
  readonly #calendar: Calendar
  readonly #path: string
  readonly #reading: PeriodReading

  constructor(
    { storage, shortUrl }: Pick<Services, 'storage' | 'shortUrl'>,
    { account, session, query }: StatisticsRequest,
    subject: Subject,
    path: string,
  ) {
    this.#shortUrl = shortUrl
    this.#scope = [storage, account, subject]
    this.#path = path
    this.#calendar = calendarOf(session.account.time_zones)
    this.#reading = readPeriod(query, this.#calendar.today())
  }

  /** The status of the page: 422 if the period is invalid. */
  get status(): number {
    return this.#reading.violations.length > 0 ? 422 : 200
  }

  /** Returns whether there were visits in the period or in the last twelve months, or the period is invalid. */
  async areWorthShowing(): Promise<boolean> {
    if (this.#reading.violations.length > 0) return true
    for (const { range } of [this.#reading.period, namedPeriod('12m', this.#calendar.today())]) {
      const { clicks, bots, previews } = (await this.#seriesOf(range, 'month')).totals
      if (clicks + bots + previews > 0) return true
    }
    return false
  }

  #seriesOf(range: DayRange, interval: Interval) {
    return seriesOf(...this.#scope, this.#calendar, range, interval)
  }

  /** Renders the period menu, the figures and the chart. */
  async clicksOverTime(): Promise<Html> {
    const { period } = this.#reading
    const { range, interval, before } = period
    const time = Date.now()
    const currentHour = currentHourOf(period, this.#calendar.localTimeOf(time))
    const now = await this.#seriesOf(range, interval)
    const earlier = before && (await this.#seriesOf(before, interval))
    const totals = before && earlier && (await this.#totalsUntilNow(before, currentHour, earlier.totals))
    const chart = areaChart({
      buckets: now.buckets,
      localStarts: now.localStarts,
      timeZone: this.#calendar.timeZone,
      started: now.startedAt(time),
      currentHour,
      interval,
      title: 'Human clicks over time',
      ...(before && earlier && { before: clicksBefore(now, earlier, (range.from - before.from) * dayMs, interval) }),
      ...(totals && { beforeUntilNow: totals.clicks }),
    })
    const [, , { scope }] = this.#scope
    const bar = periodBar(this.#reading, this.#path, scope === 'link')
    return html`${bar}${figures(now.totals, totals)}${before && comparison(before, currentHour, this.#calendar)}${chart}<p class="muted">Unique visitors are counted per link and day, and added up. ${timeZoneText(this.#calendar)} <a href="/app/account">Change<span class="hidden-text"> the time zone</span></a></p>`
  }

  /** Returns the totals of the previous period up to the current hour of its last day. */
  async #totalsUntilNow({ to }: DayRange, currentHour: number | null, totals: Counts): Promise<Counts> {
    if (currentHour === null) return totals
    const { buckets, localStarts } = await this.#seriesOf({ from: to, to }, 'hour')
    const until = to * dayMs + currentHour * hourMs
    const later = totalOf(buckets.filter((_, at) => (localStarts[at] as number) >= until))
    return {
      clicks: totals.clicks - later.clicks,
      unique_clicks: totals.unique_clicks - later.unique_clicks,
      bots: totals.bots - later.bots,
      previews: totals.previews - later.previews,
    }
  }

  /** Renders breakdowns as bars. Reads the days only once. */
  async breakdownBars(names = allBreakdowns): Promise<Html> {
    const rankings = await rankingsOf(...this.#scope, this.#reading.period.range, names)
    const bars = names.map(async (name) => {
      const values = await rankings[name].page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownValues })
      const rows = values.map(({ value, clicks }) => ({ label: valueLabel(name, value), clicks }))
      return barChart({ title: breakdowns[name], rows, total: rankings[name].total })
    })
    return html`<div class="breakdowns">${await Promise.all(bars)}</div>`
  }

  async topLinks(): Promise<Html> {
    const ranking = await rankingOf(...this.#scope, this.#reading.period.range, 'links')
    const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownLinks })
    const rows = values.map(async ({ value, clicks }) => ({ label: await this.#labelOf(value), clicks }))
    return barChart({ title: 'Top links', rows: await Promise.all(rows), total: ranking.total })
  }

  async #labelOf(link: string | number | null): Promise<Part> {
    if (typeof link !== 'number') return 'Other links'
    const [db, account] = this.#scope
    const found = await findLink(db, account, link)
    if (found === undefined) return 'Deleted link'
    const { alias, domain_name } = found.record
    const text = shortUrlText(this.#shortUrl(domain_name ?? '', alias))
    return html`<a class="short-url" href="/app/links/${link}"><bdi>${text}</bdi></a>`
  }

  /** Sends the clicks as CSV (RFC 4180), or returns `validation_failed`. No cell can be a formula. */
  async sendCsv(exchange: Exchange, fileName: string): Promise<Outcome> {
    const { period, violations } = this.#reading
    if (violations.length > 0) return validationFailed(violations)
    const { buckets } = await this.#seriesOf(period.range, period.interval)
    const lines = buckets.map(({ start_at, clicks, unique_clicks, bots, previews }) =>
      [start_at, clicks, unique_clicks, bots, previews, this.#calendar.timeZone].join(','),
    )
    addHeaders(exchange, { ...responseHeaders, 'content-type': 'text/csv; charset=utf-8' })
    addHeader(exchange, 'content-disposition', dispositionOf('attachment', fileName))
    return sendText(
      exchange,
      200,
      `${['start_at,clicks,unique_clicks,bots,previews,time_zone', ...lines].join('\r\n')}\r\n`,
    )
  }
}

/** "Days and hours are in Europe/Berlin, since Nov 24, 2026." */
export function timeZoneText(calendar: Calendar): string {
  const { timeZone, sinceMs } = calendar
  const since = sinceMs === 0 ? '' : `, since ${formatDay(calendar.localTimeOf(sinceMs))}`
  return `Days and hours are in ${timeZone}${since}.`
}

/**
 * Returns the clicks of the previous period for each bucket of this one, which starts `shiftMs` later. Hours are compared
 * by the local time, because one of the periods can have a day of 23 or 25 hours.
 */
function clicksBefore(now: Series, earlier: Series, shiftMs: number, interval: Interval): number[] {
  const { buckets, localStarts } = earlier
  if (interval !== 'hour') return buckets.map(({ clicks }) => clicks)
  const sums = now.localStarts.map(() => 0)
  for (const [at, { clicks }] of buckets.entries()) {
    const local = (localStarts[at] as number) + shiftMs
    const place = Math.max(
      0,
      now.localStarts.findLastIndex((start) => start <= local),
    )
    sums[place] = (sums[place] as number) + clicks
  }
  return sums
}

function comparison({ from, to }: DayRange, currentHour: number | null, { timeZone }: Calendar): Html {
  const span = formatDayRange(dayText(from), dayText(to))
  const end = currentHour === null ? '' : `, up to ${String(currentHour).padStart(2, '0')}:00 ${timeZone}`
  return html`<p class="compared">Compared with ${span}${end}</p>`
}

function figures(now: Counts, before: Counts | null): Html {
  const entries = Object.entries(countLabels).map(([key, label]) => {
    const name = key as keyof Counts
    const change = before && changeOf(now[name], before[name])
    return html`<div><dt>${label}</dt><dd><span class="figure">${formatCount(now[name])}</span>${change}</dd></div>`
  })
  return html`<dl class="figures">${entries}</dl>`
}

function changeOf(value: number, before: number): Html | null {
  if (value === 0 && before === 0) return null
  const title = `${formatCount(before)} in the previous period`
  if (value === before) return html`<span class="change" title="${title}">no change</span>`
  const direction = value > before ? 'up' : 'down'
  const share = before === 0 ? 'from 0' : formatPercent(Math.abs(value - before) / before)
  return html`<span class="change" title="${title}">${icon(direction)}<span class="hidden-text">${direction}</span> ${share}<span class="hidden-text"> compared with the previous period</span></span>`
}

/** Renders the period menu: the named periods, and a form for any other. Rejected dates stay visible. */
function periodBar({ period, typed, violations }: PeriodReading, path: string, hasFile: boolean): Html {
  const links = periods.map(({ name, label }) => {
    const isCurrent = name === period.name && violations.length === 0
    const link = attributes({ href: `${path}?period=${name}`, 'aria-current': isCurrent ? 'true' : null })
    // The stylesheet reserves the width of the bold label for the regular weight.
    return html`<a${link}><span data-label="${label}">${label}</span></a>`
  })
  const state = new FormState(typed, violations)
  const from = textField(state, { name: 'from', label: 'From', type: 'date' })
  const to = textField(state, { name: 'to', label: 'To', type: 'date' })
  const dates = html`<form method="get" action="${path}" class="dates">${state.withErrors(html`${from}${to}`)}
${submitButton({ label: 'Show', weight: 'plain' })}</form>`
  const span = formatDayRange(dayText(period.range.from), dayText(period.range.to))
  const chosen = html`<button type="button" class="button plain" popovertarget="dates" aria-label="Choose dates: ${span}">${span}</button>
<div class="menu" id="dates" popover>${dates}</div>`
  const address = `${path}/clicks.csv?${periodQuery(period)}`
  const file = hasFile
    ? linkButton({ label: html`<span class="hidden-text">Download as </span>CSV`, href: address })
    : null
  const own = violations.length > 0 ? dates : html`<div class="actions">${chosen}${file}</div>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>${own}</div>`
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
