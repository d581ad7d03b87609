/** Compares the clicks of up to five links in one chart and one table. */
import { Series } from '../../analytics/statistics/series.ts'
import { Failure } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { HandlerResult } from '../../http/exchange.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLink } from '../../links/store.ts'
import type { Earlier } from '../charts/area-chart.ts'
import { lineChart, lineSample } from '../charts/line-chart.ts'
import type { Period } from '../charts/period.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { linkButton } from '../parts/buttons.ts'
import { formatPercent, timeAgo } from '../parts/format.ts'
import { maxCompared } from '../parts/link-actions.ts'
import { shortUrlLink, shortUrlText } from '../parts/links.ts'
import { emptyState } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { changeSince, timeZoneText } from '../statistics/clicks-over-time.ts'
import { comparisonText, earlierClicks } from '../statistics/comparison.ts'
import { sendBuckets } from '../statistics/csv.ts'
import { periodBar } from '../statistics/period-bar.ts'
import { Statistics, type StatisticsServices } from '../statistics/statistics.ts'

const home = '/app/links/compare'

export function addComparePage(pages: Pages, services: StatisticsServices): void {
  pages.get(home, 'stats:read', (request) => comparePage(request, services))
  pages.getFile(`${home}/clicks.csv`, 'stats:read', (request) => sendComparison(request, services))
}

/** Returns the page for the links that people selected in the list. */
export function compareSelected(ids: readonly number[], listPath: string): Redirect | PageContent {
  return ids.length > maxCompared ? tooMany(ids.length, listPath) : new Redirect(`${home}?ids=${ids.join(',')}`)
}

interface Compared {
  readonly link: Link
  readonly statistics: Statistics
  readonly series: Series
  readonly earlier: Earlier | null
}

async function comparePage(request: PageRequest, services: StatisticsServices): Promise<PageContent> {
  const ids = idsIn(request.query.ids)
  if (ids === null) {
    const why = 'The URL of this page must end in ?ids= and link ids, such as 1,2,3.'
    return { ...emptyPage('Invalid list of links', why), status: 422 }
  }
  if (ids.length > maxCompared) return tooMany(ids.length)
  const links = await findLinks(ids, request, services)
  if (links.length === 0) {
    const title = ids.length === 0 ? 'Select links to compare' : 'These links no longer exist'
    return emptyPage(title, `Select up to ${maxCompared} links in the list, then choose Compare.`)
  }
  const compared = await Promise.all(links.map((link) => readClicks(link, request, services)))
  const [{ statistics }] = compared as [Compared]
  const body = html`${leftOutText(ids.length - links.length)}<section id="clicks">${await clicks(compared)}</section>`
  return { title: `Compare ${quantity(links.length, 'link')}`, section: 'links', body, status: statistics.status }
}

/** Sends the clicks by link as CSV, or returns `validation_failed`. */
async function sendComparison(request: PageRequest, services: StatisticsServices): Promise<HandlerResult> {
  const ids = idsIn(request.query.ids)
  if (ids === null || ids.length > maxCompared)
    return new Failure('validation_failed', `The ids must be 1 to ${maxCompared} link ids, such as 1,2,3.`)
  const statistics = new Statistics(services, request, { level: 'link', id: 0 }, home)
  const { range, interval } = statistics.validPeriod()
  const compared = await Promise.all(
    (await findLinks(ids, request, services)).map((link) => readClicks(link, request, services)),
  )
  const series = compared[0]?.series ?? new Series(range, interval, statistics.calendar)
  const columns = compared.map(({ link }) => shortUrlText(link.short_url))
  const clicks = compared.map((each) => each.series.buckets.map((bucket) => bucket.clicks))
  const figuresOf = (at: number) => clicks.map((figures) => figures[at] as number)
  return sendBuckets(request.exchange, 'comparison.csv', statistics, series, { columns, figuresOf })
}

/** Finds the links that the account has. */
async function findLinks(
  ids: readonly number[],
  { account }: PageRequest,
  services: StatisticsServices,
): Promise<Link[]> {
  const { storage, shortUrl } = services
  const rows = await Promise.all(ids.map((id) => findLink(storage, account, id)))
  return rows.flatMap((row) => (row === undefined ? [] : linkOf(row.record, shortUrl)))
}

/** Returns the ids of `1,2,3`, each once; null if one of them is invalid. */
function idsIn(text: unknown): number[] | null {
  if (text === undefined || text === '') return []
  const ids = typeof text === 'string' ? text.split(',').map(positiveInteger) : []
  const valid = ids.filter((id) => id !== undefined)
  return valid.length === 0 || valid.length < ids.length ? null : [...new Set(valid)]
}

function tooMany(count: number, listPath = '/app/links'): PageContent {
  const why = `You selected ${formatCount(count)} links. Select at most ${maxCompared}, so that their lines can be told apart.`
  return { ...emptyPage('Too many links to compare', why, listPath), status: 422 }
}

function emptyPage(title: string, why: string, listPath = '/app/links'): PageContent {
  const action = linkButton({ label: 'Select links', href: listPath })
  return { title: 'Compare links', section: 'links', body: emptyState({ title, why, action }) }
}

function leftOutText(count: number): Html | null {
  if (count === 0) return null
  const words = count === 1 ? '1 link isn’t shown because it doesn’t' : `${count} links aren’t shown because they don’t`
  return html`<p class="attention">${words} exist.</p>`
}

async function readClicks(link: Link, request: PageRequest, services: StatisticsServices): Promise<Compared> {
  const statistics = new Statistics(services, request, { level: 'link', id: link.id }, home)
  const { range, interval } = statistics.reading.period
  const series = await statistics.seriesOf(range, interval)
  return { link, statistics, series, earlier: await earlierClicks(statistics, series, Date.now()) }
}

/** The chart begins with the oldest link. */
async function clicks(compared: readonly Compared[]): Promise<Html> {
  const [{ statistics }] = compared as [Compared]
  const periods = await Promise.all(
    compared.map(async ({ link, ...each }) => (await each.statistics.seriesSince(link.created_at, each.series))[1]),
  )
  const [period] = periods.sort((one, other) => one.range.from - other.range.from) as [Period]
  const drawn = await Promise.all(compared.map((each) => each.statistics.seriesOf(period.range, period.interval)))
  const { reading, calendar } = statistics
  const time = Date.now()
  const ids = compared.map(({ link }) => link.id).join(',')
  const bar = periodBar({ reading, path: home, fixed: { ids }, file: `${home}/clicks.csv` })
  const chart = lineChart({
    title: 'Clicks over time',
    ...statistics.axisOf(drawn[0] as Series, time, period, `${home}?ids=${ids}&`),
    lines: compared.map(({ link }, at) => ({
      label: shortUrlText(link.short_url),
      clicks: (drawn[at] as Series).buckets.map((bucket) => bucket.clicks),
    })),
  })
  const hasEarlier = compared.some(({ earlier }) => earlier !== null)
  const figures = html`${comparisonTable(compared, time)}${comparisonText(statistics, hasEarlier)}`
  return html`${statistics.live('period', bar)}${statistics.live('chart', chart)}${statistics.live('figures', figures)}<p class="muted small">Unique visitors are counted per link and day, and added up. ${timeZoneText(calendar)}</p>`
}

function comparisonTable(compared: readonly Compared[], now: number): Html {
  const total = compared.reduce((sum, { series }) => sum + series.totals.clicks, 0)
  return table({
    caption: 'Compared links',
    isFitted: true,
    rows: compared.map((each, index) => ({ ...each, index })),
    columns: [
      {
        label: 'Link',
        kind: 'lead',
        cell: ({ link, index }) =>
          html`<span class="compared-link">${lineSample(index)}${shortUrlLink(link.short_url, `/app/links/${link.id}`, 'short-url cover')}</span>`,
      },
      { label: 'Clicks', kind: 'number', cell: ({ series }) => formatCount(series.totals.clicks) },
      {
        label: 'Unique visitors',
        kind: 'number',
        width: 'medium',
        cell: ({ series }) => formatCount(series.totals.unique_clicks),
      },
      {
        label: 'Change',
        kind: 'number',
        cell: ({ series, earlier }) =>
          earlier && changeSince(series.totals.clicks, earlier.totals.clicks, earlier.phrase),
      },
      {
        label: 'Share',
        kind: 'number',
        cell: ({ series }) => (total === 0 ? null : formatPercent(series.totals.clicks / total)),
      },
      {
        label: 'Last click',
        cell: ({ link }) => (link.last_clicked_at === null ? 'Never' : timeAgo(link.last_clicked_at, now)),
      },
    ],
  })
}
