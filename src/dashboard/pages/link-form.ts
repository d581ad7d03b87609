/** Forms for links. Controls are named like API fields, so that each error appears next to its control. */

import { calendarOf } from '../../accounts/calendar.ts'
import type { PlainDomain } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { exactTime, quantity } from '../../lib/format.ts'
import type { LinkActions } from '../../links/actions.ts'
import { linkFields } from '../../links/fields.ts'
import { type Link, type LinkRow, linkLabels, linkOf } from '../../links/schema.ts'
import { findLink, findLinkDomain } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { type Choices, loadChoices, loadTagNames, namesIn, spaceChoice } from '../choices.ts'
import type { PageContent, PageRequest, Pages } from '../page.ts'
import { hiddenFields, type Viewer } from '../parts/buttons.ts'
import {
  type Choice,
  checkbox,
  collapsibleSection,
  type Field,
  type FormState,
  selectField,
  textArea,
  textField,
} from '../parts/fields.ts'
import { formatDay } from '../parts/format.ts'
import { shortUrlParts, shortUrlText, truncateMiddle } from '../parts/links.ts'
import { addDomainFirst } from '../parts/messages.ts'
import { ruleList } from '../parts/rules.ts'
import { formZone, timeField, timeValues, withUtcTimes, zoneFields } from '../parts/time-zones.ts'
import { addRecordForms, newRecordForm } from '../record-forms.ts'
import { exactHelp } from './addresses.ts'
import { campaignSection, campaignValues, loadSuggestions, mergeCampaign, type Suggestions } from './campaign-fields.ts'
import { defaultButton, editedRules, maxFormFields, rulesSection, ruleValues, withRules } from './rules-form.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly actions: { readonly links: LinkActions }
}

export function addLinkForms(pages: Pages, { storage, actions: { links }, shortUrl }: Services): void {
  /** Finds the link that the new link is a copy of. */
  const findOriginal = async (id: unknown, account: number) => {
    const original = positiveInteger(String(id))
    return original === undefined ? undefined : (await findLink(storage, account, original))?.record
  }
  addRecordForms<LinkRow>(pages, storage, {
    what: 'link',
    actions: {
      find: (account, id) => findLink(storage, account, id),
      insertion: (actor, fields) => links.insertion(actor, fields),
      onStored: (link) => links.onStored(link),
      change: (actor, id, fields, precondition) => links.change(actor, id, fields, precondition),
    },
    initialValues: async (request) => {
      const { account, query } = request
      if (query.copy !== undefined) {
        const original = linkOf(found(await findOriginal(query.copy, account), 'link'), shortUrl)
        return {
          ...formValues(original, formZone(request)),
          alias: '',
          domain_id: String(original.domain_id),
          copy: query.copy,
        }
      }
      const { url, space_id, tags, domain_id = (await findLinkDomain(storage, account, null))?.id } = query
      return { url, ...campaignValues(url), domain_id, space_id, tags, redirect_status: '302' }
    },
    newPage: async (state, request) => {
      const { account } = request
      const { domain_id, space_id, copy } = state.values
      const [offered, original] = await Promise.all([
        loadOffered(storage, request, { domains: [domain_id], spaces: [space_id] }),
        findOriginal(copy, account),
      ])
      return newLinkPage(state, offered, shortUrl, original && linkOf(original, shortUrl))
    },
    valuesOf: (row, request) => formValues(linkOf(row, shortUrl), formZone(request)),
    fieldsIn: (form, request) => fieldsIn(form, formZone(request)),
    edited: editedRules,
    maxFields: maxFormFields,
    labels: linkLabels,
    editForm: async (row, request) => {
      const link = linkOf(row, shortUrl)
      const offered = await loadOffered(storage, request, { spaces: [link.space_id, request.fields.space_id] })
      return {
        name: shortUrlText(link.short_url),
        controls: (state) => existingLinkControls(state, offered, link),
        format: (field, value) => formatValue(field, value, offered),
      }
    },
  })
}

/** Domains, spaces and tags to choose from, and campaign values that were used before. */
interface Offered extends Choices {
  readonly tagNames: readonly string[]
  readonly suggestions: Suggestions
  readonly timeZone: string
  readonly accountZone: string
  readonly viewer: Viewer
}

async function loadOffered(storage: Storage, request: PageRequest, chosen: Parameters<typeof loadChoices>[2]) {
  const { account, session } = request
  const accountZone = calendarOf(session.account.time_zones).timeZone
  const [choices, suggestions, tagNames] = await Promise.all([
    loadChoices(storage, account, chosen),
    loadSuggestions(storage, account),
    loadTagNames(storage, account),
  ])
  return { ...choices, suggestions, tagNames, timeZone: formZone(request), accountZone, viewer: request.actor }
}

/** `original` is the link to duplicate. */
function newLinkPage(state: FormState, choices: Offered, shortUrl: ShortUrl, original: Link | undefined): PageContent {
  const shown = { title: 'New link', section: 'links' } as const
  if (choices.domains.length === 0) return { ...shown, body: addDomainFirst(choices.viewer) }
  const url = textField(state, {
    name: 'url',
    label: linkLabels.url,
    type: 'url',
    placeholder: 'https://',
    isRequired: true,
    hasFocus: state.violations.length === 0 && state.focus === null,
  })
  const controls = html`${original ? copyNote(original) : null}${url}${address(state, choices, shortUrl)}${linkSections(state, choices)}`
  return {
    ...shown,
    body: newRecordForm('/app/links', 'Create link', state.withErrors(controls), state.focus !== null),
  }
}

/** Names the duplicated link, and says what the copy lacks. */
function copyNote({ id, short_url, has_redirect_password }: Link): Html {
  const name = html`<a href="/app/links/${id}"><bdi>${shortUrlText(short_url)}</bdi></a>`
  const password = ' Its password can’t be copied: set one under “Access” if visitors must enter it.'
  return html`${hiddenFields({ copy: String(id) })}<p>A copy of ${name}, with another alias.${has_redirect_password ? password : null}</p>`
}

/** Renders the domain and the alias; a select only if there are several domains. */
function address(state: FormState, { domains }: Choices, shortUrl: ShortUrl): Html {
  const [only, second] = domains
  const formatPrefix = ({ name }: PlainDomain) => shortUrlText(shortUrl(name, ''))
  const alias = textField(state, {
    name: 'alias',
    label: linkLabels.alias,
    help: 'The end of the short link. Leave it empty to generate one.',
    isCode: true,
    ...(second === undefined && only !== undefined && { prefix: formatPrefix(only) }),
  })
  if (only === undefined || second === undefined) return html`${hiddenFields({ domain_id: String(only?.id) })}${alias}`
  const options = domains.map((domain) => ({ value: String(domain.id), label: formatPrefix(domain) }))
  const domain = selectField(state, { name: 'domain_id', label: linkLabels.domain_id, options })
  return html`<div class="joined">${domain}${alias}</div>`
}

function existingLinkControls(state: FormState, choices: Offered, link: Link): Html {
  const { short_url, has_redirect_password } = link
  const inList = `/app/links?search=${encodeURIComponent(short_url)}`
  const move = html` To change the domain, <a href="${inList}">select the link in the list</a> and move it.`
  const help = html`On <bdi>${shortUrlParts(short_url).host}</bdi>.${choices.domains.length > 1 ? move : null}`
  const url = textField(state, { name: 'url', label: linkLabels.url, type: 'url', isRequired: true })
  const alias = textField(state, { name: 'alias', label: linkLabels.alias, isCode: true, isRequired: true, help })
  const keep = checkbox(state, {
    name: 'keep_address',
    label: 'Keep the old address working',
    help: 'If you change the alias, the link still opens at the old one.',
  })
  return html`${url}${alias}${keep}${linkSections(state, choices, has_redirect_password)}`
}

interface Control extends Pick<Field, 'help'> {
  readonly name: keyof typeof linkLabels
  /** By default, the value; the label for checkboxes, passwords and text with several lines. */
  readonly summary?: (value: string) => string
}

const maxSummaryCharacters = 24

/** Optional fields in collapsible sections, by their titles. */
const sections: Readonly<Record<string, readonly Control[]>> = {
  'Name, space, tags and notes': [
    { name: 'title', help: 'What the link is for.' },
    { name: 'space_id' },
    { name: 'tags', help: 'Words with commas between them, such as Summer, Print. Up to 20.' },
    { name: 'notes', help: 'Only visible in your account.' },
  ],
  'Dates and limits': [
    { name: 'active_period_start_at', summary: (at) => `from ${formatDayOf(at)}` },
    { name: 'active_period_end_at', summary: (at) => `until ${formatDayOf(at)}` },
    {
      name: 'clicks_limit',
      help: 'The link expires after this many human clicks. Bots don’t count.',
      summary: (limit) => (/^\d{1,15}$/.test(limit) ? quantity(Number(limit), 'click') : limit),
    },
    {
      name: 'expiration_url',
      help: 'Leave it empty to use the domain’s destination for unknown links.',
      summary: (url) => `then ${URL.parse(url)?.hostname ?? 'elsewhere'}`,
    },
  ],
  Access: [
    { name: 'disabled', help: 'The link stops working until you enable it again.' },
    { name: 'redirect_password', help: 'Visitors must enter it to open the link.' },
    { name: 'exact', help: exactHelp },
  ],
  Redirect: [
    {
      name: 'forward_query',
      help: 'Adds the visitor’s query string, such as ?utm_source=mail, to the destination.',
      summary: () => 'query string',
    },
    { name: 'redirect_status' },
  ],
}

const controls = Object.values(sections).flat()

const redirects: readonly Choice[] = [
  { value: '302', label: '302: temporary (recommended)' },
  { value: '307', label: '307: temporary, keeps the method' },
  { value: '301', label: '301: permanent (browsers remember the destination)' },
  { value: '308', label: '308: permanent, keeps the method' },
]

/** Renders the collapsible sections. Sections with errors are open; the others summarize their values. */
function linkSections(state: FormState, choices: Offered, hasPassword = false): Html {
  const rules = rulesSection(state, choices)
  return html`${zoneFields(choices.timeZone)}${defaultButton}${campaignSection(state, choices.suggestions)}${rules}${Object.entries(
    sections,
  ).map(([title, controls]) => {
    const set = controls.flatMap((control) => summarizeControl(control, state, choices, hasPassword))
    const body = html`${controls.map((control) => renderControl(control, state, choices, hasPassword))}`
    const isOpen = controls.some(({ name }) => state.field(name).isInvalid)
    return collapsibleSection(title, set.join(', '), isOpen, body)
  })}`
}

function summarizeControl(control: Control, state: FormState, { spaces }: Choices, hasPassword: boolean): string[] {
  const { name, summary } = control
  const { kind, label } = linkFields[name]
  const { value } = state.field(name)
  const isDefault = value === '' || value === 'false' || (name === 'redirect_status' && value === '302')
  if (isDefault && !(kind === 'password' && hasPassword)) return []
  if (summary) return [summary(value)]
  if (kind === 'flag' || kind === 'lines' || kind === 'password') return [label.toLowerCase()]
  const space = name === 'space_id' ? spaces.find(({ id }) => String(id) === value) : undefined
  return [truncateMiddle(space?.name ?? value, maxSummaryCharacters)]
}

function formatDayOf(text: string): string {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? text : formatDay(time)
}

function renderControl(control: Control, state: FormState, offered: Offered, hasPassword: boolean): Html {
  const { spaces, tagNames, timeZone } = offered
  const { kind, label } = linkFields[control.name]
  const field: Field = { ...control, label }
  if (kind === 'flag') return checkbox(state, field)
  if (kind === 'lines') return textArea(state, field)
  if (kind === 'names') return textField(state, { ...field, suggestions: tagNames, isList: true })
  if (kind === 'password') return passwordFields(field, state, hasPassword)
  if (kind === 'time') return timeField(state, field, timeZone)
  if (kind !== 'choice' && kind !== 'rules') return textField(state, { ...field, type: kind })
  const options =
    field.name === 'redirect_status' ? redirects : [{ value: '', label: 'No space' }, ...spaces.map(spaceChoice)]
  return selectField(state, { ...field, options })
}

function passwordFields(field: Field, state: FormState, hasPassword: boolean): Html {
  const password = { type: 'password', autocomplete: 'new-password' } as const
  if (!hasPassword) return textField(state, { ...field, ...password })
  const help = 'A password is set. Leave this empty to keep it.'
  const remove = { name: 'remove_password', label: 'Remove the password' }
  return html`${textField(state, { ...field, ...password, label: 'New password', help })}${checkbox(state, remove)}`
}

const timeNames = ['active_period_start_at', 'active_period_end_at'] as const

function formValues(link: Link, zone: string): Fields {
  const names = ['url', 'alias', ...controls.map(({ name }) => name)] as const
  const values = names.map((name) => {
    return [name, name === 'tags' ? link.tags.join(', ') : String(link[name as keyof Link] ?? '')]
  })
  const times = timeNames.map((name) => timeValues(name, link[name], zone))
  return Object.assign(
    Object.fromEntries(values),
    { keep_address: 'true' },
    campaignValues(link.url),
    ruleValues(link.rules, zone),
    ...times,
  )
}

function fieldsIn(form: Fields, zone: string): Fields {
  const { copy: _, remove_password, ...sent } = withRules(mergeCampaign(withUtcTimes(form, timeNames, zone)), zone)
  const fields: Record<string, unknown> = { ...sent }
  for (const { name } of controls) {
    const { kind } = linkFields[name]
    const value = sent[name]
    // Browsers don't send unchecked boxes.
    if (kind === 'flag') fields[name] = value || 'false'
    if (typeof value !== 'string') continue
    if (kind === 'names') fields[name] = namesIn(value).join(', ')
    // Browsers end lines with CR LF.
    if (kind === 'lines') fields[name] = value.replaceAll('\r\n', '\n')
  }
  // An empty password field was not edited.
  if (remove_password === 'true') fields.redirect_password = ''
  else if (sent.redirect_password === '') delete fields.redirect_password
  return fields
}

/** Formats a value of the form to compare two versions of a link. */
function formatValue(field: string, value: string, { spaces, timeZone }: Offered): Part {
  if (field === 'rules') return value === '' ? '' : ruleList(JSON.parse(value), timeZone)
  const kind = linkFields[field as keyof typeof linkFields]?.kind
  if (kind === 'flag') return value === 'true' ? 'Yes' : ''
  if (field === 'space_id') return spaces.find(({ id }) => String(id) === value)?.name ?? value
  const isWhole = kind === 'time' && /T\d\d:\d\d:00Z$/.test(value) && !Number.isNaN(Date.parse(value))
  return isWhole ? exactTime(value, timeZone) : value
}
