/** The list of links: search, filters, order, and actions on selected links. */

import { today } from '../../analytics/calendar.ts'
import { dailyClicksOf } from '../../analytics/statistics/statistics.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { type Status, statuses } from '../../links/link.ts'
import { type Link, linkOf, listLinksQuery } from '../../links/schema.ts'
import { findLink, listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { Space } from '../../spaces/schema.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { sparkline } from '../charts/small-charts.ts'
import { type Choices, domainChoice, loadChoices, spaceChoice } from '../choices.ts'
import { attempt, Rejection } from '../form-state.ts'
import { emptyPageMessage, ListState } from '../list-state.ts'
import type { Notice } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../pages.ts'
import { hiddenFields, linkButton, menu, submitButton } from '../parts/buttons.ts'
import { type Choice, optionsOf } from '../parts/fields.ts'
import { formatCount, quantity, timeAgo } from '../parts/format.ts'
import { destination, shortUrlLink, shortUrlText, spaceLabel, statusBadge, truncateMiddle } from '../parts/links.ts'
import { filterBar, pagination, resultCount } from '../parts/list-controls.ts'
import { emptyState } from '../parts/messages.ts'
import { longTable, selectable, selectRow } from '../parts/table.ts'
import { linkListReturnPath } from '../return-path.ts'
import { deleteManyPage, type LinkServices } from './link.ts'

const home = '/app/links'
/** The number of days in the sparkline and in the click count of a row. */
const recentDays = 30

/** Adds `/app/links`. */
export function addLinkListPage(pages: Pages, storage: Storage, shortUrl: ShortUrl): void {
  pages.get(home, async ({ account, query }) => {
    const list = new ListState(home, query, listLinksQuery, resources.links)
    const { rows, ...counts } = await listLinks(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const chosen = { domains: [query.domain_id], spaces: [query.space_id, ...rows.map(({ space_id }) => space_id)] }
    const [choices, daily] = await Promise.all([
      loadChoices(storage, account, chosen),
      dailyClicksOf(storage, account, ids, { from: today() - recentDays + 1, to: today() }),
    ])
    const spaces = new Map(choices.spaces.map((space) => [space.id, space]))
    const lines = rows.map((row) => ({
      link: linkOf(row, shortUrl),
      space: spaces.get(row.space_id ?? 0),
      daily: daily.get(row.id) ?? [],
    }))
    return listPage(list, { rows: lines, ...counts }, choices)
  })
}

interface Row {
  readonly link: Link
  readonly space: Space | undefined
  /** Human clicks on each of the last days. */
  readonly daily: readonly number[]
}

async function listPage(list: ListState, page: Page<Row>, choices: Choices): Promise<PageContent> {
  const action = linkButton({ label: 'New link', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  const isWhole = activeFilters(list, choices).length === 0 && list.query.search === null
  if (page.total === 0 && isWhole) return emptyPage(choices, action)
  const body = html`${filters(list, choices)}
<div id="results" class="results">${await results(list, page, choices)}</div>`
  return { title: 'Links', place: 'links', action, body }
}

function emptyPage({ domains }: Choices, action: Html): PageContent {
  const first =
    domains.length === 0
      ? emptyState({
          title: 'Add a domain first',
          why: 'Every short link begins with a domain that you own, such as go.example.com.',
          action: linkButton({ label: 'Add a domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' }),
        })
      : emptyState({
          title: 'No links yet',
          why: 'A link redirects a short URL on your domain to any page.',
          action,
        })
  return { title: 'Links', place: 'links', body: first }
}

const statusLabels: Readonly<Record<Status, string>> = {
  active: 'Active',
  scheduled: 'Scheduled',
  expired: 'Expired',
  disabled: 'Disabled',
}

function filters(list: ListState, { domains, spaces }: Choices): Html {
  const any = (label: string): Choice => ({ value: '', label })
  return filterBar({
    action: home,
    search: { name: 'search', label: 'Search links', value: list.query.search ?? '' },
    filters: [
      {
        name: 'domain_id',
        label: 'Domain',
        value: list.filterValue('domain_id'),
        options: [any('All domains'), ...domains.map(domainChoice)],
      },
      {
        name: 'space_id',
        label: 'Space',
        value: list.filterValue('space_id'),
        options: [any('All spaces'), { value: '0', label: 'No space' }, ...spaces.map(spaceChoice)],
      },
      {
        name: 'status',
        label: 'State',
        value: list.filterValue('status'),
        options: [any('Any state'), ...statuses.map((status) => ({ value: status, label: statusLabels[status] }))],
      },
    ],
    preserved: Object.fromEntries(
      ['sort_by', 'sort'].flatMap((name) => (list.filterValue(name) === '' ? [] : [[name, list.filterValue(name)]])),
    ),
    results: 'results',
  })
}

/** Returns the labels of the active filters, without the search. */
function activeFilters(list: ListState, { domains, spaces }: Choices): string[] {
  const [domain, space, status] = ['domain_id', 'space_id', 'status'].map((name) => list.filterValue(name))
  const spaceWords = space === '0' ? 'No space' : spaces.find(({ id }) => String(id) === space)?.name
  const all = [
    domain && (domains.find(({ id }) => String(id) === domain)?.name_unicode ?? `Domain ${domain}`),
    space && (spaceWords ?? `Space ${space}`),
    status && statusLabels[status as Status],
  ]
  return all.flatMap((words) => words || [])
}

const noFilters = { domain_id: null, space_id: null, status: null }

async function results(list: ListState, page: Page<Row>, choices: Choices): Promise<Html> {
  const { rows, total, totalIsExact } = page
  const filters = activeFilters(list, choices)
  const isNarrowed = filters.length > 0 || list.query.search !== null
  const clear = isNarrowed ? list.href({ search: null, ...noFilters }) : null
  if (rows.length === 0) return list.page === 1 ? noMatch(list, filters) : emptyPageMessage(list)
  const pages = { page: list.page, perPage: list.query.per_page, total, totalIsExact }
  const found = resultCount(`${totalIsExact ? '' : 'More than '}${quantity(total, 'link')}`, clear)
  return html`${found}${selectable(`${home}/selected`, await linkTable(rows, list), selectedActions(choices, list))}
${pagination({ ...pages, href: (page) => list.pageHref(page) })}`
}

/** Renders the empty result of a search or filter, with next steps. */
function noMatch(list: ListState, filters: readonly string[]): Html {
  const { search } = list.query
  const among = `Only links with these filters were searched: ${filters.join(', ')}.`
  const why = filters.length > 0 ? among : 'The search covers aliases, titles and destinations.'
  const action = html`<div class="actions">
${search === null ? null : linkButton({ label: 'Clear search', href: list.href({ search: null }) })}
${filters.length === 0 ? null : linkButton({ label: 'Clear filters', href: list.href(noFilters) })}
${linkButton({ label: 'New link', href: `${home}/new` })}</div>`
  const title = search === null ? 'No link matches the filters' : `No link matches “${truncateMiddle(search, 60)}”`
  return emptyState({ title, why, action })
}

function linkTable(rows: readonly Row[], list: ListState): Promise<Html> {
  const now = Date.now()
  const { sort_by, sort } = list.query
  return longTable({
    caption: 'Links',
    rows,
    columns: [
      { label: 'Select', kind: 'select', cell: ({ link }: Row) => selectRow(link.id, shortUrlText(link.short_url)) },
      { label: 'Link', kind: 'lead', sortBy: 'alias', cell: ({ link }) => linkCell(link) },
      {
        label: 'Space',
        width: 'large',
        leaves: 1,
        isPlain: true,
        cell: ({ space }) => (space === undefined ? null : spaceLabel(space)),
      },
      {
        label: `Clicks in ${recentDays} days`,
        kind: 'number',
        width: 'large',
        isPlain: true,
        cell: ({ daily }) => recentClicks(daily),
      },
      {
        label: 'All clicks',
        kind: 'number',
        leaves: 2,
        sortBy: 'clicks',
        cell: ({ link }) => formatCount(link.clicks),
      },
      { label: 'Created', leaves: 3, sortBy: 'id', cell: ({ link }) => timeAgo(link.created_at, now) },
      { label: 'Actions', kind: 'menu', cell: ({ link }) => rowMenu(link, list) },
    ],
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function linkCell({ id, short_url, title, url, status }: Link): Html {
  const heading = title === null ? null : html`<bdi class="title">${title}</bdi> `
  return html`${shortUrlLink({ shortUrl: short_url, href: `${home}/${id}`, coversRow: true })}
<span class="leads">${statusBadge(status)}${heading}${destination(url, 60)}</span>`
}

function recentClicks(daily: readonly number[]): Part {
  const clicks = daily.reduce((sum, each) => sum + each, 0)
  const words = ` ${clicks === 1 ? 'click' : 'clicks'} in ${recentDays} days`
  return html`<span class="trend">${sparkline(daily)}<span>${formatCount(clicks)}<span class="in-block">${words}</span></span></span>`
}

function rowMenu({ id, short_url, disabled }: Link, list: ListState): Html {
  const state = disabled ? ({ label: 'Enable', icon: 'done' } as const) : ({ label: 'Disable', icon: 'off' } as const)
  const remove = list.currentHref === home ? '' : `?${new URLSearchParams({ next: list.currentHref })}`
  return menu(`menu-${id}`, `Actions for ${shortUrlText(short_url)}`, [
    { label: 'Edit', href: `${home}/${id}/edit`, icon: 'edit' },
    { label: 'QR code', href: `${home}/${id}#qr`, icon: 'qr' },
    { ...state, href: `${home}/${id}/${disabled ? 'enable' : 'disable'}`, fields: { next: list.currentHref } },
    { label: 'Delete', href: `${home}/${id}/delete${remove}`, icon: 'remove', isDangerous: true, inDialog: true },
  ])
}

function selectedActions({ spaces }: Choices, list: ListState): Html {
  const what = (value: string, label: string, weight: 'plain' | 'danger' = 'plain') =>
    submitButton({ name: 'what', value, label, weight, needsNothing: value !== 'move' })
  const options = [{ value: '', label: 'Move to…' }, { value: noSpace, label: 'No space' }, ...spaces.map(spaceChoice)]
  return html`${hiddenFields({ next: list.currentHref })}${what('enable', 'Enable')}${what('disable', 'Disable')}
<label class="hidden-text" for="move-to">Space</label><select id="move-to" name="space_id" required>${optionsOf(options, '')}</select>${what('move', 'Move')}
${what('delete', 'Delete', 'danger')}`
}

/** The form value for "no space"; an empty value means no choice. */
const noSpace = '0'

/** Adds `/app/links/selected`, the form for selected rows. */
export function addSelectedLinkPages(pages: Pages, services: LinkServices): void {
  const { storage, shortUrl } = services
  // Changing the color scheme on the confirmation page returns to this path.
  pages.get(`${home}/selected`, async () => new Redirect(home))

  pages.post(`${home}/selected`, async (request) => {
    const { account, fields } = request
    const ids = selectedIn(fields)
    const list = linkListReturnPath(fields.next)
    if (ids.length === 0) return new Redirect(list)
    if (fields.what !== 'delete' || fields.confirmed === 'true')
      return new Redirect(list, await applyToAll(ids, request, services))
    const links = await Promise.all(ids.map((id) => findLink(storage, account, id)))
    const existing = links.flatMap((link) => link?.record ?? [])
    return existing.length === 0 ? new Redirect(list) : deleteManyPage({ storage, account, shortUrl }, existing, list)
  })
}

/** Returns the selected ids. */
function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

/** Applies the requested action to each link. Returns a notice that counts successes and failures. */
async function applyToAll(
  ids: readonly number[],
  { account, fields }: PageRequest,
  services: LinkServices,
): Promise<Notice> {
  const { apply, notice } = actionFrom(fields, account, services)
  const done: number[] = []
  for (const id of ids) {
    try {
      if ((await apply(id)) !== false) done.push(id)
    } catch (error) {
      if (isNotFound(error)) continue
      // Completed changes must be reported, because they can be undone.
      if (done.length > 0 && error instanceof Failure) break
      throw error
    }
  }
  return notice(done, ids.length - done.length)
}

interface LinkAction {
  /** Returns false if the action was not possible. */
  readonly apply: (id: number) => Promise<unknown>
  readonly notice: (done: readonly number[], failed: number) => Notice
}

function actionFrom({ what, space_id }: Fields, account: number, { actions }: LinkServices): LinkAction {
  const change = (fields: Fields) => (id: number) => actions.change(account, id, fields, null)
  switch (what) {
    case 'enable':
      return { apply: change({ disabled: 'false' }), notice: switchNotice('enabled') }
    case 'disable':
      return { apply: change({ disabled: 'true' }), notice: switchNotice('disabled') }
    case 'move':
      return moveTo(space_id, change)
    case 'delete':
      return { apply: (id) => actions.removeForNow(account, id, null), notice: deletionNotice }
    case 'restore':
      return { apply: (id) => restoreLink(() => actions.restore(account, id)), notice: restoreNotice }
    default:
      throw new Failure(
        'malformed_body',
        'The form does not say what to do. Open the list of links, and try again there.',
      )
  }
}

function switchNotice(to: 'enabled' | 'disabled'): LinkAction['notice'] {
  return (done, failed) => {
    if (done.length === 1 && failed === 0) return { code: `link-${to}`, ids: done }
    return noticeForMany({ code: `links-${to}` }, done, failed)
  }
}

const deletionNotice: LinkAction['notice'] = (done, failed) => {
  if (done.length === 1 && failed === 0) return { code: 'link-deleted', ids: done }
  return noticeForMany({ code: 'links-deleted', ids: done }, done, failed)
}

const restoreNotice: LinkAction['notice'] = (done, failed) => {
  if (done.length === 0) return { code: 'links-not-restored', count: failed }
  return { code: 'links-restored', count: done.length, failed: failed }
}

function noticeForMany(notice: Notice, done: readonly number[], failed: number): Notice {
  return done.length === 0 ? { code: 'links-gone' } : { ...notice, count: done.length, failed: failed }
}

function moveTo(space: unknown, change: (fields: Fields) => LinkAction['apply']): LinkAction {
  if (space === undefined || space === '') {
    throw spaceViolation('required', 'Choose the space that the links move to, or “No space”.')
  }
  if (space === noSpace) {
    return { apply: change({ space_id: '' }), notice: (...of) => noticeForMany({ code: 'links-without-space' }, ...of) }
  }
  const id = positiveInteger(String(space))
  if (id === undefined) throw spaceViolation('out_of_range', 'Choose a space of the list, or “No space”.')
  const ids = [id]
  return { apply: change({ space_id: space }), notice: (...of) => noticeForMany({ code: 'links-moved', ids }, ...of) }
}

function spaceViolation(code: 'required' | 'out_of_range', message: string): Failure {
  return validationFailed([{ field: 'space_id', code, message }])
}

/** Restores a link. Returns false if it is gone for good or another link uses its alias. */
async function restoreLink(restore: () => Promise<unknown>): Promise<boolean> {
  const link = await attempt(restore)
  return link !== undefined && !(link instanceof Rejection)
}

function isNotFound(error: unknown): boolean {
  return error instanceof Failure && error.code === 'not_found'
}
