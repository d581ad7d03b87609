/** Statistics of a link, a domain, a space or the account over a period, as part of a page. */
import { dayText, today } from '../analytics/calendar.ts'
import type { DayRange } from '../analytics/statistics/day-range.ts'
import type { Counts } from '../analytics/statistics/series.ts'
import { rankingOf, rankingsOf, seriesOf } from '../analytics/statistics/statistics.ts'
import type { Subject } from '../analytics/statistics/store.ts'
import { validationFailed } from '../errors.ts'
import type { Outcome } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { addHeader, dispositionOf, sendText } from '../http/response.ts'
import type { Link } from '../links/schema.ts'
import { findLink } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { areaChart } from './charts/area-chart.ts'
import {
  namedPeriod,
  type PeriodReading,
  type Progress,
  periodQuery,
  periods,
  progressOf,
  readPeriod,
} from './charts/period.ts'
import { barChart, valueLabel } from './charts/small-charts.ts'
import { FormState } from './form-state.ts'
import { responseHeaders } from './frame.ts'
import type { PageRequest } from './pages.ts'
import { linkButton, submitButton } from './parts/buttons.ts'
import { textField } from './parts/fields.ts'
import { formatCount, formatDayRange, formatPercent } from './parts/format.ts'
import { icon } from './parts/icons.ts'
import { shortUrlText } from './parts/links.ts'
import { emptyState } from './parts/messages.ts'

/** Reads the period from a query, with its violations. */
export function periodFrom(query: Fields): PeriodReading {
  return readPeriod(query, today())
}

/** The subject and the period of the statistics. */
export interface StatisticsQuery {
  readonly db: Db
  readonly account: number
  readonly subject: Subject
  readonly reading: PeriodReading
  /** The path of the page. */
  readonly path: string
}

const breakdowns = {
  countries: 'Countries',
  referrers: 'Came from',
  browsers: 'Browsers',
  operating_systems: 'Systems',
  devices: 'Devices',
  languages: 'Languages',
} as const

type Breakdown = keyof typeof breakdowns

export const allBreakdowns = Object.keys(breakdowns) as readonly Breakdown[]

/** The number of values in a breakdown. */
const shownValues = 8

/** Returns whether there were any visits, bots included, in the period or in the last twelve months. */
export async function hasVisits({ db, account, subject, reading }: StatisticsQuery): Promise<boolean> {
  for (const { range } of [reading.period, namedPeriod('12m', today())]) {
    const { clicks, bots, previews } = (await seriesOf(db, account, subject, range, 'month')).totals
    if (clicks + bots + previews > 0) return true
  }
  return false
}

/** Renders the period menu, the figures and the chart. */
export async function clicksOverTime(query: StatisticsQuery): Promise<Html> {
  const { db, account, subject, reading, path } = query
  const { range, interval, before } = reading.period
  const progress = progressOf(reading.period, Date.now())
  const now = await seriesOf(db, account, subject, range, interval)
  const earlier = before && (await seriesOf(db, account, subject, before, interval))
  const compared = before &&
    earlier && { before, totals: await totalsUntilNow(progress, earlier.totals, before, query) }
  const chart = areaChart({
    buckets: now.buckets,
    ...progress,
    interval,
    title: 'Human clicks over time',
    ...(earlier && { before: earlier.buckets.map(({ clicks }) => clicks) }),
    ...(compared && { beforeUntilNow: compared.totals.clicks }),
  })
  const bar = periodBar(reading, path, subject.scope === 'link')
  return html`${bar}${figuresFor(now.totals, compared?.totals)}${compared && comparison(compared.before, progress)}${chart}`
}

/** Returns the totals of the previous period up to the current hour of its last day. */
async function totalsUntilNow(
  { currentHour }: Progress,
  totals: Counts,
  { to }: DayRange,
  { db, account, subject }: StatisticsQuery,
): Promise<Counts> {
  if (currentHour === null) return totals
  const { buckets } = await seriesOf(db, account, subject, { from: to, to }, 'hour')
  return buckets.slice(currentHour).reduce(
    (left, later) => ({
      clicks: left.clicks - later.clicks,
      unique_clicks: left.unique_clicks - later.unique_clicks,
      bots: left.bots - later.bots,
      previews: left.previews - later.previews,
    }),
    totals,
  )
}

/** Names the period that the figures are compared with. */
function comparison({ from, to }: DayRange, { currentHour }: Progress): Html {
  const span = formatDayRange(dayText(from), dayText(to))
  const words =
    currentHour === null
      ? `Compared with ${span}`
      : `So far, compared with ${span} until ${String(currentHour).padStart(2, '0')}:00 UTC`
  return html`<p class="compared">${words}</p>`
}

function figuresFor(now: Counts, before: Counts | undefined): Html {
  const figure = (label: string, name: keyof Counts) => ({
    label,
    value: now[name],
    ...(before !== undefined && { before: before[name] }),
  })
  return figures(
    [
      figure('Clicks', 'clicks'),
      figure('Daily visitors', 'unique_clicks'),
      figure('Bots', 'bots'),
      figure('Previews', 'previews'),
    ],
    'the period before',
  )
}

/** Renders the breakdowns of the clicks as bars. Reads the days only once. */
export async function breakdownBars(
  { db, account, subject, reading }: StatisticsQuery,
  names: readonly Breakdown[],
): Promise<Html> {
  const rankings = await rankingsOf(db, account, subject, reading.period.range, names)
  const bars = await Promise.all(
    names.map(async (name) => {
      const values = await rankings[name].page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownValues })
      const rows = values.map(({ value, clicks }) => ({ label: valueLabel(name, value), clicks }))
      return barChart({ title: breakdowns[name], rows, total: rankings[name].total })
    }),
  )
  return html`<div class="breakdowns">${bars}</div>`
}

/** Renders a placeholder for the figures until the first click. A script polls for it. */
export function noClicksYet({ short_url, status }: Pick<Link, 'short_url' | 'status'>): Html {
  const title = 'No clicks yet'
  if (status !== 'active')
    return emptyState({ title, why: `The link is ${status}, so visitors do not reach its target.` })
  return emptyState({
    title,
    why: 'Open the short link once, and your click shows here within seconds. Bots and link previews are counted separately.',
    action: linkButton({ label: 'Open the short link', href: short_url, inNewTab: true }),
  })
}

interface Figure {
  readonly label: string
  readonly value: number
  /** The figure of the previous period. Without it, no change is shown. */
  readonly before?: number
}

/** Renders figures with their changes. `period` names the compared period: "the 30 days before". */
export function figures(all: readonly Figure[], period: string): Html {
  const entries = all.map(
    ({ label, value, before }) =>
      html`<div><dt>${label}</dt><dd><span class="figure">${formatCount(value)}</span>${before === undefined ? null : changeOf(value, before, period)}</dd></div>`,
  )
  return html`<dl class="figures">${entries}</dl>`
}

function changeOf(value: number, before: number, period: string): Html | null {
  if (value === 0 && before === 0) return null
  const title = `${formatCount(before)} in ${period}`
  if (value === before) return html`<span class="change" title="${title}">no change</span>`
  const direction = value > before ? 'up' : 'down'
  const share = before === 0 ? 'from 0' : formatPercent(Math.abs(value - before) / before)
  return html`<span class="change" title="${title}">${icon(direction)}<span class="hidden-text">${direction}</span> ${share}<span class="hidden-text"> against ${period}</span></span>`
}

/** The number of links in the ranking. */
const shownLinks = 10

/** Renders the most visited links in the period. */
export async function topLinks({ db, account, subject, reading }: StatisticsQuery, shortUrl: ShortUrl): Promise<Html> {
  const ranking = await rankingOf(db, account, subject, reading.period.range, 'links')
  const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownLinks })
  const rows = await Promise.all(values.map(async ({ value, clicks }) => ({ label: await labelOf(value), clicks })))
  return barChart({ title: 'Top links', rows, total: ranking.total })

  async function labelOf(value: string | number | null): Promise<Part> {
    if (typeof value !== 'number') return 'Other links'
    const found = await findLink(db, account, value)
    if (found === undefined) return 'A deleted link'
    const { alias, domain_name } = found.record
    return html`<a class="short-url" href="/app/links/${value}"><bdi>${shortUrlText(shortUrl(domain_name ?? '', alias))}</bdi></a>`
  }
}

/**
 * Renders the period menu: the named periods, and a form for any other. `path` is the path of the page. Rejected dates
 * stay visible.
 */
function periodBar({ period, typed, violations }: PeriodReading, path: string, hasFile: boolean): Html {
  const links = periods.map(({ name, label }) => {
    // The browser reserves the width of the bold label for the regular weight.
    const shown = html`<span data-label="${label}">${label}</span>`
    return name === period.name && violations.length === 0
      ? html`<a href="${path}?period=${name}" aria-current="true">${shown}</a>`
      : html`<a href="${path}?period=${name}">${shown}</a>`
  })
  const state = new FormState(typed, violations)
  const dates = html`<form method="get" action="${path}" class="dates">${state.withErrors(html`${dateField('from', 'From', state)}${dateField('to', 'To', state)}`)}
${submitButton({ label: 'Show', weight: 'plain' })}</form>`
  const { from, to } = period.range
  const span = formatDayRange(dayText(from), dayText(to))
  const chosen = html`<button type="button" class="button plain" popovertarget="dates" aria-label="Other days: ${span}">${span}</button>
<div class="menu" id="dates" popover>${dates}</div>`
  const address = `${path}/clicks.csv?${periodQuery(period)}`
  const file = hasFile
    ? linkButton({ label: html`<span class="hidden-text">Download as </span>CSV`, href: address })
    : null
  const own = violations.length > 0 ? dates : html`<div class="actions">${chosen}${file}</div>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>${own}</div>`
}

function dateField(name: 'from' | 'to', label: string, state: FormState): Html {
  return textField({ name, label, type: 'date', state: state.field(name) })
}

/**
 * Sends the clicks in the period as CSV (RFC 4180). It contains only times and numbers, so no cell can be a formula.
 * Returns `validation_failed`.
 */
export async function sendClicksCsv(
  { exchange, account, query }: PageRequest,
  db: Db,
  of: Subject,
  name: string,
): Promise<Outcome> {
  const { period, violations } = periodFrom(query)
  if (violations.length > 0) return validationFailed(violations)
  const { range, interval } = period
  const { buckets } = await seriesOf(db, account, of, range, interval)
  const lines = buckets.map(({ start_at, clicks, unique_clicks, bots, previews }) =>
    [start_at, clicks, unique_clicks, bots, previews].join(','),
  )
  for (const header in responseHeaders) addHeader(exchange, header, responseHeaders[header] as string)
  addHeader(exchange, 'content-type', 'text/csv; charset=utf-8')
  addHeader(exchange, 'content-disposition', dispositionOf('attachment', name))
  return sendText(exchange, 200, `${['start_at,clicks,unique_clicks,bots,previews', ...lines].join('\r\n')}\r\n`)
}
