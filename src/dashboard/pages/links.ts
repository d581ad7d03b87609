import { calendarOf } from '../../analytics/calendar.ts'
import { dailyClicksOf } from '../../analytics/statistics/statistics.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { LinkActions } from '../../links/actions.ts'
import { statuses } from '../../links/link.ts'
import { findNearestLink } from '../../links/nearest-alias.ts'
import { type Link, linkOf, listLinksQuery } from '../../links/schema.ts'
import { findLink, listLinks } from '../../links/store.ts'
import { resources } from '../../resources.ts'
import type { Space } from '../../spaces/schema.ts'
import type { Page } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import { sparkline } from '../charts/small-charts.ts'
import { type Choices, domainChoice, loadChoices, spaceChoice } from '../choices.ts'
import { type Filter, filterBar, ListState } from '../lists.ts'
import type { Notice } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect, type Services } from '../pages.ts'
import { hiddenFields, linkButton, menu, submitButton } from '../parts/buttons.ts'
import { type Choice, optionsOf } from '../parts/fields.ts'
import { capitalize, formatCount, quantity, timeAgo } from '../parts/format.ts'
import { destination, shortUrlLink, shortUrlText, spaceLabel, statusBadge, truncateMiddle } from '../parts/links.ts'
import { addDomainFirst, emptyState } from '../parts/messages.ts'
import { longTable, selectable, selectRow } from '../parts/table.ts'
import { attempt } from '../record-forms.ts'
import { linkListReturnPath, undoReturnPath } from '../return-path.ts'
import { deleteManyPage } from './link.ts'

const home = '/app/links'
/** The number of days in the sparkline and in the click count of a row. */
const recentDays = 30

export function addLinkListPages(pages: Pages, services: Services): void {
  const { storage, shortUrl } = services
  pages.get(home, async ({ account, session, query }) => {
    const today = calendarOf(session.account.time_zones).today()
    const list = new ListState(home, query, listLinksQuery, resources.links)
    const { rows, ...counts } = await listLinks(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const chosen = { domains: [query.domain_id], spaces: [query.space_id, ...rows.map(({ space_id }) => space_id)] }
    const [choices, daily] = await Promise.all([
      loadChoices(storage, account, chosen),
      dailyClicksOf(storage, account, ids, { from: today - recentDays + 1, to: today }),
    ])
    const spaces = new Map(choices.spaces.map((space) => [space.id, space]))
    const lines = rows.map((row) => ({
      link: linkOf(row, shortUrl),
      space: spaces.get(row.space_id ?? 0) ?? null,
      daily: daily.get(row.id) ?? [],
    }))
    const isUnmatched = rows.length === 0 && list.page === 1 && list.query.search !== null
    const near = isUnmatched ? await findNearestLink(storage, account, list.request) : undefined
    return listPage(list, { rows: lines, ...counts }, choices, near && linkOf(near, shortUrl))
  })

  // Changing the color scheme on the confirmation page returns to this path.
  pages.get(`${home}/selected`, async () => new Redirect(home))

  pages.post(`${home}/undo`, async ({ account, fields }) => {
    const notice = await undoEdits(selectedIn(fields), account, services.actions.links)
    return new Redirect(undoReturnPath(fields.next), notice)
  })

  pages.post(`${home}/selected`, async (request) => {
    const { account, fields } = request
    const ids = selectedIn(fields)
    const list = fields.what === 'restore' ? undoReturnPath(fields.next) : linkListReturnPath(fields.next)
    if (ids.length === 0) return new Redirect(list)
    if (fields.what !== 'delete' || fields.confirmed === 'true')
      return new Redirect(list, await applyToAll(ids, request, services))
    const rows = await Promise.all(ids.map((id) => findLink(storage, account, id)))
    const links = rows.flatMap((row) => (row === undefined ? [] : linkOf(row.record, shortUrl)))
    return links.length === 0 ? new Redirect(list) : deleteManyPage(services, account, links, list)
  })
}

interface Row {
  readonly link: Link
  readonly space: Space | null
  /** Human clicks on each of the last days. */
  readonly daily: readonly number[]
}

/** `near` is the link that an unmatched search probably means. */
async function listPage(
  list: ListState,
  page: Page<Row>,
  choices: Choices,
  near: Link | undefined,
): Promise<PageContent> {
  const shown = { title: 'Links', place: 'links' } as const
  const action = linkButton({ label: 'New link', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  const filters = filtersFor(choices)
  const labels = filters.flatMap(({ name, label, options }) => {
    const chosen = list.filterValue(name)
    return chosen === '' ? [] : (options.find(({ value }) => value === chosen)?.label ?? `${label} ${chosen}`)
  })
  if (page.total === 0 && labels.length === 0 && list.query.search === null) {
    if (choices.domains.length === 0) return { ...shown, body: addDomainFirst }
    const why = 'A link redirects a short URL on your domain to any page.'
    return { ...shown, body: emptyState({ title: 'No links yet', why, action }) }
  }
  const order = ['sort_by', 'sort'].map((name) => [name, list.filterValue(name)])
  const preserved = Object.fromEntries(order.filter(([, value]) => value !== ''))
  const body = html`${filterBar(list, 'Search links', filters, preserved)}
<div id="results" class="results">${page.rows.length === 0 ? noRows(list, labels, near) : await results(list, page, labels, choices)}</div>`
  return { ...shown, action, body }
}

function filtersFor({ domains, spaces }: Choices): Filter[] {
  const any = (label: string): Choice => ({ value: '', label })
  const withoutSpace = { value: noSpace, label: 'No space' }
  const states = statuses.map((value) => ({ value, label: capitalize(value) }))
  return [
    { name: 'domain_id', label: 'Domain', options: [any('All domains'), ...domains.map(domainChoice)] },
    { name: 'space_id', label: 'Space', options: [any('All spaces'), withoutSpace, ...spaces.map(spaceChoice)] },
    { name: 'status', label: 'Status', options: [any('Any status'), ...states] },
  ]
}

const noFilters = { domain_id: null, space_id: null, status: null }

async function results(
  list: ListState,
  { rows, total, totalIsExact }: Page<Row>,
  labels: readonly string[],
  choices: Choices,
): Promise<Html> {
  const isWhole = labels.length === 0 && list.query.search === null
  const everything = list.href({ search: null, ...noFilters })
  const clear = isWhole ? null : html`<a class="small" href="${everything}">Clear all</a>`
  const count = `${totalIsExact ? '' : 'More than '}${quantity(total, 'link')}`
  const found = html`<div class="found"><p data-count>${count}</p>${clear}</div>`
  return html`${found}${selectable(`${home}/selected`, await linkTable(rows, list), selectedActions(choices, list))}
${list.pagination(total, totalIsExact)}`
}

function noRows(list: ListState, labels: readonly string[], near: Link | undefined): Html {
  return list.page === 1 ? noMatch(list, labels, near) : list.emptyPageMessage()
}

function noMatch(list: ListState, labels: readonly string[], near: Link | undefined): Html {
  const { search } = list.query
  const among = `Only links that match these filters were searched: ${labels.join(', ')}.`
  const scope = labels.length > 0 ? among : 'The search covers aliases, titles and destinations.'
  const suggestion =
    near && html`Did you mean <a href="${home}/${near.id}"><bdi>${shortUrlText(near.short_url)}</bdi></a>? `
  const why = html`${suggestion ?? null}${scope}`
  const action = html`<div class="actions">
${search === null ? null : linkButton({ label: 'Clear search', href: list.href({ search: null }) })}
${labels.length === 0 ? null : linkButton({ label: 'Clear filters', href: list.href(noFilters) })}
${linkButton({ label: 'New link', href: `${home}/new` })}</div>`
  const title = search === null ? 'No links match these filters' : `No links match “${truncateMiddle(search, 60)}”`
  return emptyState({ title, why, action })
}

function linkTable(rows: readonly Row[], list: ListState): Promise<Html> {
  const now = Date.now()
  return longTable({
    caption: 'Links',
    rows,
    columns: [
      { label: 'Select', kind: 'select', cell: ({ link }: Row) => selectRow(link.id, shortUrlText(link.short_url)) },
      { label: 'Link', kind: 'lead', sortBy: 'alias', cell: ({ link }) => linkCell(link) },
      { label: 'Space', width: 'large', leaves: 1, isPlain: true, cell: ({ space }) => space && spaceLabel(space) },
      { label: `Clicks (${recentDays} days)`, kind: 'number', width: 'large', isPlain: true, cell: recentClicks },
      {
        label: 'Total clicks',
        kind: 'number',
        leaves: 2,
        sortBy: 'clicks',
        cell: ({ link }) => formatCount(link.clicks),
      },
      { label: 'Created', leaves: 3, sortBy: 'id', cell: ({ link }) => timeAgo(link.created_at, now) },
      { label: 'Actions', kind: 'menu', cell: ({ link }) => rowMenu(link, list) },
    ],
    sorting: list.sorting,
  })
}

function linkCell({ id, short_url, title, url, status }: Link): Html {
  const heading = title === null ? null : html`<bdi class="title">${title}</bdi> `
  return html`${shortUrlLink(short_url, `${home}/${id}`, 'short-url cover')}
<span class="leads">${statusBadge(status)}${heading}${destination(url, 60)}</span>`
}

function recentClicks({ daily }: Row): Html {
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

function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

async function applyToAll(
  ids: readonly number[],
  { account, fields }: PageRequest,
  { actions }: Services,
): Promise<Notice> {
  const action = actionFrom(fields, account, actions.links)
  const done: number[] = []
  for (const id of ids) {
    try {
      if ((await action.apply(id)) !== false) done.push(id)
    } catch (error) {
      if (error instanceof Failure && error.code === 'not_found') continue
      // Completed changes must be reported, because they can be undone.
      if (done.length > 0 && error instanceof Failure) break
      throw error
    }
  }
  if (done.length > 0) return noticeFor(action, done, ids.length - done.length)
  return fields.what === 'restore' ? { code: 'links-not-restored', count: ids.length } : { code: 'links-gone' }
}

function noticeFor(action: LinkAction, done: readonly number[], failed: number): Notice {
  const { single, several, edits, space } = action
  const undoable = edits ?? done
  if (single !== undefined && done.length === 1 && failed === 0) {
    return { code: single, ids: edits === undefined ? done : [...done, ...edits] }
  }
  return { code: several, ids: space === undefined ? undoable : [space, ...undoable], count: done.length, failed }
}

interface LinkAction {
  /** Returns false if the action was not possible. */
  readonly apply: (id: number) => Promise<unknown>
  readonly single?: Notice['code']
  readonly several: Notice['code']
  /** The edits so far, with which the action can be undone. */
  readonly edits?: readonly number[]
  readonly space?: number
}

function actionFrom({ what, space_id }: Fields, account: number, links: LinkActions): LinkAction {
  const change = (fields: Fields): Pick<LinkAction, 'apply' | 'edits'> => {
    const edits: number[] = []
    const apply = async (id: number) => {
      const { edit } = await links.changeForNow(account, id, fields, null)
      if (edit !== null) edits.push(edit)
    }
    return { apply, edits }
  }
  switch (what) {
    case 'enable':
      return { ...change({ disabled: 'false' }), single: 'link-enabled', several: 'links-enabled' }
    case 'disable':
      return { ...change({ disabled: 'true' }), single: 'link-disabled', several: 'links-disabled' }
    case 'move': {
      const space = requestedSpace(space_id)
      if (space === null) return { ...change({ space_id: '' }), several: 'links-without-space' }
      return { ...change({ space_id: String(space) }), several: 'links-moved', space }
    }
    case 'delete':
      return { apply: (id) => links.removeForNow(account, id, null), single: 'link-deleted', several: 'links-deleted' }
    case 'restore':
      return {
        apply: async (id) => {
          const link = await attempt(() => links.restore(account, id))
          return link !== undefined && !(link instanceof Failure)
        },
        several: 'links-restored',
      }
    default:
      throw new Failure('malformed_body', 'The form doesn’t say what to do. Open the list of links and try again.')
  }
}

/** Undoes edits of the account's links, each unless its link has been changed since. */
async function undoEdits(edits: readonly number[], account: number, links: LinkActions): Promise<Notice> {
  const results: Notice['code'][] = []
  for (const edit of edits) {
    const link = await attempt(() => links.undoEdit(account, edit))
    if (link instanceof Failure) results.push(undoFailures[link.code] ?? 'edit-too-late')
    else results.push(link === undefined ? 'edit-too-late' : 'edits-undone')
  }
  const [only = 'edit-too-late', ...others] = results
  if (others.length === 0) return { code: only, count: 1 }
  const count = results.filter((code) => code === 'edits-undone').length
  if (count === 0) return { code: 'edits-not-undone', count: results.length }
  return { code: 'edits-undone', count, failed: results.length - count }
}

const undoFailures: Readonly<Record<string, Notice['code']>> = {
  precondition_failed: 'edit-conflict',
  alias_taken: 'edit-alias-taken',
  validation_failed: 'edit-space-deleted',
}

/** Returns the selected space; null means no space. Throws `validation_failed`. */
function requestedSpace(text: unknown): number | null {
  if (text === noSpace) return null
  const id = positiveInteger(String(text))
  if (id !== undefined) return id
  throw validationFailed([new Refusal('required.new_space').at('space_id')])
}
