/** The list of links: search, filters, order, and what can be done to many at once. */

import { dailyClicksOf } from '../../analytics/statistics/daily-clicks.ts'
import { today } from '../../analytics/statistics/day-range.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { type Status, statuses } from '../../links/link.ts'
import { type Link, listLinksQuery } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import { findLink, listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { Space } from '../../spaces/schema.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { sparkline } from '../charts/small-charts.ts'
import { type Choices, choicesOf, domainChoice, spaceChoice } from '../choices.ts'
import { attempted, Refused } from '../form-state.ts'
import { beyondLast, ListState } from '../list-state.ts'
import type { Notice } from '../notices.ts'
import { type Asked, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, menu, submitButton } from '../parts/buttons.ts'
import { type Choice, optionsOf } from '../parts/fields.ts'
import { count, counted, timeAgo } from '../parts/format.ts'
import { cutInMiddle, shortUrlOf, shortUrlText, spaceName, stateBadge, targetOf } from '../parts/links.ts'
import { filterBar, foundLine, pagination } from '../parts/list-controls.ts'
import { emptyState } from '../parts/messages.ts'
import { longTable, selectable, selectRow } from '../parts/table.ts'
import { linkListOf } from '../return-path.ts'
import { deleteManyPage, type LinkPageParts } from './link.ts'

const home = '/app/links'
/** Days that a row's line and figure span. */
const recentDays = 30

/** `/app/links`. */
export function linkListPage(pages: Pages, storage: Storage, shortUrl: ShortUrl): void {
  pages.show(home, async ({ account, query }) => {
    const list = new ListState(home, query, listLinksQuery, resources.links)
    const { rows, ...counts } = await listLinks(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const chosen = { domains: [query.domain_id], spaces: [query.space_id, ...rows.map(({ space_id }) => space_id)] }
    const [choices, daily] = await Promise.all([
      choicesOf(storage, account, chosen),
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

interface Line {
  readonly link: Link
  readonly space: Space | undefined
  /** Clicks of people on each of the last days. */
  readonly daily: readonly number[]
}

async function listPage(list: ListState, page: Page<Line>, choices: Choices): Promise<Shown> {
  const action = linkButton({ label: 'New link', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  const isWhole = filtersIn(list, choices).length === 0 && list.query.search === null
  if (page.total === 0 && isWhole) return emptyPage(choices, action)
  const body = html`${filters(list, choices)}
<div id="results" class="results">${await results(list, page, choices)}</div>`
  return { title: 'Links', place: 'links', action, body }
}

function emptyPage({ domains }: Choices, action: Html): Shown {
  const first =
    domains.length === 0
      ? emptyState({
          title: 'Add a domain first',
          why: 'Every short link begins with a domain that you own, such as go.example.com.',
          action: linkButton({ label: 'Add a domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' }),
        })
      : emptyState({
          title: 'No links yet',
          why: 'A link leads from a short address on your domain to any page.',
          action,
        })
  return { title: 'Links', place: 'links', body: first }
}

const stateWords: Readonly<Record<Status, string>> = {
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
        value: list.valueOf('domain_id'),
        options: [any('All domains'), ...domains.map(domainChoice)],
      },
      {
        name: 'space_id',
        label: 'Space',
        value: list.valueOf('space_id'),
        options: [any('All spaces'), { value: '0', label: 'No space' }, ...spaces.map(spaceChoice)],
      },
      {
        name: 'status',
        label: 'State',
        value: list.valueOf('status'),
        options: [any('Any state'), ...statuses.map((status) => ({ value: status, label: stateWords[status] }))],
      },
    ],
    kept: Object.fromEntries(
      ['sort_by', 'sort'].flatMap((name) => (list.valueOf(name) === '' ? [] : [[name, list.valueOf(name)]])),
    ),
    results: 'results',
  })
}

/** What narrows the list beside the search, in words. */
function filtersIn(list: ListState, { domains, spaces }: Choices): string[] {
  const [domain, space, status] = ['domain_id', 'space_id', 'status'].map((name) => list.valueOf(name))
  const spaceWords = space === '0' ? 'No space' : spaces.find(({ id }) => String(id) === space)?.name
  const all = [
    domain && (domains.find(({ id }) => String(id) === domain)?.name_unicode ?? `Domain ${domain}`),
    space && (spaceWords ?? `Space ${space}`),
    status && stateWords[status as Status],
  ]
  return all.flatMap((words) => words || [])
}

const noFilters = { domain_id: null, space_id: null, status: null }

async function results(list: ListState, page: Page<Line>, choices: Choices): Promise<Html> {
  const { rows, total, totalIsExact } = page
  const filters = filtersIn(list, choices)
  const isNarrowed = filters.length > 0 || list.query.search !== null
  const clear = isNarrowed ? list.href({ search: null, ...noFilters }) : null
  if (rows.length === 0) return list.page === 1 ? noMatch(list, filters) : beyondLast(list)
  const pages = { page: list.page, perPage: list.query.per_page, total, totalIsExact }
  const found = foundLine(`${totalIsExact ? '' : 'More than '}${counted(total, 'link')}`, clear)
  return html`${found}${selectable(`${home}/selected`, await tableOf(rows, list), selectedActions(choices, list))}
${pagination({ ...pages, href: (page) => list.pageHref(page) })}`
}

/** Stands where nothing was found: what was asked for, and the ways on. */
function noMatch(list: ListState, filters: readonly string[]): Html {
  const { search } = list.query
  const among = `Only links with these filters were searched: ${filters.join(', ')}.`
  const why = filters.length > 0 ? among : 'The search looks at aliases, titles, and the addresses that links lead to.'
  const action = html`<div class="actions">
${search === null ? null : linkButton({ label: 'Clear search', href: list.href({ search: null }) })}
${filters.length === 0 ? null : linkButton({ label: 'Clear filters', href: list.href(noFilters) })}
${linkButton({ label: 'New link', href: `${home}/new` })}</div>`
  const title = search === null ? 'No link matches the filters' : `No link matches “${cutInMiddle(search, 60)}”`
  return emptyState({ title, why, action })
}

function tableOf(rows: readonly Line[], list: ListState): Promise<Html> {
  const now = Date.now()
  const { sort_by, sort } = list.query
  return longTable({
    caption: 'Links',
    rows,
    columns: [
      { label: 'Select', kind: 'select', cell: ({ link }: Line) => selectRow(link.id, shortUrlText(link.short_url)) },
      { label: 'Link', kind: 'lead', sortBy: 'alias', cell: ({ link }) => nameOf(link) },
      {
        label: 'Space',
        width: 'large',
        leaves: 1,
        isPlain: true,
        cell: ({ space }) => (space === undefined ? null : spaceName(space)),
      },
      {
        label: `Clicks in ${recentDays} days`,
        kind: 'number',
        width: 'large',
        isPlain: true,
        cell: ({ daily }) => recent(daily),
      },
      { label: 'All clicks', kind: 'number', leaves: 2, sortBy: 'clicks', cell: ({ link }) => count(link.clicks) },
      { label: 'Created', leaves: 3, sortBy: 'id', cell: ({ link }) => timeAgo(link.created_at, now) },
      { label: 'Actions', kind: 'menu', cell: ({ link }) => menuOf(link, list) },
    ],
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function nameOf({ id, short_url, title, url, status }: Link): Html {
  const heading = title === null ? null : html`<bdi class="title">${title}</bdi> `
  return html`${shortUrlOf({ shortUrl: short_url, href: `${home}/${id}`, coversRow: true })}
<span class="leads">${stateBadge(status)}${heading}${targetOf(url, 60)}</span>`
}

function recent(daily: readonly number[]): Part {
  const clicks = daily.reduce((sum, each) => sum + each, 0)
  const words = ` ${clicks === 1 ? 'click' : 'clicks'} in ${recentDays} days`
  return html`<span class="trend">${sparkline(daily)}<span>${count(clicks)}<span class="in-block">${words}</span></span></span>`
}

function menuOf({ id, short_url, disabled }: Link, list: ListState): Html {
  const state = disabled ? ({ label: 'Enable', icon: 'done' } as const) : ({ label: 'Disable', icon: 'off' } as const)
  const remove = list.here === home ? '' : `?${new URLSearchParams({ next: list.here })}`
  return menu(`menu-${id}`, `Actions for ${shortUrlText(short_url)}`, [
    { label: 'Edit', href: `${home}/${id}/edit`, icon: 'edit' },
    { label: 'QR code', href: `${home}/${id}#qr`, icon: 'qr' },
    { ...state, href: `${home}/${id}/${disabled ? 'enable' : 'disable'}`, fields: { next: list.here } },
    { label: 'Delete', href: `${home}/${id}/delete${remove}`, icon: 'remove', isDangerous: true, inDialog: true },
  ])
}

function selectedActions({ spaces }: Choices, list: ListState): Html {
  const what = (value: string, label: string, weight: 'plain' | 'danger' = 'plain') =>
    submitButton({ name: 'what', value, label, weight, needsNothing: value !== 'move' })
  const options = [{ value: '', label: 'Move to…' }, { value: noSpace, label: 'No space' }, ...spaces.map(spaceChoice)]
  return html`${hiddenFields({ next: list.here })}${what('enable', 'Enable')}${what('disable', 'Disable')}
<label class="hidden-text" for="move-to">Space</label><select id="move-to" name="space_id" required>${optionsOf(options, '')}</select>${what('move', 'Move')}
${what('delete', 'Delete', 'danger')}`
}

/** What the choice of a space sends for none; empty stands for no choice. */
export const noSpace = '0'

/** `/app/links/selected`: the form of the list. */
export function selectedLinkPages(pages: Pages, parts: LinkPageParts): void {
  const { storage, shortUrl } = parts
  // Where a choice of colours leads back to from the question whether to delete them.
  pages.show(`${home}/selected`, async () => new Next(home))

  pages.act(`${home}/selected`, async (asked) => {
    const { account, fields } = asked
    const ids = selectedIn(fields)
    const list = linkListOf(fields.next)
    if (ids.length === 0) return new Next(list)
    if (fields.what !== 'delete' || fields.confirmed === 'true') return new Next(list, await doneTo(ids, asked, parts))
    const links = await Promise.all(ids.map((id) => findLink(storage, account, id)))
    const there = links.flatMap((link) => link?.record ?? [])
    return there.length === 0 ? new Next(list) : deleteManyPage({ storage, account, shortUrl }, there, list)
  })
}

/** The links whose boxes are checked. */
function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

/** Does what the pressed button says, to each. Returns what to say of those to which it was done, and of the others. */
async function doneTo(ids: readonly number[], { account, fields }: Asked, parts: LinkPageParts): Promise<Notice> {
  const { act, notice } = workOf(fields, account, parts)
  const done: number[] = []
  for (const id of ids) {
    try {
      if ((await act(id)) !== false) done.push(id)
    } catch (error) {
      if (isGone(error)) continue
      // What is done already must be told, and can be undone.
      if (done.length > 0 && error instanceof Failure) break
      throw error
    }
  }
  return notice(done, ids.length - done.length)
}

interface Work {
  /** False if it could not be done to the link. */
  readonly act: (id: number) => Promise<unknown>
  readonly notice: (done: readonly number[], others: number) => Notice
}

function workOf({ what, space_id }: Fields, account: number, { actions }: LinkPageParts): Work {
  const change = (fields: Fields) => (id: number) => actions.change(account, id, fields, null)
  switch (what) {
    case 'enable':
      return { act: change({ disabled: 'false' }), notice: switched('enabled') }
    case 'disable':
      return { act: change({ disabled: 'true' }), notice: switched('disabled') }
    case 'move':
      return moveTo(space_id, change)
    case 'delete':
      return { act: (id) => actions.removeForNow(account, id, null), notice: deleted }
    case 'restore':
      return { act: (id) => isBack(() => actions.restore(account, id)), notice: restored }
    default:
      throw new Failure(
        'malformed_body',
        'The form does not say what to do. Open the list of links, and try again there.',
      )
  }
}

function switched(to: 'enabled' | 'disabled'): Work['notice'] {
  return (done, others) => {
    if (done.length === 1 && others === 0) return { code: `link-${to}`, ids: done }
    return toMany({ code: `links-${to}` }, done, others)
  }
}

const deleted: Work['notice'] = (done, others) => {
  if (done.length === 1 && others === 0) return { code: 'link-deleted', ids: done }
  return toMany({ code: 'links-deleted', ids: done }, done, others)
}

const restored: Work['notice'] = (done, others) => {
  if (done.length === 0) return { code: 'links-lost', number: others }
  return { code: 'links-restored', number: done.length, others }
}

function toMany(notice: Notice, done: readonly number[], others: number): Notice {
  return done.length === 0 ? { code: 'links-gone' } : { ...notice, number: done.length, others }
}

function moveTo(space: unknown, change: (fields: Fields) => Work['act']): Work {
  if (space === undefined || space === '') {
    throw refusedSpace('required', 'Choose the space that the links move to, or “No space”.')
  }
  if (space === noSpace) {
    return { act: change({ space_id: '' }), notice: (...of) => toMany({ code: 'links-taken-out' }, ...of) }
  }
  const id = positiveInteger(String(space))
  if (id === undefined) throw refusedSpace('out_of_range', 'Choose a space of the list, or “No space”.')
  const ids = [id]
  return { act: change({ space_id: space }), notice: (...of) => toMany({ code: 'links-moved', ids }, ...of) }
}

function refusedSpace(code: 'required' | 'out_of_range', message: string): Failure {
  return validationFailed([{ field: 'space_id', code, message }])
}

/** Whether the link is back; false as well if another has its alias. */
async function isBack(restore: () => Promise<unknown>): Promise<boolean> {
  const link = await attempted(restore)
  return link !== undefined && !(link instanceof Refused)
}

function isGone(error: unknown): boolean {
  return error instanceof Failure && error.code === 'not_found'
}
