/** Pages with all values of a breakdown, and the files of statistics. */
import { recentDays } from '../../accounts/calendar.ts'
import { maxValues } from '../../analytics/day.ts'
import type { Ranking, ValueClicks } from '../../analytics/statistics/ranking.ts'
import type { Subject } from '../../analytics/statistics/statements.ts'
import { readRanking } from '../../analytics/statistics/statistics.ts'
import { linksOfReferrer } from '../../analytics/statistics/store.ts'
import { Failure } from '../../errors.ts'
import { form, optional } from '../../forms/form.ts'
import { type ListQuery, pageSize } from '../../forms/list-query.ts'
import { boundedText, integer, oneOf } from '../../forms/rules.ts'
import type { Exchange, HandlerResult } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount } from '../../lib/format.ts'
import { foldCase } from '../../lib/text.ts'
import { findLinkNames } from '../../links/link-list.ts'
import type { Resource } from '../../resources.ts'
import { type Period, periodQuery } from '../charts/period.ts'
import { type BarRow, bar } from '../charts/small-charts.ts'
import { filterBar, ListState, requestsOf } from '../lists.ts'
import type { PageContent, PageRequest, Pages } from '../page.ts'
import { formatPercent } from '../parts/format.ts'
import { shortUrlText, truncateMiddle } from '../parts/links.ts'
import { longTable, type Sorting } from '../parts/table.ts'
import { idsIn, rankValues, rowsOf, textsOf, topValues, unanswered } from './breakdowns.ts'
import { timeZoneText } from './clicks-over-time.ts'
import { type CsvRow, sendClicksCsv, sendCsv, shareText } from './csv.ts'
import { periodBar } from './period-bar.ts'
import {
  homes,
  type NamedStatistics,
  requestedStatistics,
  type Statistics,
  type StatisticsServices,
} from './statistics.ts'
import {
  type BreakdownName,
  breakdowns,
  type GroupName,
  isGroup,
  isProperty,
  referrerIn,
  referrerPath,
  valueText,
} from './values.ts'

const levels = Object.keys(homes) as Subject['level'][]
const names = Object.keys(breakdowns) as BreakdownName[]

/** The links among which a search finds links, and the links of a file. */
const [searchedLinks, linksInFile] = [1_000, 10_000]

export function addBreakdownPages(pages: Pages, services: StatisticsServices): void {
  for (const level of levels) {
    const home = homes[level]
    const requested = (request: PageRequest) => requestedStatistics(request, services, level)
    pages.getFile(`${home}/clicks.csv`, 'stats:read', async (request) => {
      const { statistics, fileName } = await requested(request)
      return sendClicksCsv(statistics, request.exchange, `${fileName}clicks.csv`)
    })
    for (const name of names.filter((name) => isShownFor(name, level))) {
      const path = `${home}/${breakdowns[name].path}`
      pages.get(path, 'stats:read', async (request) => valuesPage(await requested(request), name, request.query))
      pages.getFile(`${path}.csv`, 'stats:read', async (request) =>
        sendValues(await requested(request), name, request.exchange),
      )
    }
    if (level === 'link') continue
    const path = `${home}/referrers/:host/links`
    pages.get(path, 'stats:read', async (request) => linksPage(await requested(request), requestedReferrer(request)))
    pages.getFile(`${path}.csv`, 'stats:read', async (request) =>
      sendLinks(await requested(request), requestedReferrer(request), request.exchange),
    )
  }
}

/** Only a link has a breakdown by rule, but none by link. Only the account has breakdowns by group. */
function isShownFor(name: BreakdownName, level: Subject['level']): boolean {
  if (name === 'rules' || name === 'links') return (level === 'link') === (name === 'rules')
  return isProperty(name) || level === 'account'
}

const valuesForm = form<Omit<ListQuery, 'search_by' | 'after'>>(
  {
    search: optional(boundedText(255, 'The text to find.'), null),
    sort_by: optional(oneOf(['clicks', 'value'], 'The column to sort by.'), 'clicks'),
    sort: optional(oneOf(['desc', 'asc'], 'The sort order.'), 'desc'),
    per_page: optional(pageSize, 25),
    page: optional(integer({ description: 'The number of the page.' }), null),
  },
  ['period', 'from', 'to', 'compare'],
)

/** The query of a list of values, which is sorted and searched in memory. */
const valuesQuery = {
  check: (given: Fields): ListQuery | Failure => {
    const values = valuesForm.check(given)
    return values instanceof Failure ? values : { ...values, search_by: 'value', after: null }
  },
}
const values: Resource = { singular: 'value', sorts: {}, searched: {}, filters: [] }

async function valuesPage(named: NamedStatistics, name: BreakdownName, query: Fields): Promise<PageContent> {
  const { statistics } = named
  const { title, path, one } = breakdowns[name]
  const list = new ListState(`${statistics.path}/${path}`, query, valuesQuery, requestsOf(values))
  const all = await rankValues(statistics, name)
  const body = html`${introduction(named, name === 'links' ? null : ` by ${one.toLowerCase()}`)}
${periodBar({ reading: statistics.reading, path: list.path, file: `${list.path}.csv`, isCompared: false })}
${filterBar(list, `Search ${chooseNoun(name)}`, [])}
<div id="results" class="results">${await results(statistics, name, list, all)}</div>
<p class="muted small">${noteOn(all, name)} ${timeZoneText(statistics.calendar)}</p>`
  const where = named.name === null ? title : `${title} of ${named.name}`
  return { title: where, heading: title, section: named.section, body, status: statistics.status }
}

/** Returns the noun for several values: "countries", "links". */
function chooseNoun(name: BreakdownName): string {
  return name === 'links' ? 'links' : breakdowns[name].title.toLowerCase()
}

function noteOn(all: Ranking, name: BreakdownName): string {
  const isLimited = all.countClicks('other') > 0
  if (isGroup(name)) return isLimited ? limitOfGroups(name) : ''
  const limit = `Each day stores up to ${maxValues} ${chooseNoun(name)}. Clicks of the others are counted as Others.`
  return [...(isLimited ? [limit] : []), ...(name === 'links' ? [] : [unanswered])].join(' ')
}

function limitOfGroups(name: GroupName): string {
  return `Only the ${name} with the most clicks in the last ${recentDays} days are listed. Others counts the rest.`
}

/** Returns the values whose text contains the search, among the most clicked links or all other values. */
async function findMatches(
  statistics: Statistics,
  all: Ranking,
  name: BreakdownName,
  search: string,
): Promise<Ranking> {
  const text = foldCase(search)
  if (isProperty(name)) return all.filter((value) => foldCase(valueText(name, value)).includes(text))
  if (isGroup(name)) {
    const values = await all.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: all.size })
    const texts = await textsOf(statistics, name, values)
    const found = new Set(values.filter((_, at) => foldCase(texts[at] ?? '').includes(text)).map(({ value }) => value))
    return all.filter((value) => found.has(value))
  }
  const [db, account] = statistics.source
  const top = await all.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: searchedLinks })
  const links = await findLinkNames(db, account, idsIn(top))
  return all.filter((value) => {
    const link = links.get(value as number)
    if (link === undefined) return false
    const shown = [shortUrlText(statistics.shortUrl(link.domain, link.alias)), link.title ?? '']
    return shown.some((each) => foldCase(each).includes(text))
  })
}

async function results(statistics: Statistics, name: BreakdownName, list: ListState, all: Ranking): Promise<Html> {
  const { search, sort_by, sort } = list.query
  const matching = search === null ? all : await findMatches(statistics, all, name, search)
  const isLimited = search !== null && name === 'links' && all.size > searchedLinks
  const limits = isLimited
    ? html`<p class="muted small">Only the ${formatCount(searchedLinks)} links with the most clicks were searched.</p>`
    : null
  const page = await matching.page({
    sortBy: sort_by as 'clicks' | 'value',
    direction: sort,
    offset: list.request.offset,
    limit: list.request.limit,
    ...(isProperty(name) && { textOf: (value) => valueText(name, value) }),
  })
  if (page.length > 0) {
    const [first] = await all.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: 1 })
    const rows = await rowsOf(statistics, name, page)
    const shown = { name, caption: breakdowns[name].title, rows, most: first?.clicks ?? 0, total: all.total }
    const pages = list.pagination({ rows, total: matching.size, totalIsExact: true })
    return html`${await valueTable({ ...shown, sorting: list.sorting })}${pages}${limits}`
  }
  if (list.page > 1) return list.emptyPageMessage()
  if (search === null) return html`<p class="muted" data-count>No clicks in this period.</p>`
  return html`<p data-count>No ${chooseNoun(name)} match “${truncateMiddle(search, 60)}”.</p>${limits}`
}

interface ValueTable {
  readonly name: BreakdownName
  readonly caption: string
  readonly rows: readonly BarRow[]
  /** The clicks of the longest bar. */
  readonly most: number
  /** The clicks of all values. */
  readonly total: number
  readonly sorting?: Sorting
}

/** Renders values with a tinted bar behind each row. */
function valueTable({ name, most, total, ...table }: ValueTable): Promise<Html> {
  const lead = (row: BarRow) => html`${bar(row.clicks, most)}<span class="bar-label">${row.label}</span>`
  return longTable({
    ...table,
    columns: [
      { label: breakdowns[name].one, kind: 'lead', cell: lead, ...(isProperty(name) && { sortBy: 'value' }) },
      { label: 'Clicks', kind: 'number', sortBy: 'clicks', cell: ({ clicks }) => formatCount(clicks) },
      { label: 'Share', kind: 'number', width: 'small', cell: ({ clicks }) => formatPercent(clicks / total) },
    ],
  })
}

/** Sends the values as CSV, the most clicked first, or returns `validation_failed`. */
async function sendValues(named: NamedStatistics, name: BreakdownName, exchange: Exchange): Promise<HandlerResult> {
  const { statistics } = named
  statistics.validPeriod()
  const ranking = await rankValues(statistics, name)
  const fileName = `${named.fileName}${breakdowns[name].path}.csv`
  if (name === 'links') {
    const { values, others } = await topValues(ranking, linksInFile)
    return sendCsv(exchange, fileName, await fileOfLinks(statistics, values, others))
  }
  const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: ranking.size })
  const texts = await textsOf(statistics, name, values)
  const rows = values.map(({ clicks }, at) => [texts[at] ?? '', clicks, shareText(clicks, ranking.total)])
  return sendCsv(exchange, fileName, [[breakdowns[name].one, 'Clicks', 'Share'], ...rows])
}

/** Returns a file row for each link, and one with the clicks of all other links. */
async function fileOfLinks(
  { source, shortUrl }: Statistics,
  values: readonly ValueClicks[],
  others: number,
): Promise<CsvRow[]> {
  const [db, account] = source
  const links = await findLinkNames(db, account, idsIn(values))
  const total = values.reduce((sum, { clicks }) => sum + clicks, others)
  const rows: CsvRow[] = values.map(({ value, clicks }) => {
    const link = links.get(value as number)
    const text = link === undefined ? 'Deleted link' : shortUrl(link.domain, link.alias)
    return [text, link?.title ?? null, clicks, shareText(clicks, total)]
  })
  const rest: CsvRow[] = others > 0 ? [['Others', null, others, shareText(others, total)]] : []
  return [['Link', 'Title', 'Clicks', 'Share'], ...rows, ...rest]
}

const prepositions: Readonly<Partial<Record<Subject['level'], string>>> = { space: 'in', tag: 'on links with the tag' }

/** Renders "Clicks on go.acme.com", followed by `detail`. The subject is a link to its page in the same period. */
function introduction({ statistics: { subject, path, reading }, name }: NamedStatistics, detail: Part): Html {
  const where = name === null ? 'all links' : html`<bdi>${name}</bdi>`
  const link = html`<a href="${path}?${periodQuery(reading.period)}">${where}</a>`
  return html`<p class="muted">Clicks ${prepositions[subject.level] ?? 'on'} ${link}${detail}.</p>`
}

/** The number of links whose days are read, most clicked first, and the number of their days. Reading takes up to a second. */
const [maxLinks, maxLinkDays] = [100, 18_300]

/** Returns the requested referrer; null for direct clicks and unknown referrers. */
function requestedReferrer({ exchange }: PageRequest): string | null {
  const host = referrerIn(exchange.params.host ?? '')
  if (host === undefined) throw new Failure('route_not_found', 'Page not found.')
  return host
}

/** Searches the most clicked links for clicks from the referrer. Returns these links, and the clicks of all others. */
async function clicksFrom(host: string | null, { source }: Statistics, { range }: Period) {
  const [links, referrers] = [
    await readRanking(...source, range, 'links'),
    await readRanking(...source, range, 'referrers'),
  ]
  const limit = Math.min(maxLinks, Math.floor(maxLinkDays / (range.to - range.from + 1)))
  const top = await links.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit })
  const [db, account] = source
  const values = await linksOfReferrer(db, account, idsIn(top), range, host)
  const found = values.reduce((sum, { clicks }) => sum + clicks, 0)
  // A group's days can name fewer values than the days of its links.
  const others = Math.max(0, referrers.countClicks(host) - found)
  return { values, others, total: found + others, limit: links.size > limit ? limit : null }
}

/** Shows the links visited from a referrer. */
async function linksPage(named: NamedStatistics, host: string | null): Promise<PageContent> {
  const { statistics, section } = named
  const { reading, calendar, status } = statistics
  const path = String(referrerPath(statistics.path, host))
  const { values, others, total, limit } = await clicksFrom(host, statistics, reading.period)
  const rows = await rowsOf(statistics, 'links', values)
  const rest = others > 0 ? [{ label: 'Others', clicks: others }] : []
  const list = { name: 'links', caption: 'Links', rows: [...rows, ...rest], most: rows[0]?.clicks ?? 0, total } as const
  const shown = total > 0 ? await valueTable(list) : html`<p class="muted">No clicks in this period.</p>`
  const limited =
    limit === null
      ? null
      : `Only the ${formatCount(limit)} links with the most clicks in this period were searched. Others counts the rest. `
  const body = html`${introduction(named, host === null ? ' without a known referrer' : html` from <bdi>${host}</bdi>`)}
${periodBar({ reading, path, file: `${path}.csv`, isCompared: false })}
${shown}
<p class="muted small">${limited}${timeZoneText(calendar)}</p>`
  const title = host === null ? 'Links visited directly or from unknown pages' : `Links visited from ${host}`
  return { title, section, body, status }
}

async function sendLinks(named: NamedStatistics, host: string | null, exchange: Exchange): Promise<HandlerResult> {
  const { statistics, fileName } = named
  const { values, others } = await clicksFrom(host, statistics, statistics.validPeriod())
  const name = `${fileName}${(host ?? 'direct').replaceAll(/[[\]:]+/g, '-')}-links.csv`
  return sendCsv(exchange, name, await fileOfLinks(statistics, values, others))
}
