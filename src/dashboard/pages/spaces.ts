/** Space pages: the list, statistics, and forms. */

import { found } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { countLinksIn, listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { SpaceActions } from '../../spaces/actions.ts'
import { listSpacesQuery, type Space } from '../../spaces/schema.ts'
import { colors } from '../../spaces/space.ts'
import { findSpace, listSpaces } from '../../spaces/store.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempt, FormState, preconditionFrom, Rejection } from '../form-state.ts'
import { ListState, noRowsMessage } from '../list-state.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../pages.ts'
import { hiddenFields, linkButton, menu, onceField, submitButton } from '../parts/buttons.ts'
import { textField } from '../parts/fields.ts'
import { quantity, timeAgo } from '../parts/format.ts'
import { colorField, linkCount, spaceLabel } from '../parts/links.ts'
import { filterBar, pagination } from '../parts/list-controls.ts'
import { confirmation, conflictMessage, type Difference, emptyState } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { groupStatistics } from '../statistics.ts'

const home = '/app/spaces'

interface SpaceServices {
  readonly storage: Storage
  readonly actions: SpaceActions
  readonly shortUrl: ShortUrl
}

/** Adds the list of spaces and the form for a new space. */
export function addSpaceListPages(pages: Pages, { storage, actions }: SpaceServices): void {
  pages.get(home, async ({ account, query }) => {
    const list = new ListState(home, query, listSpacesQuery, resources.spaces)
    const { rows, ...counted } = await listSpaces(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const links = await countLinksIn(storage, account, 'space_id', ids)
    return listPage(list, { rows: rows.map((space) => ({ space, links: links.get(space.id) ?? 0 })), ...counted })
  })

  pages.get(`${home}/new`, async () => newPage(new FormState({ color: 1 })))

  pages.post(home, async ({ account, fields }) => {
    const space = await attempt(() => actions.insert(account, fields))
    if (space instanceof Rejection) return { ...newPage(new FormState(fields, space.violations)), status: 422 }
    return new Redirect(`${home}/${space.record.id}`, { code: 'space-created' })
  })
}

interface Row {
  readonly space: Space
  readonly links: number
}

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Row>): PageContent {
  const { query } = list
  const action = linkButton({ label: 'New space', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  if (total === 0 && query.search === null) {
    const why = 'A space groups links under a name and a color: a campaign, a team, a client.'
    return { title: 'Spaces', place: 'spaces', body: emptyState({ title: 'No spaces yet', why, action }) }
  }
  const search = { name: 'search', label: 'Search spaces', value: query.search ?? '' }
  const preserved = { sort_by: list.filterValue('sort_by'), sort: list.filterValue('sort') }
  const results =
    rows.length === 0
      ? noRowsMessage(list, 'No space has this in its name.')
      : html`${spaceTable(rows, list)}
${pagination({ page: list.page, perPage: query.per_page, total, totalIsExact, href: (page) => list.pageHref(page) })}`
  const body = html`${filterBar({ action: home, search, filters: [], preserved, results: 'results' })}
<div id="results" class="results">${results}</div>`
  return { title: 'Spaces', place: 'spaces', action, body }
}

function spaceTable(rows: readonly Row[], list: ListState): Html {
  const { sort_by, sort } = list.query
  return table({
    caption: 'Spaces',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: ({ space }: Row) => html`<a class="cover" href="${home}/${space.id}">${spaceLabel(space)}</a>`,
      },
      { label: 'Links', cell: ({ space, links }) => linkCount(`space_id=${space.id}`, links), isPlain: true },
      { label: 'Created', sortBy: 'id', cell: ({ space }) => timeAgo(space.created_at, Date.now()) },
    ],
    rows,
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function newPage(state: FormState): PageContent {
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${spaceFields(state)}
<div class="actions">${submitButton({ label: 'Create space' })}<a class="button plain" href="${home}">Cancel</a></div></form>`
  return { title: 'New space', place: 'spaces', body }
}

/** Renders the name and the color. */
function spaceFields(state: FormState): Html {
  const name = textField({
    name: 'name',
    label: 'Name',
    state: state.field('name'),
    hasFocus: state.field('name').value === '',
  })
  return state.withErrors(html`${name}${colorField({ name: 'color', state: state.field('color') })}`)
}

/** Adds `/app/spaces/{id}` and the pages below it. */
export function addSpacePages(pages: Pages, { storage, actions, shortUrl }: SpaceServices): void {
  pages.get(`${home}/:id`, async (request) => {
    const { account, query } = request
    const { record } = await requestedSpace(request)
    const path = `${home}/${record.id}`
    const subject = { scope: 'space', id: record.id } as const
    const { part, status } = await groupStatistics({ db: storage, shortUrl, account, subject, query, path })
    const heading = spaceLabel(record)
    return { title: record.name, heading, place: 'spaces', action: headActions(record), body: part, status }
  })

  pages.get(`${home}/:id/edit`, async (request) => {
    const { record, version } = await requestedSpace(request)
    return editPage(record, new FormState({ ...record, version }), null)
  })

  pages.post(`${home}/:id`, async (request) => {
    const { account, fields } = request
    const { version, ...sent } = fields
    const id = idParam(request, 'space')
    const saved = await attempt(() => actions.change(account, id, sent, preconditionFrom(version)))
    if (!(saved instanceof Rejection)) return new Redirect(`${home}/${id}`, { code: 'space-saved' })
    const now = await requestedSpace(request)
    const state = new FormState({ ...fields, version: now.version }, saved.violations)
    const conflict = saved.isConflict ? conflictMessage(differences(sent, now.record)) : null
    return { ...editPage(now.record, state, conflict), status: saved.isConflict ? 409 : 422 }
  })

  pages.get(`${home}/:id/delete`, async (request) => {
    const { record } = await requestedSpace(request)
    const filter = { space_id: String(record.id), per_page: '10' }
    const list = new ListState('', filter, listLinksQuery, resources.links)
    return deletePage(record, await listLinks(storage, request.account, list.request))
  })

  pages.post(`${home}/:id/delete`, async (request) => {
    await actions.remove(request.account, idParam(request, 'space'), null)
    return new Redirect(home, { code: 'space-deleted' })
  })

  async function requestedSpace(request: PageRequest) {
    return found(await findSpace(storage, request.account, idParam(request, 'space')), 'space')
  }
}

function headActions({ id, name }: Space): Html {
  const create = `/app/links/new?space_id=${id}`
  return html`<div class="actions">${linkButton({ label: 'Show its links', href: `/app/links?space_id=${id}` })}
${linkButton({ label: 'Edit', href: `${home}/${id}/edit` })}
${linkButton({ label: 'New link', href: create, weight: 'primary', icon: 'plus' })}
${menu('space-menu', `More actions for ${name}`, [
  { label: 'Delete', href: `${home}/${id}/delete`, icon: 'remove', isDangerous: true, inDialog: true },
])}</div>`
}

function editPage(space: Space, state: FormState, conflict: Html | null): PageContent {
  const path = `${home}/${space.id}`
  const body = html`${conflict}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.field('version').value })}${spaceFields(state)}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  return { title: `Edit ${space.name}`, heading: html`Edit <bdi>${space.name}</bdi>`, place: 'spaces', body }
}

function differences(sent: Fields, stored: Space): Difference[] {
  const all = [
    { field: 'name', label: 'Name', yours: String(sent.name), theirs: stored.name },
    {
      field: 'color',
      label: 'Color',
      yours: colors[Number(sent.color) - 1] ?? '',
      theirs: colors[stored.color - 1] ?? '',
    },
  ]
  return all.filter(({ field, yours, theirs }) => sent[field] !== undefined && yours !== theirs)
}

function deletePage(space: Space, { total, totalIsExact }: Page<unknown>): PageContent {
  const links = `${totalIsExact ? '' : 'more than '}${quantity(total, 'link')}`
  const consequences =
    total === 0 ? ['It has no links.'] : [`Its ${links} ${total === 1 ? 'keeps' : 'keep'} working, without a space.`]
  const body = confirmation({
    action: `${home}/${space.id}/delete`,
    consequences,
    verb: html`Delete ${space.name}`,
    cancel: `${home}/${space.id}`,
  })
  return { title: `Delete ${space.name}?`, place: 'spaces', body }
}
