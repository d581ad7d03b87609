/** Spaces: the coloured groups of links. */
import { type Html, html } from '../../http/html.ts'
import { countLinksIn } from '../../links/counts.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { SpaceActions } from '../../spaces/actions.ts'
import { listSpacesQuery, type Space } from '../../spaces/schema.ts'
import { listSpaces } from '../../spaces/store.ts'
import type { Page, Storage } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { ListState, noRows } from '../list-page.ts'
import { Next, type Pages, type Shown } from '../pages.ts'
import { linkButton, submitButton } from '../parts/buttons.ts'
import { emptyState } from '../parts/empty.ts'
import { textField } from '../parts/fields.ts'
import { filterBar } from '../parts/filters.ts'
import { linksOf } from '../parts/links-count.ts'
import { onceField } from '../parts/once.ts'
import { pagination } from '../parts/pagination.ts'
import { colorField, spaceName } from '../parts/space.ts'
import { table } from '../parts/table.ts'
import { timeAgo } from '../parts/time.ts'

const home = '/app/spaces'

export interface SpacePageParts {
  readonly storage: Storage
  readonly actions: SpaceActions
  readonly shortUrl: ShortUrl
}

/** `/app/spaces` and the form that makes one. */
export function spacePages(pages: Pages, { storage, actions }: SpacePageParts): void {
  pages.show(home, async ({ account, query }) => {
    const list = new ListState(home, query, listSpacesQuery, resources.spaces)
    const { rows, ...counted } = await listSpaces(storage, account, list.request)
    const ids = rows.map(({ id }) => id)
    const links = await countLinksIn(storage, account, 'space_id', ids)
    return listPage(list, { rows: rows.map((space) => ({ space, links: links.get(space.id) ?? 0 })), ...counted })
  })

  pages.show(`${home}/new`, async () => newPage(new FormState({ color: 1 })))

  pages.act(home, async ({ account, fields }) => {
    const space = await attempted(() => actions.insert(account, fields))
    if (space instanceof Refused) return { ...newPage(new FormState(fields, space.violations)), status: 422 }
    return new Next(`${home}/${space.record.id}`, { code: 'space-made' })
  })
}

interface Line {
  readonly space: Space
  readonly links: number
}

function listPage(list: ListState, { rows, total, totalIsExact }: Page<Line>): Shown {
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

function tableOf(rows: readonly Line[], list: ListState): Html {
  const { sort_by, sort } = list.query
  return table({
    caption: 'Spaces',
    columns: [
      {
        label: 'Name',
        kind: 'lead',
        sortBy: 'name',
        cell: ({ space }: Line) => html`<a class="cover" href="${home}/${space.id}">${spaceName(space)}</a>`,
      },
      { label: 'Links', cell: ({ space, links }) => linksOf(`space_id=${space.id}`, links), isPlain: true },
      { label: 'Created', sortBy: 'id', cell: ({ space }) => timeAgo(space.created_at, Date.now()) },
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

/** The fields of a space. */
export function controls(state: FormState): Html {
  const name = textField({
    name: 'name',
    label: 'Name',
    state: state.of('name'),
    hasFocus: state.of('name').value === '',
  })
  return state.withErrors(html`${name}${colorField({ name: 'color', state: state.of('color') })}`)
}
