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
import { type Period, type PeriodReading, periodQuery, periods, readPeriod } from './charts/period.ts'
import { valueLabel } from './charts/value-label.ts'
import { linkButton, submitButton } from './parts/buttons.ts'
import { emptyState } from './parts/empty.ts'
import { figures } from './parts/figures.ts'
import { dayOf } from './parts/time.ts'

/** The period that an address asks for, and what is wrong with it. */
export function periodOf(query: Fields): PeriodReading {
  return readPeriod(query, today())
}

interface Asked {
  readonly db: Db
  readonly account: number
  readonly subject: Subject
  readonly period: Period
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

/** Values that a break-down shows. */
const shownValues = 8

/** Whether anyone or any program came in the period. */
export async function hasVisits({ db, account, subject, period }: Asked): Promise<boolean> {
  const { clicks, bots, previews } = (await seriesOf(db, account, subject, period.range, 'month')).totals
  return clicks + bots + previews > 0
}

/** Figures, the clicks over time and what they break down into. */
export async function statistics(asked: Asked): Promise<Html> {
  const [overTime, bars] = await Promise.all([clicksOverTime(asked), breakdownBars(asked)])
  return html`${overTime}<div class="breakdowns">${bars}</div>`
}

/** The choice of a period, the figures and the chart. */
export async function clicksOverTime({ db, account, subject, period, path }: Asked): Promise<Html> {
  const { range, interval, before } = period
  const now = await seriesOf(db, account, subject, range, interval)
  const earlier = before && (await seriesOf(db, account, subject, before, interval))
  const chart = areaChart({
    buckets: now.buckets,
    interval,
    title: 'Clicks of people over time',
    ...(earlier && { before: earlier.buckets.map(({ clicks }) => clicks) }),
  })
  return html`${periodBar(period, path)}${figuresOf(now.totals, earlier?.totals)}${chart}`
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

async function breakdownBars({ db, account, subject, period }: Asked): Promise<Html[]> {
  const names = Object.keys(breakdowns) as (keyof typeof breakdowns)[]
  const rankings = await rankingsOf(db, account, subject, period.range, names)
  return Promise.all(
    names.map(async (name) => {
      const values = await rankings[name].page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownValues })
      const rows = values.map(({ value, clicks }) => ({ label: valueLabel(name, value), clicks }))
      return barChart({ title: breakdowns[name], rows, total: rankings[name].total })
    }),
  )
}

/** Links to the named periods, and a form for any other. */
function periodBar(period: Period, path: string): Html {
  const links = periods.map(({ name, label }) =>
    name === period.name
      ? html`<a href="${path}?period=${name}" aria-current="true">${label}</a>`
      : html`<a href="${path}?period=${name}">${label}</a>`,
  )
  const { from, to } = period.range
  const dates = html`<label>From <input type="date" name="from" value="${dayText(from)}"></label>
<label>To <input type="date" name="to" value="${dayText(to)}"></label>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>
<details><summary>${spanOf(period.range)}</summary><form method="get" action="${path}">${dates}${submitButton({ label: 'Show', weight: 'plain' })}</form></details></div>`
}

function spanOf({ from, to }: DayRange): string {
  return `${dayOf(dayText(from))} to ${dayOf(dayText(to))}`
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

/** The button that downloads the clicks over time for spreadsheets. */
export function csvButton(path: string, period: Period): Html {
  return linkButton({ label: 'Download CSV', href: `${path}/clicks.csv?${periodQuery(period)}` })
}
