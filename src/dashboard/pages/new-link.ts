/** A new link: paste a URL, done; the rest is folded away. */
import { type Html, html } from '../../http/html.ts'
import { findLinkDomain } from '../../links/references.ts'
import { type Choices, choicesOf, domainChoice } from '../choices.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { linkFolds, sentFields } from '../link-controls.ts'
import { Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { emptyState } from '../parts/empty.ts'
import { selectField, textField } from '../parts/fields.ts'
import { onceField } from '../parts/once.ts'
import type { LinkPageParts } from './link-actions.ts'

const home = '/app/links'

/** `/app/links/new`, and the form that makes a link. */
export function newLinkPage(pages: Pages, { storage, actions }: LinkPageParts): void {
  pages.show(`${home}/new`, async ({ account, query }) => {
    const { url, space_id, domain_id = (await findLinkDomain(storage, account, null))?.id } = query
    const choices = await choicesOf(storage, account, { domains: [domain_id], spaces: [space_id] })
    return newPage(new FormState({ url, domain_id, space_id, redirect_status: '302' }), choices)
  })

  pages.act(home, async ({ account, fields }) => {
    const link = await attempted(() => actions.insert(account, sentFields(fields)))
    if (!(link instanceof Refused)) return new Next(`${home}/${link.record.id}`, { code: 'link-made' })
    const choices = await choicesOf(storage, account, { domains: [fields.domain_id], spaces: [fields.space_id] })
    return { ...newPage(new FormState(fields, link.violations), choices), status: 422 }
  })
}

function newPage(state: FormState, choices: Choices): Shown {
  const shown = { title: 'New link', place: 'links' } as const
  if (choices.domains.length === 0) {
    const action = linkButton({ label: 'Add a domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' })
    const why = 'Every short link begins with a domain that you own, such as go.example.com.'
    return { ...shown, body: emptyState({ title: 'Add a domain first', why, action }) }
  }
  const url = textField({
    name: 'url',
    label: 'Leads to',
    type: 'url',
    placeholder: 'https://',
    state: state.of('url'),
    isRequired: true,
    hasFocus: state.violations.length === 0,
  })
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${state.withErrors(html`${url}${address(state, choices)}${linkFolds(state, choices)}`)}
<div class="actions">${submitButton({ label: 'Create link' })}<a class="button plain" href="${home}">Cancel</a></div></form>`
  return { ...shown, body }
}

/** Domain and alias as one; a choice of domains only where there is one. */
function address(state: FormState, { domains }: Choices): Html {
  const [only, second] = domains
  const alias = textField({
    name: 'alias',
    label: 'Alias',
    help: 'The end of the short link. Leave it empty and Waymark picks one.',
    state: state.of('alias'),
    isCode: true,
    ...(second === undefined && only !== undefined && { prefix: `${only.name_unicode}/` }),
  })
  if (only === undefined || second === undefined) return html`${hiddenFields({ domain_id: String(only?.id) })}${alias}`
  const options = domains.map(domainChoice).map(({ value, label }) => ({ value, label: `${label}/` }))
  const domain = selectField({ name: 'domain_id', label: 'Domain', state: state.of('domain_id'), options })
  return html`<div class="joined">${domain}${alias}</div>`
}
