import { calendarOf, recentDays } from '../../accounts/calendar.ts'
import { readDailyClicks } from '../../analytics/recent-clicks.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { icon } from '../../frame/icons.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { capitalize, formatCount, quantity } from '../../lib/format.ts'
import { endingDays, idleDays, maxTags, statuses } from '../../links/link.ts'
import { listWithExactFirst } from '../../links/link-list.ts'
import { findNearestLink } from '../../links/nearest-alias.ts'
import { type Link, type LinkRow, linkOf } from '../../links/schema.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { Space } from '../../spaces/schema.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { listTagsQuery, type Tag } from '../../tags/schema.ts'
import { findTagByName, tagRecords } from '../../tags/store.ts'
import { sparkline } from '../charts/small-charts.ts'
import { type Choices, domainChoice, loadChoices, loadTagNames, namesIn, noSpace, spaceChoice } from '../choices.ts'
import { countArchived, fingerprint, linkFileHref, linkListState } from '../link-list.ts'
import { type Filter, filterBar, ListState, requestsOf, selectFilter, tagsFilter } from '../lists.ts'
import type { PageContent, Pages } from '../page.ts'
import {
  actionRow,
  controlFor,
  hiddenFields,
  linkButton,
  type MenuItem,
  menu,
  menuForm,
  type Viewer,
} from '../parts/buttons.ts'
import type { Choice } from '../parts/fields.ts'
import { listed, timeAgo } from '../parts/format.ts'
import { matchingBox, newLinkActions, selectedActions, settingItems } from '../parts/link-actions.ts'
import {
  destination,
  recentClickCount,
  shortUrlLink,
  shortUrlText,
  spaceLabel,
  statusBadge,
  truncateMiddle,
} from '../parts/links.ts'
import { addDomainFirst, emptyState } from '../parts/messages.ts'
import { longTable, selectable, selectRow } from '../parts/table.ts'

const home = '/app/links'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
}

export function addLinkListPages(pages: Pages, services: Services): void {
  const { storage, shortUrl } = services
  pages.get(home, 'links:read', async ({ account, actor, session, query: given }) => {
    const tagFilter = await readTagFilter(storage, account, given)
    const { query } = tagFilter
    const today = calendarOf(session.account.time_zones).today()
    const list = linkListState(home, query)
    const isKnown = tagFilter.unknown === null
    const { rows, ...counts } = isKnown ? await listWithExactFirst(storage, account, list.request) : nothing
    const ids = rows.map(({ id }) => id)
    const chosen = { domains: [query.domain_id], spaces: [query.space_id, ...rows.map(({ space_id }) => space_id)] }
    const [archived, choices, tagNames, daily] = await Promise.all([
      isKnown ? countArchived(storage, account, list) : 0,
      loadChoices(storage, account, chosen),
      loadTagNames(storage, account),
      readDailyClicks(storage, account, ids, { from: today - recentDays + 1, to: today }),
    ])
    const spaces = new Map(choices.spaces.map((space) => [space.id, space]))
    const lines = rows.map((row) => ({
      link: linkOf(row, shortUrl),
      space: spaces.get(row.space_id ?? 0) ?? null,
      daily: daily.get(row.id) ?? [],
    }))
    const isUnmatched = isKnown && rows.length === 0 && list.page === 1 && list.query.search !== null
    const near = isUnmatched ? await findNearestLink(storage, account, list.request) : undefined
    const shown = { ...choices, tagNames, tagFilter }
    return listPage(list, { rows: lines, ...counts }, shown, { actor, archived, near: near && linkOf(near, shortUrl) })
  })
}

/** A filter by tags, whose names people type. */
interface TagFilter {
  /** The query of the list, with ids instead of names. */
  readonly query: Fields
  /** The names with commas between them. */
  readonly text: string
  /** A name without a tag; empty for an id without a tag; null if there is none. */
  readonly unknown: string | null
  /** Tags whose names contain the unknown name. */
  readonly similar: readonly Tag[]
}

/** Reads the filter by tags of a list of links: `tags` with names, or `tag_id` with ids. */
async function readTagFilter(storage: Storage, account: number, given: Fields): Promise<TagFilter> {
  const { tags: typed, ...query } = given
  const isTyped = typeof typed === 'string'
  // One more than allowed, so that the query is rejected.
  const values = namesIn(String((isTyped ? typed : query.tag_id) ?? '')).slice(0, maxTags + 1)
  const found = await Promise.all(
    values.map(async (value) =>
      isTyped
        ? findTagByName(storage, account, value)
        : (await tagRecords.find(storage, account, positiveInteger(value) ?? 0))?.record,
    ),
  )
  const known = found.filter((tag) => tag !== undefined)
  const missing = values.find((_, at) => found[at] === undefined)
  const search = missing === undefined || !isTyped ? null : missing.slice(0, maxSearched)
  return {
    query: isTyped ? { ...query, tag_id: known.map(({ id }) => id).join() } : query,
    text: isTyped ? typed.trim() : known.map(({ name }) => name).join(', '),
    unknown: missing === undefined ? null : isTyped ? missing : '',
    similar: search === null ? [] : await tagsLike(storage, account, search),
  }
}

const maxSearched = 50

async function tagsLike(storage: Storage, account: number, search: string): Promise<readonly Tag[]> {
  const given = { search, sort_by: 'name', sort: 'asc', per_page: '10' }
  const { request } = new ListState('', given, listTagsQuery, requestsOf(resources.tags))
  return (await tagRecords.list(storage, account, request)).rows
}

const nothing: Page<LinkRow> = { rows: [], total: 0, totalIsExact: true }

interface ListChoices extends Choices {
  /** The names that the filter by tags suggests. */
  readonly tagNames: readonly string[]
  readonly tagFilter: TagFilter
}

interface Row {
  readonly link: Link
  readonly space: Space | null
  /** Human clicks on each of the last days. */
  readonly daily: readonly number[]
}

interface Shown {
  readonly actor: Viewer
  /** How many archived links match, which the list leaves out. */
  readonly archived: number
  /** The link that an unmatched search probably means. */
  readonly near: Link | undefined
}

async function listPage(list: ListState, page: Page<Row>, choices: ListChoices, others: Shown): Promise<PageContent> {
  const { actor, archived } = others
  const shown = { title: 'Links', section: 'links' } as const
  const action = newLinkActions(actor)
  const filters = filtersFor(list, choices)
  const labels = filters.flatMap(({ label }) => label ?? [])
  const isWhole = labels.length === 0 && list.query.search === null && choices.tagFilter.unknown === null
  if (page.total === 0 && isWhole && archived === 0) {
    if (choices.domains.length === 0) return { ...shown, body: addDomainFirst(actor) }
    const why = 'A link redirects a short URL on your domain to any page.'
    return { ...shown, body: emptyState({ title: 'No links yet', why, action }) }
  }
  const body = html`${filterBar(list, 'Search links', filters)}
<div id="results" class="results">${page.rows.length === 0 ? noRows(list, labels, choices.tagFilter, others) : await results(list, page, labels, others)}</div>`
  return { ...shown, action, body }
}

function filtersFor(list: ListState, { domains, spaces, tagNames, tagFilter: { text } }: ListChoices): Filter[] {
  const any = (label: string): Choice => ({ value: '', label })
  const withoutSpace = { value: noSpace, label: 'No space' }
  const states = statuses.map((value) => ({ value, label: capitalize(value) }))
  const activities = [
    { value: 'idle', label: `No clicks in ${idleDays} days` },
    { value: 'ending', label: `Ends within ${endingDays} days` },
  ]
  return [
    selectFilter(list, 'domain_id', 'Domain', [any('All domains'), ...domains.map(domainChoice)]),
    selectFilter(list, 'space_id', 'Space', [any('All spaces'), withoutSpace, ...spaces.map(spaceChoice)]),
    selectFilter(list, 'status', 'Status', [any('Any status'), ...states, ...activities]),
    ...(tagNames.length === 0 && text === '' ? [] : [tagsFilter(text, tagNames)]),
    selectFilter(list, 'archived', 'Archived links', [
      any('Unarchived'),
      { value: 'true', label: 'Archived' },
      { value: 'any', label: 'All links' },
    ]),
  ]
}

const noFilters = { domain_id: null, space_id: null, status: null, tag_id: null, archived: null }

/** Renders a link that adds the archived links to the list; null if none match. */
function archivedLink(list: ListState, archived: number): Html | null {
  return archived === 0
    ? null
    : html`<a class="small" href="${list.href({ archived: 'any' })}">and ${formatCount(archived)} archived</a>`
}

async function results(
  list: ListState,
  page: Page<Row>,
  labels: readonly string[],
  { actor, archived }: Shown,
): Promise<Html> {
  const { rows, total, totalIsExact } = page
  const isWhole = labels.length === 0 && list.query.search === null
  const everything = list.href({ search: null, ...noFilters })
  const clear = isWhole ? null : html`<a class="small" href="${everything}">Clear all</a>`
  const count = `${totalIsExact ? '' : 'More than '}${quantity(total, 'link')}`
  const file = html`<a class="small" href="${linkFileHref(list)}">Export CSV</a>`
  const found = html`<div class="found"><p data-count>${count}</p>${archivedLink(list, archived)}${clear}${file}</div>`
  const box = html`${matchingBox(total, rows.length, totalIsExact)}${archivedLink(list, archived)}`
  const matching = controlFor(actor, 'links:write', box)
  const links = rows.map(({ link }) => link)
  const listed = fingerprint(links, total)
  const actions = html`${hiddenFields({ listed })}${selectedActions(list.currentHref, actor)}`
  return html`${found}${selectable(`${home}/selected`, await linkTable(rows, list, actor), actions, matching)}
${menuForm({ next: list.currentHref })}${list.pagination(page)}`
}

function noRows(list: ListState, labels: readonly string[], tags: TagFilter, shown: Shown): Html {
  if (tags.unknown !== null) return noTag(list, tags)
  return list.page === 1 ? noMatch(list, labels, shown) : list.emptyPageMessage()
}

function noTag(list: ListState, { unknown, similar }: TagFilter): Html {
  const isNamed = unknown !== ''
  const others = similar.map(({ id, name }) => {
    const known = list.filterValue('tag_id')
    const href = list.href({ tag_id: known === '' ? String(id) : `${known},${id}` })
    return html`<a href="${href}"><bdi>${name}</bdi></a>`
  })
  const why = isNamed ? 'Separate several tags with commas.' : 'It was deleted or merged into another tag.'
  return emptyState({
    title: isNamed ? `No tag is named “${truncateMiddle(String(unknown), 60)}”` : 'This tag doesn’t exist',
    why: others.length > 0 ? html`Did you mean ${listed(others)}?` : why,
    action: html`<div class="actions">${linkButton({ label: 'Clear filters', href: list.href(noFilters) })}
${linkButton({ label: 'View tags', href: '/app/tags' })}</div>`,
  })
}

function noMatch(list: ListState, labels: readonly string[], { actor, archived, near }: Shown): Html {
  const { search } = list.query
  const filters = labels.join(', ')
  const searched = 'The search covers aliases, titles and destinations'
  const among = search === null ? `${filters}.` : `${searched} of links that match these filters: ${filters}.`
  const scope = labels.length > 0 ? among : `${searched}.`
  const suggestion =
    near && html`Did you mean <a href="${home}/${near.id}"><bdi>${shortUrlText(near.short_url)}</bdi></a>? `
  const isWhole = search === null && labels.length === 0
  const hidden = `${quantity(archived, 'archived link')} ${archived === 1 ? 'matches' : 'match'}. Lists omit them, but they still redirect.`
  const why = html`${suggestion ?? null}${isWhole ? null : scope}${archived > 0 ? ` ${hidden}` : null}`
  const action = actionRow([
    archived === 0 ? null : linkButton({ label: 'Show archived links', href: list.href({ archived: 'any' }) }),
    search === null ? null : linkButton({ label: 'Clear search', href: list.href({ search: null }) }),
    labels.length === 0 ? null : linkButton({ label: 'Clear filters', href: list.href(noFilters) }),
    controlFor(actor, 'links:write', linkButton({ label: 'New link', href: `${home}/new` })),
  ])
  const title = isWhole
    ? 'All links are archived'
    : search === null
      ? 'No links match these filters'
      : `No links match “${truncateMiddle(search, 60)}”`
  return emptyState({ title, why, action })
}

function linkTable(rows: readonly Row[], list: ListState, actor: Viewer): Promise<Html> {
  const now = Date.now()
  const isAboutLastClick = list.query.sort_by === 'last_clicked_at' || list.filterValue('status') === 'idle'
  const hasStatus = rows.some(({ link }) => statusCell(link, now) !== null)
  const hasSpace = rows.some(({ space }) => space !== null)
  return longTable({
    caption: 'Links',
    isFitted: true,
    rows,
    columns: [
      { label: 'Select', kind: 'select', cell: ({ link }: Row) => selectRow(link.id, shortUrlText(link.short_url)) },
      { label: 'Link', kind: 'lead', sortBy: 'alias', cell: ({ link }) => linkCell(link) },
      {
        label: 'Status',
        width: hasStatus ? 'large' : undefined,
        isPlain: true,
        isYielding: true,
        cell: ({ link }) => statusCell(link, now),
      },
      {
        label: 'Space',
        width: spaceWidth(rows),
        leaves: 3,
        isPlain: true,
        cell: ({ space }) => space && spaceLabel({ ...space, name: truncateMiddle(space.name, 40) }),
      },
      {
        label: `Clicks (${recentDays} days)`,
        kind: 'number',
        isPlain: true,
        sortBy: 'clicks_30d',
        cell: recentClicks,
      },
      {
        label: 'Total clicks',
        kind: 'number',
        leaves: 1,
        sortBy: 'clicks',
        cell: ({ link }) => formatCount(link.clicks),
      },
      {
        label: 'Last click',
        width: 'medium',
        leaves: isAboutLastClick ? undefined : 0,
        sortBy: 'last_clicked_at',
        cell: ({ link }) => lastClick(link, now),
      },
      {
        label: 'Created',
        width: 'medium',
        leaves: isAboutLastClick ? 0 : hasStatus && hasSpace ? 1 : 2,
        sortBy: 'id',
        cell: ({ link }) => timeAgo(link.created_at, now),
      },
      { label: 'Actions', kind: 'menu', cell: ({ link }) => rowMenu(link, list, actor) },
    ],
    sorting: list.sorting,
  })
}

/** Returns the width for the longest name on the page, so that the column does not grow while the rows arrive. */
function spaceWidth(rows: readonly Row[]) {
  const longest = Math.max(...rows.map(({ space }) => space?.name.length ?? 0))
  if (longest === 0) return undefined
  if (longest <= 6) return 'small'
  return longest <= 8 ? 'medium' : 'large'
}

/** The length of a title in a row, and of a destination after a title or without one. */
const [titleLength, afterTitle, withoutTitle] = [80, 40, 80]

function linkCell(link: Link): Html {
  const { id, short_url, title, url } = link
  const heading = title === null ? null : html`<bdi class="title">${truncateMiddle(title, titleLength, 0)}</bdi> `
  const leads = html`<span class="leads">${heading}${destination(url, title === null ? withoutTitle : afterTitle)}</span>`
  return html`${shortUrlLink(short_url, `${home}/${id}`, 'short-url cover')}<div class="second-line">${leads}${rowTags(link)}</div>`
}

/** The total length of the tags in a row. Each chip takes four characters more. */
const tagsLength = 240

/** Renders the tags of a link as chips. If they are too long, the last ones are only counted, and are on the link page. */
function rowTags({ tags }: Link): Html | null {
  if (tags.length === 0) return null
  let length = 0
  const shown = tags.filter((tag) => {
    length += tag.length + 4
    return length <= tagsLength
  })
  const more = tags.length - shown.length
  const chips = [...shown, ...(more > 0 ? [`+${more}`] : [])].map((words) => html`<li>${words}</li>`)
  return html`<ul class="chips" aria-label="Tags">${chips}</ul>`
}

function statusCell(link: Link, now: number): Html | null {
  const archived = link.archived ? html`<span class="state">${icon('archive')}Archived</span>` : null
  const status = statusBadge(link, now)
  return (archived ?? status) && html`${status}${archived}`
}

/** A line without clicks would look like progress. */
function recentClicks({ daily }: Row): Html {
  const clicks = daily.reduce((sum, each) => sum + each, 0)
  return html`<span class="trend">${clicks > 0 ? sparkline(daily) : null}<span>${recentClickCount(clicks)}</span></span>`
}

function lastClick({ last_clicked_at: at }: Link, now: number): Part {
  return at === null ? html`<span class="muted">Never</span>` : timeAgo(at, now)
}

function rowMenu(link: Link, list: ListState, actor: Viewer): Html {
  const { id, short_url } = link
  const remove = list.currentHref === home ? '' : `?${new URLSearchParams({ next: list.currentHref })}`
  const code: MenuItem = { label: 'QR code', href: `${home}/${id}#qr`, icon: 'qr' }
  const items = controlFor<MenuItem[]>(actor, 'links:write', [
    { label: 'Edit', href: `${home}/${id}/edit`, icon: 'edit' },
    code,
    { label: 'Duplicate', href: `${home}/new?copy=${id}`, icon: 'copy' },
    ...settingItems(link),
    { label: 'Delete', href: `${home}/${id}/delete${remove}`, icon: 'remove', isDangerous: true, inDialog: true },
  ])
  return menu(`menu-${id}`, `Actions for ${shortUrlText(short_url)}`, items ?? [code])
}
