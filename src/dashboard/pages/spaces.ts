/** Spaces: the coloured groups of links. */
import { found } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import { resources } from '../../resources.ts'
import type { SpaceActions } from '../../spaces/actions.ts'
import { listSpacesQuery, type Space } from '../../spaces/schema.ts'
import { colors } from '../../spaces/space.ts'
import { findSpace, listSpaces } from '../../spaces/store.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { ListState, noRows } from '../list-page.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision, type Difference } from '../parts/collision.ts'
import { confirmation, confirmLink } from '../parts/confirm.ts'
import { emptyState } from '../parts/empty.ts'
import { textField } from '../parts/fields.ts'
import { filterBar } from '../parts/filters.ts'
import { counted } from '../parts/number.ts'
import { pagination } from '../parts/pagination.ts'
import { colorField, spaceName } from '../parts/space.ts'
import { table } from '../parts/table.ts'
import { timeAgo } from '../parts/time.ts'
import { onceField } from '../submissions.ts'
import { stillAt } from '../versions.ts'

const home = '/app/spaces'

/** `/app/spaces` and what lies below. */
export function spacePages(pages: Pages, storage: Storage, actions: SpaceActions): void {
  pages.show(home, async ({ account, query }) => {
    const list = new ListState(home, query, listSpacesQuery, resources.spaces)
    return listPage(list, await listSpaces(storage, account, list.request))
  })

  pages.show(`${home}/new`, async () => newPage(new FormState({ color: 1 })))

  pages.act(home, async ({ account, fields }) => {
    const space = await attempted(() => actions.insert(account, fields))
    if (space instanceof Refused) return { ...newPage(new FormState(fields, space.violations)), status: 422 }
    return new Next(home, { code: 'space-made' })
  })

  pages.show(`${home}/:id`, async (asked) => {
    const { record, version } = await spaceOf(asked)
    return editPage(record, new FormState({ ...record, version }))
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const { version, ...sent } = fields
    const saved = await attempted(() => actions.change(account, idOf(asked, 'space'), sent, stillAt(version)))
    if (!(saved instanceof Refused)) return new Next(home, { code: 'space-saved' })
    const now = await spaceOf(asked)
    const state = new FormState({ ...fields, version: now.version }, saved.violations)
    const clash = saved.isCollision ? collision(differences(sent, now.record)) : null
    return { ...editPage(now.record, state, clash), status: saved.isCollision ? 409 : 422 }
  })

  pages.show(`${home}/:id/delete`, async (asked) => {
    const { record } = await spaceOf(asked)
    const filter = { space_id: String(record.id), per_page: '10' }
    const { request } = new ListState('', filter, listLinksQuery, resources.links)
    return deletePage(record, await listLinks(storage, asked.account, request))
  })

  pages.act(`${home}/:id/delete`, async (asked) => {
    await actions.remove(asked.account, idOf(asked, 'space'), null)
    return new Next(home, { code: 'space-deleted' })
  })

  async function spaceOf(asked: Asked) {
    return found(await findSpace(storage, asked.account, idOf(asked, 'space')), 'space')
  }
}

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Space>): Shown {
  const { query } = list
  const action = linkButton({ label: 'New space', href: `${home}/new`, weight: 'primary', icon: 'plus' })
  if (total === 0 && query.search === null) {
    const why = 'A space groups links under a name and a colour: a campaign, a team, a client.'
    return { title: 'Spaces', place: 'spaces', body: emptyState({ title: 'No spaces yet', why, action }) }
  }
  const search = { name: 'search', label: 'Search spaces', value: query.search ?? '' }
  const kept = { sort_by: list.valueOf('sort_by'), sort: list.valueOf('sort') }
  const results =
    rows.length === 0
      ? noRows(list, 'No space has this in its name.')
      : html`${tableOf(rows, list)}
${pagination({ page: list.page, perPage: query.per_page, total, totalIsExact, href: (page) => list.pageHref(page) })}`
  const body = html`${filterBar({ action: home, search, filters: [], kept, results: 'results' })}
<div id="results" class="results">${results}</div>`
  return { title: 'Spaces', place: 'spaces', action, body }
}

function tableOf(rows: readonly Space[], list: ListState): Html {
  const { sort_by, sort } = list.query
  return table({
    caption: 'Spaces',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: (space: Space) => html`<a class="cover" href="${home}/${space.id}">${spaceName(space)}</a>`,
      },
      { label: 'Links', cell: ({ id }) => html`<a href="/app/links?space_id=${id}">Show links</a>`, isPlain: true },
      { label: 'Created', sortBy: 'id', cell: ({ created_at }) => timeAgo(created_at, Date.now()) },
    ],
    rows,
    sorting: { by: sort_by, isDescending: sort === 'desc', href: (by, isDown) => list.sortHref(by, isDown) },
  })
}

function newPage(state: FormState): Shown {
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${controls(state)}
<div class="actions">${submitButton({ label: 'Create space' })}<a class="button plain" href="${home}">Cancel</a></div></form>`
  return { title: 'New space', place: 'spaces', body }
}

function editPage(space: Space, state: FormState, clash: Html | null = null): Shown {
  const path = `${home}/${space.id}`
  const body = html`${clash}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${controls(state)}
<div class="actions">${submitButton({ label: 'Save' })}${confirmLink('Delete', `${path}/delete`)}</div></form>`
  return { title: space.name, heading: spaceName(space), place: 'spaces', body }
}

function controls(state: FormState): Html {
  const name = textField({
    name: 'name',
    label: 'Name',
    state: state.of('name'),
    hasFocus: state.of('name').value === '',
  })
  return state.withErrors(html`${name}${colorField({ name: 'color', state: state.of('color') })}`)
}

function differences(sent: Fields, stored: Space): Difference[] {
  const all = [
    { label: 'Name', yours: String(sent.name), theirs: stored.name },
    { label: 'Colour', yours: colors[Number(sent.color) - 1] ?? '', theirs: colors[stored.color - 1] ?? '' },
  ]
  return all.filter(({ yours, theirs }) => yours !== theirs)
}

function deletePage(space: Space, { total, totalIsExact }: Page<unknown>): Shown {
  const links = `${totalIsExact ? '' : 'more than '}${counted(total, 'link')}`
  const consequences =
    total === 0
      ? ['It has no links.']
      : [`Its ${links} ${total === 1 ? 'stays and goes' : 'stay and go'} on working, without a space.`]
  const body = confirmation({
    action: `${home}/${space.id}/delete`,
    consequences,
    verb: html`Delete ${space.name}`,
    cancel: `${home}/${space.id}`,
  })
  return { title: `Delete ${space.name}?`, place: 'spaces', body }
}
