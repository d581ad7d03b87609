/** A new link: paste a URL, done; the rest is folded away. */

import { found } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { findLinkDomain } from '../../links/references.ts'
import type { Link } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import { findLink } from '../../links/store.ts'
import { type Choices, choicesOf, domainChoice, spaceChoice } from '../choices.ts'
import { attempted, FormState, Refused, stillAt } from '../form-state.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, onceField, submitButton } from '../parts/buttons.ts'
import { type Choice, checkbox, type Field, fold, selectField, type TextField, textField } from '../parts/fields.ts'
import { dayOf, exactTime } from '../parts/format.ts'
import { cutInMiddle, shortUrlText } from '../parts/links.ts'
import { collision, type Difference, emptyState } from '../parts/messages.ts'
import type { LinkPageParts } from './link.ts'

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

interface Control {
  readonly name: string
  readonly label: string
  readonly help?: string
  /** What the closed fold says of a value. */
  readonly said: (value: string) => string
  /** How it is drawn; a line of text unless said otherwise. */
  readonly kind?: TextField['type'] | 'checkbox' | 'space' | 'redirect'
}

/** Signs of a name in a closed fold. */
const shownSigns = 24

/** What can be left out of a link's form, folded by theme. */
const folds: readonly { readonly title: string; readonly controls: readonly Control[] }[] = [
  {
    title: 'Name and space',
    controls: [
      { name: 'title', label: 'Title', help: 'What the link is for.', said: (title) => cutInMiddle(title, shownSigns) },
      { name: 'space_id', label: 'Space', kind: 'space', said: (id) => id },
    ],
  },
  {
    title: 'Dates and limits',
    controls: [
      {
        name: 'active_period_start_at',
        label: 'Starts working on',
        kind: 'datetime-local',
        said: (at) => `from ${dayIn(at)}`,
      },
      {
        name: 'active_period_end_at',
        label: 'Stops working on',
        kind: 'datetime-local',
        said: (at) => `until ${dayIn(at)}`,
      },
      {
        name: 'clicks_limit',
        label: 'Clicks until it expires',
        kind: 'number',
        help: 'Only clicks of people count, not those of bots.',
        said: (limit) => `${limit} ${limit === '1' ? 'click' : 'clicks'}`,
      },
      {
        name: 'expiration_url',
        label: 'Leads to after it has expired',
        kind: 'url',
        help: 'Leave it empty to send visitors to the domain’s page for unknown links.',
        said: (url) => `then ${URL.parse(url)?.hostname ?? 'elsewhere'}`,
      },
    ],
  },
  {
    title: 'Access',
    controls: [
      {
        name: 'disabled',
        label: 'Disabled: visitors see that there is no such link',
        kind: 'checkbox',
        said: () => 'disabled',
      },
      {
        name: 'redirect_password',
        label: 'Password',
        kind: 'password',
        help: 'Visitors have to enter it first.',
        said: () => 'password',
      },
    ],
  },
  {
    title: 'Redirect',
    controls: [
      {
        name: 'forward_query',
        label: 'Pass the query string on, such as ?utm_source=mail',
        kind: 'checkbox',
        said: () => 'query string',
      },
      { name: 'redirect_status', label: 'Redirect status', kind: 'redirect', said: (status) => status },
    ],
  },
]

const controls = folds.flatMap((each) => each.controls)

const redirects: readonly Choice[] = [
  { value: '302', label: '302: temporary (recommended)' },
  { value: '307', label: '307: temporary, keeps the method' },
  { value: '301', label: '301: permanent (browsers remember the target)' },
  { value: '308', label: '308: permanent, keeps the method' },
]

/** The folds of the form. Those with an error are open; those that are set say to what. A password that is set is not shown. */
export function linkFolds(state: FormState, choices: Choices, hasPassword = false): Html {
  return html`${folds.map(({ title, controls }) => {
    const set = controls.flatMap((control) => saidOf(control, state, choices, hasPassword))
    const body = html`${controls.map((control) => drawn(control, state, choices, hasPassword))}`
    const isOpen = controls.some(({ name }) => state.of(name).error !== null)
    return fold({ title, body, isOpen, ...(set.length > 0 && { set: set.join(', ') }) })
  })}`
}

/** What a control is set to, where that is another value than that of a link which says nothing of it. */
function saidOf({ name, kind, said }: Control, state: FormState, { spaces }: Choices, hasPassword: boolean): string[] {
  const { value } = state.of(name)
  if (kind === 'password' && hasPassword) return [said(value)]
  if (value === '' || value === 'false' || (kind === 'redirect' && value === '302')) return []
  const space = kind === 'space' ? spaces.find(({ id }) => String(id) === value) : undefined
  return [space === undefined ? said(value) : cutInMiddle(space.name, shownSigns)]
}

/** The day of a time; what was typed if it is none. */
function dayIn(text: string): string {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? text : `${dayOf(time)} UTC`
}

function drawn(control: Control, state: FormState, { spaces }: Choices, hasPassword: boolean): Html {
  const { name, label, help, kind = 'text' } = control
  const field: Field = { name, label, state: state.of(name), ...(help !== undefined && { help }) }
  if (kind === 'checkbox') return checkbox(field)
  if (kind === 'redirect') return selectField({ ...field, options: redirects })
  if (kind === 'password') return passwordFields(field, state, hasPassword)
  // Where scripts run, they name the zone of the browser, and show its time.
  if (kind === 'datetime-local')
    return textField({ ...field, type: kind, label: html`${label} (<span data-zone>UTC</span>)` })
  if (kind !== 'space') return textField({ ...field, type: kind })
  const options = [{ value: '', label: 'No space' }, ...spaces.map(spaceChoice)]
  return selectField({ ...field, options })
}

function passwordFields(field: Field, state: FormState, hasPassword: boolean): Html {
  const password = { type: 'password', autocomplete: 'new-password' } as const
  if (!hasPassword) return textField({ ...field, ...password })
  const help = 'A password is set. Leave this empty to keep it.'
  const remove = { name: 'remove_password', label: 'Remove the password', state: state.of('remove_password') }
  return html`${textField({ ...field, ...password, label: 'New password', help })}${checkbox(remove)}`
}

/** What the controls show of a link. */
export function valuesOf(link: Link): Fields {
  const named: readonly Pick<Control, 'name' | 'kind'>[] = [{ name: 'url' }, { name: 'alias' }, ...controls]
  return Object.fromEntries(
    named.map(({ name, kind }) => {
      const text = String(link[name as keyof Link] ?? '')
      return [name, kind === 'datetime-local' ? localTime(text) : text]
    }),
  )
}

/** As a control for dates and times takes it: no longer than it must be, so that what is not edited stays what it was. */
function localTime(text: string): string {
  return text.slice(0, -1).replace(/(?::00)?\.000$/, '')
}

/** The fields of the form as the API takes them. */
export function sentFields(form: Fields): Fields {
  const { version: _, remove_password, ...sent } = form
  const fields: Record<string, unknown> = { ...sent }
  for (const { name, kind } of controls) {
    // A box that is not checked is not sent.
    if (kind === 'checkbox') fields[name] = sent[name] ?? 'false'
    if (kind === 'datetime-local' && typeof sent[name] === 'string') fields[name] = inUtc(sent[name])
  }
  // An empty password is one that was not touched.
  if (remove_password === 'true') fields.redirect_password = ''
  else if (sent.redirect_password === '') delete fields.redirect_password
  return fields
}

function inUtc(text: string): string {
  const [, minute, rest = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?$/.exec(text) ?? []
  return minute === undefined ? text : `${minute}${rest || ':00'}Z`
}

/** What stands in the form and what is stored, where they differ, in words. A field that was not sent stays as it is stored. */
export function linkDifferences(form: Fields, stored: Link, { spaces }: Choices): Difference[] {
  const spaceNamed = (id: unknown) => spaces.find((space) => String(space.id) === id)?.name ?? typed(id)
  const [yours, theirs] = [sentFields(form), sentFields(valuesOf(stored))]
  const named: readonly Pick<Control, 'name' | 'label' | 'kind'>[] = [
    { name: 'url', label: 'Leads to' },
    { name: 'alias', label: 'Alias' },
    ...controls,
  ]
  return named
    .filter(({ name, kind }) => kind !== 'password' && yours[name] !== undefined && yours[name] !== theirs[name])
    .map(({ name, label, kind }) => {
      const words = kind === 'space' ? spaceNamed : kind === 'datetime-local' ? timeSaid : typed
      return { label, yours: words(yours[name]), theirs: words(theirs[name]) }
    })
}

/** A time as it is sent: in words where they lose nothing of it. */
function timeSaid(text: unknown): string {
  const isWhole = typeof text === 'string' && /T\d\d:\d\d:00Z$/.test(text) && !Number.isNaN(Date.parse(text))
  return isWhole ? exactTime(text) : typed(text)
}

function typed(value: unknown): string {
  if (value === 'true') return 'Yes'
  return typeof value !== 'string' || value === 'false' ? '' : value
}
