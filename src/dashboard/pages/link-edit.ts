/** The form of one link. */
import { found } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import type { Link } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import { findLink } from '../../links/store.ts'
import { type Choices, choicesOf } from '../choices.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { linkDifferences, linkFolds, sentFields, valuesOf } from '../link-controls.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision } from '../parts/collision.ts'
import { textField } from '../parts/fields.ts'
import { shortUrlText } from '../parts/short-url.ts'
import { stillAt } from '../versions.ts'
import type { LinkPageParts } from './link-actions.ts'

const home = '/app/links'

/** `/app/links/{id}/edit`, and the form that changes a link. */
export function linkEditPage(pages: Pages, { storage, actions, shortUrl }: LinkPageParts): void {
  pages.show(`${home}/:id/edit`, async (asked) => {
    const { link, version } = await linkAsked(asked)
    const choices = await choicesOf(storage, asked.account, { spaces: [link.space_id] })
    return editPage(link, new FormState({ ...valuesOf(link), version }), choices, null)
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const id = idOf(asked, 'link')
    const saved = await attempted(() => actions.change(account, id, sentFields(fields), stillAt(fields.version)))
    if (!(saved instanceof Refused)) return new Next(`${home}/${id}`, { code: 'link-saved' })
    const { link, version } = await linkAsked(asked)
    const choices = await choicesOf(storage, account, { spaces: [link.space_id, fields.space_id] })
    const state = new FormState({ ...fields, version }, saved.violations)
    const clash = saved.isCollision ? collision(linkDifferences(fields, link, choices)) : null
    return { ...editPage(link, state, choices, clash), status: saved.isCollision ? 409 : 422 }
  })

  async function linkAsked(asked: Asked): Promise<{ readonly link: Link; readonly version: string }> {
    const { record, version } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return { link: linkOf(record, shortUrl), version }
  }
}

function editPage(link: Link, state: FormState, choices: Choices, clash: Html | null): Shown {
  const path = `${home}/${link.id}`
  const words = shortUrlText(link.short_url)
  const url = textField({ name: 'url', label: 'Leads to', type: 'url', state: state.of('url'), isRequired: true })
  const alias = textField({ name: 'alias', label: 'Alias', state: state.of('alias'), isCode: true, isRequired: true })
  const body = html`${clash}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${state.withErrors(html`${url}${alias}${linkFolds(state, choices, link.has_redirect_password)}`)}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  return { title: `Edit ${words}`, heading: html`Edit <bdi>${words}</bdi>`, place: 'links', body }
}
