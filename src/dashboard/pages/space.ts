/** One space: its statistics, and its name and colour. */
import { found } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import { resources } from '../../resources.ts'
import type { Space } from '../../spaces/schema.ts'
import { colors } from '../../spaces/space.ts'
import { findSpace } from '../../spaces/store.ts'
import type { Page } from '../../storage/port.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { groupStatistics } from '../group-statistics.ts'
import { ListState } from '../list-page.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision, type Difference } from '../parts/collision.ts'
import { confirmation } from '../parts/confirm.ts'
import { menu } from '../parts/menu.ts'
import { counted } from '../parts/number.ts'
import { spaceName } from '../parts/space.ts'
import { stillAt } from '../versions.ts'
import { controls, type SpacePageParts } from './spaces.ts'

const home = '/app/spaces'

/** `/app/spaces/{id}` and what lies below. */
export function spacePage(pages: Pages, { storage, actions, shortUrl }: SpacePageParts): void {
  pages.show(`${home}/:id`, async (asked) => {
    const { account, query } = asked
    const { record } = await spaceOf(asked)
    const path = `${home}/${record.id}`
    const subject = { scope: 'space', id: record.id } as const
    const { part, status } = await groupStatistics({ db: storage, shortUrl, account, subject, query, path })
    const heading = spaceName(record)
    return { title: record.name, heading, place: 'spaces', action: headActions(record), body: part, status }
  })

  pages.show(`${home}/:id/edit`, async (asked) => {
    const { record, version } = await spaceOf(asked)
    return editPage(record, new FormState({ ...record, version }), null)
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const { version, ...sent } = fields
    const id = idOf(asked, 'space')
    const saved = await attempted(() => actions.change(account, id, sent, stillAt(version)))
    if (!(saved instanceof Refused)) return new Next(`${home}/${id}`, { code: 'space-saved' })
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

function headActions({ id, name }: Space): Html {
  const create = `/app/links/new?space_id=${id}`
  return html`<div class="actions">${linkButton({ label: 'Show its links', href: `/app/links?space_id=${id}` })}
${linkButton({ label: 'Edit', href: `${home}/${id}/edit` })}
${linkButton({ label: 'New link', href: create, weight: 'primary', icon: 'plus' })}
${menu('space-menu', `More actions for ${name}`, [
  { label: 'Delete', href: `${home}/${id}/delete`, icon: 'remove', isDangerous: true, inDialog: true },
])}</div>`
}

function editPage(space: Space, state: FormState, clash: Html | null): Shown {
  const path = `${home}/${space.id}`
  const body = html`${clash}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${controls(state)}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  return { title: `Edit ${space.name}`, heading: html`Edit <bdi>${space.name}</bdi>`, place: 'spaces', body }
}

function differences(sent: Fields, stored: Space): Difference[] {
  const all = [
    { field: 'name', label: 'Name', yours: String(sent.name), theirs: stored.name },
    {
      field: 'color',
      label: 'Colour',
      yours: colors[Number(sent.color) - 1] ?? '',
      theirs: colors[stored.color - 1] ?? '',
    },
  ]
  return all.filter(({ field, yours, theirs }) => sent[field] !== undefined && yours !== theirs)
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
