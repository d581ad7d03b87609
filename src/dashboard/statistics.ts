/** The statistics of a link, a domain, a space or the whole account over a period, as a part of a page. */
import { dayText } from '../clicks/days.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import type { Link } from '../links/schema.ts'
import { type DayRange, today } from '../stats/day-range.ts'
import { rankingsOf, seriesOf } from '../stats/reading.ts'
import type { Counts } from '../stats/series.ts'
import type { Subject } from '../stats/store.ts'
import type { Db } from '../storage/port.ts'
import { areaChart } from './charts/area-chart.ts'
import { barChart } from './charts/bars.ts'
import { namedPeriod, type PeriodReading, type Progress, progressOf, readPeriod } from './charts/period.ts'
import { valueLabel } from './charts/value-label.ts'
import { linkButton } from './parts/buttons.ts'
import { emptyState } from './parts/empty.ts'
import { figures } from './parts/figures.ts'
import { daySpan } from './parts/time.ts'
import { periodBar } from './period-bar.ts'

/** The period that an address asks for, and what is wrong with it. */
export function periodOf(query: Fields): PeriodReading {
  return readPeriod(query, today())
}

/** Whose statistics, over which period. */
export interface StatisticsAsked {
  readonly db: Db
  readonly account: number
  readonly subject: Subject
  readonly reading: PeriodReading
  /** The page's address without a query. */
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

export type Breakdown = keyof typeof breakdowns

export const allBreakdowns = Object.keys(breakdowns) as readonly Breakdown[]

/** Values that a break-down shows. */
const shownValues = 8

/** Whether anyone or any program came in the period, or in the last twelve months. */
export async function hasVisits({ db, account, subject, reading }: StatisticsAsked): Promise<boolean> {
  for (const { range } of [reading.period, namedPeriod('12m', today())]) {
    const { clicks, bots, previews } = (await seriesOf(db, account, subject, range, 'month')).totals
    if (clicks + bots + previews > 0) return true
  }
  return false
}

/** The choice of a period, the figures and the chart. */
export async function clicksOverTime(asked: StatisticsAsked): Promise<Html> {
  const { db, account, subject, reading, path } = asked
  const { range, interval, before } = reading.period
  const progress = progressOf(reading.period, Date.now())
  const now = await seriesOf(db, account, subject, range, interval)
  const earlier = before && (await seriesOf(db, account, subject, before, interval))
  const compared = before && earlier && { before, totals: await totalsUntil(progress, earlier.totals, before, asked) }
  const chart = areaChart({
    buckets: now.buckets,
    ...progress,
    interval,
    title: 'Clicks of people over time',
    ...(earlier && { before: earlier.buckets.map(({ clicks }) => clicks) }),
    ...(compared && { beforeUntilNow: compared.totals.clicks }),
  })
  const bar = periodBar(reading, path, subject.scope === 'link')
  return html`${bar}${figuresOf(now.totals, compared?.totals)}${compared && comparison(compared.before, progress)}${chart}`
}

/** The totals of the period before, up to the hour of its last day that it is now. */
async function totalsUntil(
  { hour }: Progress,
  totals: Counts,
  { to }: DayRange,
  { db, account, subject }: StatisticsAsked,
): Promise<Counts> {
  if (hour === null) return totals
  const { buckets } = await seriesOf(db, account, subject, { from: to, to }, 'hour')
  return buckets.slice(hour).reduce(
    (left, later) => ({
      clicks: left.clicks - later.clicks,
      unique_clicks: left.unique_clicks - later.unique_clicks,
      bots: left.bots - later.bots,
      previews: left.previews - later.previews,
    }),
    totals,
  )
}

/** What the changes of the figures are against. */
function comparison({ from, to }: DayRange, { hour }: Progress): Html {
  const span = daySpan(dayText(from), dayText(to))
  const words =
    hour === null
      ? `Compared with ${span}`
      : `So far, compared with ${span} until ${String(hour).padStart(2, '0')}:00 UTC`
  return html`<p class="compared">${words}</p>`
}

function figuresOf(now: Counts, before: Counts | undefined): Html {
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

/** What the clicks of the period break down into, as bars; the days are read once. */
export async function breakdownBars(
  { db, account, subject, reading }: StatisticsAsked,
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

/** Stands instead of the figures until the first click; a script looks for it every few seconds. */
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
