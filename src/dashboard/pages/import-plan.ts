/** The plan of an import: its figures, the questions that only people can answer, the first links in their final form, and errors. */

import { domainToUnicode } from 'node:url'
import { allows } from '../../access/actor.ts'
import type { PlainDomain } from '../../domains/store.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { columnFields, isPrivate } from '../../imports/csv-columns.ts'
import { vendors } from '../../imports/refusals.ts'
import { reportImport } from '../../imports/report.ts'
import { type Import, type ImportOptions, importOptions, leftOut, type RowOutcome } from '../../imports/schema.ts'
import { nameOrigin } from '../../imports/source-names.ts'
import type { ListedRow, RowDecision } from '../../imports/staging/store.ts'
import type { StoredImport } from '../../imports/store.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { linkLabels } from '../../links/schema.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { type Choices, loadChoices, spaceChoice } from '../choices.ts'
import type { PageContent, PageRequest } from '../page.ts'
import { linkButton, onceField, submitButton } from '../parts/buttons.ts'
import { renderValues } from '../parts/changes.ts'
import { checkbox, collapsibleSection, FormState, radioGroup, selectField, textField } from '../parts/fields.ts'
import { formatDay } from '../parts/format.ts'
import { importSteps } from '../parts/imports.ts'
import { destination, truncateMiddle } from '../parts/links.ts'
import { notice } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { accountZone, formZone, timeZoneField } from '../parts/time-zones.ts'
import { valuesIn } from '../record-forms.ts'
import { figures, newAddress, oldAddress, type RowServices, rowsSection } from './import-rows.ts'

export interface ShownImport {
  readonly stored: StoredImport
  readonly record: Import
}

/** Returns the form values of a plan. `zone` is for times without one if the plan names none. */
export function planValues(stored: StoredImport, zone: string): Readonly<Record<string, string>> {
  const { source, options, columns } = stored
  const { conflict, space_id, tag, domain_map, time_zone, generate_aliases } = options
  const mapped = new Map(Object.entries(domain_map ?? {}))
  const hosts = Object.fromEntries(askedHosts(stored).map((host) => [`host.${host}`, mapped.get(host) ?? '']))
  const ofAll = { conflict: conflict === 'refuse' ? '' : conflict, space_id: String(space_id ?? ''), tag: tag ?? '' }
  if (source !== 'csv') return { ...ofAll, ...hosts }
  const fields = Object.fromEntries(columns.map(({ field }, at) => [`column.${at}`, field ?? '-']))
  const generates = generate_aliases ? 'true' : ''
  return { ...ofAll, ...hosts, ...fields, time_zone: time_zone ?? zone, generate_aliases: generates }
}

/** Hosts that the form asks for at once, because each has a select with all domains. The others follow. */
const maxHosts = 25

/** The hosts that the form asks for, the open ones first. `*` stands for rows without a host. */
function askedHosts(stored: StoredImport): string[] {
  const open = reportImport(stored).hosts.map(({ host }) => host || '*')
  return [...new Set([...open, ...Object.keys(stored.options.domain_map ?? {})])].slice(0, maxHosts)
}

/** Returns the options that the form chooses. Throws `validation_failed`. */
export function changedOptions(
  { source, columns, options }: StoredImport,
  fields: Fields,
): Partial<Omit<ImportOptions, 'source'>> {
  const { conflict = '', space_id = '', tag = '', time_zone = '', generate_aliases = 'false' } = fields
  const read = valuesIn(importOptions, { conflict, space_id, tag, time_zone, generate_aliases })
  const sent = Object.entries(fields).flatMap(([name, value]) =>
    name.startsWith('host.') ? [[name.slice(5), value]] : [],
  )
  const domain_map = Object.fromEntries(
    [...Object.entries(options.domain_map ?? {}), ...sent].filter(([, domain]) => domain !== ''),
  )
  const ofAll = { conflict: read.conflict, space_id: read.space_id, tag: read.tag, domain_map }
  if (source !== 'csv') return ofAll
  const chosen = columns.map(({ name }, at) => [name, readText(fields[`column.${at}`] ?? '-')] as const)
  const { time_zone: zone, generate_aliases: generates } = read
  return { ...ofAll, columns: Object.fromEntries(chosen), time_zone: zone, generate_aliases: generates }
}

function hasColumn({ columns }: StoredImport, ...fields: readonly string[]): boolean {
  return columns.some(({ field }) => field !== null && fields.includes(field))
}

function lacksAliases(stored: StoredImport): boolean {
  return stored.source === 'csv' && stored.columns.length > 0 && !hasColumn(stored, 'short_url', 'alias')
}

/** Returns a violation for each question that has no answer yet. */
export function openQuestions(stored: StoredImport): Violation[] {
  const question = (field: string, reason: string) => new Refusal('not_allowed.part', { reason }).at(field)
  const { conflict } = stored.summary.outcomes
  const hosts = reportImport(stored).hosts.slice(0, maxHosts)
  return [
    ...hosts.map(({ host }) => question(`host.${host || '*'}`, 'Choose a domain, or leave these rows out.')),
    ...(conflict > 0 ? [question('conflict', 'Choose what happens to these rows.')] : []),
    ...(lacksAliases(stored) && !stored.options.generate_aliases
      ? [question('generate_aliases', 'Choose the column with the alias, or confirm that aliases are generated.')]
      : []),
  ]
}

/** Renders the plan. `state` is the form with errors. */
export async function planPage(
  { stored, record, state: given }: ShownImport & { readonly state: FormState | null },
  request: PageRequest,
  services: RowServices,
): Promise<PageContent> {
  const state = given ?? new FormState(planValues(stored, accountZone(request)))
  const names = Object.values(stored.options.domain_map ?? {}).filter((name) => name !== leftOut)
  const choices = await loadChoices(services.storage, request.account, { spaces: [stored.options.space_id] })
  const isWriter = allows(request.actor, 'imports:write')
  const questions = html`${columnQuestion(stored, state)}${hostQuestions(stored, state, choices, names)}${conflictQuestion(stored, state)}`
  const settings = settingsFold(stored, state, choices, request)
  const path = `/app/import/${record.id}`
  const form = html`<form method="post" action="${path}" class="form" id="${formId}" novalidate>${onceField()}${state.withErrors(html`${questions}${settings}`)}</form>`
  const body = html`${importSteps('plan')}<p>Nothing is stored yet. ${unusedText(stored)}</p>${planFigures(stored)}
${lossList(stored)}${isWriter ? form : null}
${await previewSection(stored, record, request, services)}${await rowsSection(stored, request, services)}
${isWriter ? planButtons(stored) : null}`
  return {
    title: `Import ${nameOrigin(record.source)}: plan`,
    heading: `Import ${nameOrigin(record.source)}`,
    section: 'links',
    action: isWriter ? linkButton({ label: 'Start over', href: '/app/import' }) : null,
    body,
  }
}

/** Returns sentences about rows that store nothing. */
function unusedText(stored: StoredImport): string {
  const { unmapped, skip, refuse } = reportImport(stored).rows
  return [
    ...(unmapped > 0
      ? [`${quantity(unmapped, 'row')} still need${unmapped === 1 ? 's' : ''} a domain: choose it below.`]
      : []),
    ...(skip + refuse > 0 ? [`${quantity(skip + refuse, 'row')} would be left out: see the reasons below.`] : []),
  ].join(' ')
}

/** The form of the plan. Its buttons are in a bar that stays visible. */
const formId = 'plan'

/** Renders the buttons. Without an open question, the primary one imports, and says how many rows it leaves out. */
function planButtons(stored: StoredImport): Html {
  const { outcomes } = stored.summary
  const { created } = reportImport(stored)
  const parts = [
    ...(created > 0 || outcomes.update === 0 ? [`Import ${quantity(created, 'link')}`] : []),
    ...(outcomes.update > 0 ? [`${created > 0 ? 'update' : 'Update'} ${quantity(outcomes.update, 'link')}`] : []),
  ]
  const unused = outcomes.skip + outcomes.refuse
  if (unused > 0) parts.push(`leave out ${quantity(unused, 'row')}`)
  const update = { label: 'Update the plan', form: formId }
  const apply = { form: formId, name: 'what', value: 'apply' }
  const isOpen = openQuestions(stored).length > 0
  const buttons =
    isOpen || created + outcomes.update === 0
      ? submitButton({ ...update, ...(isOpen && apply) })
      : html`${submitButton({ ...update, weight: 'plain' })}${submitButton({ ...apply, label: parts.join(', ') })}`
  return html`<div class="actions pinned">${buttons}</div>`
}

function planFigures(stored: StoredImport): Html {
  const { clicks, new_tags, first_link_at: first, last_link_at: last } = stored.summary
  const days = [...new Set([first, last].flatMap((at) => (at === null ? [] : [formatDay(at)])))]
  const range =
    days.length === 0 ? null : html`<p>Links created ${days.length === 1 ? 'on' : 'from'} ${days.join(' to ')}.</p>`
  const others = [
    ...(clicks > 0 ? ([['Clicks', formatCount(clicks)]] as const) : []),
    ...(new_tags > 0 ? ([['New tags', formatCount(new_tags)]] as const) : []),
  ]
  return html`${figures(stored, others)}${range}`
}

function lossList(stored: StoredImport): Html | null {
  const { losses } = reportImport(stored)
  if (losses.length === 0) return null
  const items = losses.map((text) => html`<li>${text}</li>`)
  return html`<section id="losses"><h2>What changes or gets lost</h2><ul class="things">${items}</ul></section>`
}

const fieldLabels: Readonly<Record<string, string>> = {
  ...linkLabels,
  ...{ short_url: 'Short link', domain: 'Domain', created_at: 'Created', clicks: 'Clicks', bots: 'Clicks of bots' },
  ...{ has_redirect_password: 'Has a password', host: 'Domain' },
}

const notImported = 'Not imported'

/** Asks what the columns are, and whether aliases may be generated. */
function columnQuestion(stored: StoredImport, state: FormState): Html | null {
  const { columns, source } = stored
  if (columns.length === 0) return null
  const unknown = columns.filter(({ field }) => field === null).length
  const unread = unknown === 0 ? '' : `${quantity(unknown, 'column')} not imported`
  const options = [
    { value: '-', label: notImported },
    ...columnFields.map((value) => ({ value, label: fieldLabels[value] ?? value })),
  ]
  const control = ({ name, field }: StoredImport['columns'][number], at: number): Html => {
    const isFixed = source !== 'csv' || isPrivate(name)
    if (isFixed)
      return html`<dl class="facts"><dt><bdi>${name}</bdi></dt><dd>${field === null || field === '-' ? notImported : (fieldLabels[field] ?? field)}</dd></dl>`
    return selectField(state, { name: `column.${at}`, label: name, words: html`<bdi>${name}</bdi>`, options })
  }
  const isOpen =
    source === 'csv' &&
    (unknown > 0 || lacksAliases(stored) || !hasColumn(stored, 'url') || state.violations.length > 0)
  const fold = collapsibleSection('Columns', unread, isOpen, html`<div class="columns">${columns.map(control)}</div>`)
  if (source !== 'csv') return fold
  const isMissing = lacksAliases(stored)
  const warning = isMissing
    ? notice(
        'warning',
        'No column has the short link or its alias. Choose it below. If aliases are generated instead, printed links will not work.',
        null,
      )
    : null
  const generate = checkbox(state, {
    name: 'generate_aliases',
    label: isMissing ? 'Generate all aliases: printed links will not work' : 'Generate aliases for rows without one',
    ...(!isMissing && { help: 'Printed links of these rows will not work.' }),
  })
  return html`${warning}${fold}${generate}`
}

const severalLeftOut = 'Leave these addresses out, and import links that have another'

/** Asks once for each unknown host. */
function hostQuestions(
  stored: StoredImport,
  state: FormState,
  { domains }: Choices,
  mapped: readonly string[],
): Html | null {
  const { source, summary } = stored
  const hosts = askedHosts(stored)
  if (hosts.length === 0) return null
  const names = new Map(domains.map(({ name, name_unicode }: PlainDomain) => [name, name_unicode]))
  for (const name of mapped) names.set(name, names.get(name) ?? domainToUnicode(name))
  const choices = [...names].map(([value, label]) => ({ value, label }))
  const fields = hosts.map((host) => {
    const isOwn = host === '*'
    const rows = summary.unmapped_hosts.find((each) => (each.host || '*') === host)?.rows
    const what = isOwn ? 'Rows without a host' : `Links on ${domainToUnicode(host)}`
    const vendor = `${host} belongs to the service, so addresses on it can’t move. Choose a domain to copy them: printed links keep going to ${host}.`
    return selectField(state, {
      name: `host.${host}`,
      label: rows === undefined ? what : `${what} (${quantity(rows, 'row')})`,
      ...(vendors.includes(host) && { help: vendor }),
      options: [
        { value: '', label: 'Choose a domain' },
        {
          value: leftOut,
          label: source === 'bitly' ? severalLeftOut : isOwn ? 'Leave these rows out' : 'Leave these links out',
        },
        ...choices,
      ],
    })
  })
  const others = reportImport(stored).hosts.length - maxHosts
  const more = others > 0 ? html`<p>${quantity(others, 'other host')} will follow.</p>` : null
  return html`<section class="stack"><h2>Which domain?</h2><p>The account has no domain with these hosts. Choose where their links go, or <a href="/app/domains/new">add a domain</a>.</p>${fields}${more}</section>`
}

const conflictChoices: Readonly<Record<string, string>> = {
  skip: 'Keep the links that exist, and leave these rows out',
  rename: 'Import these rows under another alias, such as tea-2',
  update: 'Update the links that exist with the values of the file',
}

/** Asks what happens to rows whose address a link has already. */
function conflictQuestion(stored: StoredImport, state: FormState): Html | null {
  const { outcomes } = stored.summary
  const skipped = stored.options.conflict === 'skip' ? outcomes.skip : 0
  const taken = outcomes.conflict + outcomes.known + skipped + outcomes.rename + outcomes.update
  if (taken === 0) return null
  const label =
    outcomes.conflict > 0
      ? `${quantity(outcomes.conflict, 'address', 'addresses')} with another destination in your account`
      : 'Addresses that exist already'
  const options = Object.entries(conflictChoices).map(([value, words]) => ({ value, label: words as Part }))
  return radioGroup(state, { name: 'conflict', label, options })
}

/** Renders the control for the space of all links. */
export function spaceField(state: FormState, { spaces }: Choices): Html {
  const options = [{ value: '', label: 'No space' }, ...spaces.map(spaceChoice)]
  return selectField(state, { name: 'space_id', label: linkLabels.space_id, options })
}

function settingsFold(stored: StoredImport, state: FormState, choices: Choices, request: PageRequest): Html {
  const { options, source } = stored
  const space = spaceField(state, choices)
  const tag = textField(state, { name: 'tag', label: 'Tag', help: 'All imported links get it.' })
  const zone = timeZoneField(state, {
    label: 'Time zone of the file',
    help: 'Times in the file without a zone are in this one.',
    stored: options.time_zone ?? accountZone(request),
  })
  const isOpen = ['space_id', 'tag', 'time_zone'].some((name) => state.field(name).isInvalid)
  const set = [choices.spaces.find(({ id }) => id === options.space_id)?.name, options.tag].filter(Boolean).join(', ')
  return collapsibleSection(
    'Space, tag and time zone',
    set,
    isOpen,
    html`${space}${tag}${source === 'csv' ? zone : null}`,
  )
}

const previewed = 10

/** Renders the first links in their final form, and the first updates with old and new values. */
async function previewSection(
  stored: StoredImport,
  { id, outcomes }: Import,
  request: PageRequest,
  services: RowServices,
): Promise<Html> {
  const rowsOf = async (outcome: RowOutcome) =>
    (await services.imports.firstRows(request.account, id, { outcome }, previewed)).rows
  const [created, renamed, updated] = await Promise.all([rowsOf('store'), rowsOf('rename'), rowsOf('update')])
  const shown = [...created, ...renamed].slice(0, previewed)
  const all = outcomes.store + outcomes.rename
  const links =
    shown.length === 0
      ? null
      : html`<section id="links"><h2>${all > shown.length ? `First ${shown.length} of ${quantity(all, 'link')}` : quantity(all, 'link')}</h2>${linkTable(shown, stored, services)}</section>`
  const changes = updated.map(
    ({ decision, addresses }) =>
      html`<li>${addresses.slice(0, 1).map((address) => newAddress(address, services.shortUrl))}${changesOf(decision, formZone(request), services)}</li>`,
  )
  const more =
    outcomes.update > updated.length
      ? `First ${updated.length} of ${quantity(outcomes.update, 'update')}`
      : quantity(outcomes.update, 'update')
  const updates =
    updated.length === 0
      ? null
      : html`<section id="updates"><h2>${more}</h2><ol class="entries">${changes}</ol></section>`
  return html`${links}${updates}`
}

function changesOf({ changes, linkId }: RowDecision, timeZone: string, { shortUrl }: RowServices): Html | null {
  if (changes === null) return null
  const event = { record: 'link', action: 'updated', recordId: linkId ?? 0, name: '', changes } as const
  return renderValues(event, { known: new Map(), timeZone, shortUrl })
}

function linkTable(rows: readonly ListedRow[], { options }: StoredImport, { shortUrl }: RowServices): Html {
  return table({
    caption: 'Links in their final form',
    rows,
    columns: [
      {
        label: 'Short link',
        kind: 'lead',
        cell: ({ addresses }) =>
          html`${addresses.slice(0, 1).map((each) => newAddress(each, shortUrl))}${addresses.slice(0, 1).map((each) => html`<span class="leads"><span class="muted">from ${oldAddress(each)}</span></span>`)}`,
      },
      {
        label: 'Destination',
        width: 'rest',
        cell: ({ content: { fields } }) =>
          html`<div>${fields.title ? html`<bdi>${truncateMiddle(fields.title, 80)}</bdi><br>` : null}${destination(fields.url ?? '', 48)}</div>`,
      },
      {
        label: 'Tags',
        cell: ({ content }) => {
          const tags = [...(content.fields.tags?.split(',') ?? []), ...(options.tag === null ? [] : [options.tag])]
          return tags.length === 0 ? null : html`<ul class="chips">${tags.map((name) => html`<li>${name}</li>`)}</ul>`
        },
      },
      {
        label: 'Clicks',
        kind: 'number',
        cell: ({ content }) => (content.clicks === null ? null : formatCount(content.clicks)),
      },
    ],
  })
}
