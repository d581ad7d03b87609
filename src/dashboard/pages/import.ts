/** Imports CSV: a form for the file, a check of its rows with controls for errors, and one button that stores the links. */

import { Failure } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { csvRow } from '../../lib/csv.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import type { LinkActions } from '../../links/actions.ts'
import type { RunBatch } from '../../links/batch.ts'
import { maxBytes, maxRows } from '../../links/bulk-schema.ts'
import { linkFields } from '../../links/fields.ts'
import {
  type CheckedRow,
  checkRows,
  controlName,
  type ImportFile,
  type ImportRow,
  isReady,
  isStored,
  packFile,
  parseFile,
  type ReadyRow,
  unpackFile,
  withCorrections,
} from '../../links/import-file.ts'
import { textOfFile } from '../../links/import-rows.ts'
import { findUnknownTags } from '../../links/link-tags.ts'
import { type CheckedLink, storeNewLinks } from '../../links/new-links.ts'
import { linkLabels } from '../../links/schema.ts'
import { findLinkDomain } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { maxTargetLength } from '../../names/web-url.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { type Choices, domainChoice, loadChoices, spaceChoice } from '../choices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { hiddenFields, onceField, submitButton } from '../parts/buttons.ts'
import {
  checkbox,
  collapsibleSection,
  FormState,
  fileField,
  selectField,
  textArea,
  textField,
} from '../parts/fields.ts'
import { formatCount, listed, quantity } from '../parts/format.ts'
import { destination, shortUrlText, truncateMiddle } from '../parts/links.ts'
import { addDomainFirst, notice } from '../parts/messages.ts'
import { type Column, longTable } from '../parts/table.ts'
import { formZone, zoneFields } from '../parts/time-zones.ts'
import { attempt } from '../record-forms.ts'
import { withHttps } from '../scripts/destination.js'
import { sendCsv } from '../statistics/csv.ts'

const home = '/app/links/import'
/** Rows of each table on a page. */
const rowsPerPage = 50
/** The most UTF-16 code units that a control or a form shows again, because escaping a megabyte takes 60 ms. */
const [maxShownCell, maxShownFile] = [16_384, 256 * 1024]
/** A form has the whole file, and controls for some rows. */
const formLimits = {
  maxBytes: 2 * maxBytes,
  maxFields: 1_000,
  tooLarge: 'The file is larger than 1 MB. Split it into several files.',
}
const section = 'links'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly runBatch: RunBatch
  readonly actions: { readonly links: LinkActions }
  readonly semaphores: Readonly<Record<'importChecks' | 'imports', Semaphore>>
}

export function addImportPages(pages: Pages, services: Services): void {
  pages.get(home, 'links:write', async (request) => {
    const { account } = request
    const oldest = await findLinkDomain(services.storage, account, null)
    const choices = await loadChoices(services.storage, account, {})
    return formPage(new FormState({ domain_id: oldest?.id }), choices, request)
  })

  pages.getFile(`${home}/template.csv`, 'links:write', async ({ account, exchange }) => {
    const { domains, spaces } = await loadChoices(services.storage, account, {})
    const [domain = 'go.example.com', space = ''] = [domains[0]?.name_unicode, spaces[0]?.name]
    const lastDay = `${new Date().getUTCFullYear() + 1}-12-31`
    return sendCsv(exchange, 'waymark-import.csv', [
      ['url', 'alias', 'domain_id', 'title', 'space_id', 'tags', 'active_period_end_at', 'notes'].map(labelOf),
      ['https://example.com/summer-sale', 'summer-sale', domain, 'Summer sale', space, 'Summer, Print', lastDay, ''],
      ['https://example.com/jobs', '', domain, 'Jobs', '', '', '', 'Only the destination is required.'],
    ])
  })

  pages.postFiles(home, 'links:write', (request) => importPage(request, services), formLimits)
}

/** Checks the rows of a form, and stores the links if the user has seen the result of the same check. */
async function importPage(request: PageRequest, services: Services): Promise<PageContent | Redirect> {
  const { account, fields } = request
  const { runBatch, actions } = services
  const checked = await services.semaphores.importChecks.run(() => checkForm(request, services), String(account))
  if (!('ready' in checked)) return checked
  const { ready, failed } = checked
  const store = () => storeNewLinks(runBatch, actions.links, request.actor, ready)
  const stored = await attempt(() => services.semaphores.imports.run(store, String(account)))
  if (!(stored instanceof Failure))
    return new Redirect('/app/links', { code: 'links-imported', count: ready.length, failed })
  // Someone has just taken an alias, for example. The next check finds it.
  return importPage({ ...request, fields: { ...fields, what: 'check' } }, services)
}

/** Returns the links to store if the user has confirmed them, otherwise the page with the result of the check. */
async function checkForm(
  request: PageRequest,
  services: Services,
): Promise<PageContent | { readonly ready: readonly Fields[]; readonly failed: number }> {
  const { account, fields } = request
  const timeZone = formZone(request)
  const { storage, shortUrl } = services
  const chosen = { domains: [fields.domain_id], spaces: [fields.space_id] }
  const choices = await loadChoices(storage, account, chosen)
  const file = await fileIn(fields, account, services)
  if (file instanceof FormState) return { ...formPage(file, choices, request), status: 422 }
  const { domain_id, space_id } = fields
  const parts = { storage, rules: services.actions.links.rules, completeUrl: withHttps, timeZone }
  const all = await checkRows(file, { account, domain_id, space_id }, parts)
  const rows = fields.what === 'skip_existing' ? all.filter((row) => !isStored(row)) : all
  const ready = rows.filter(isReady)
  if (fields.what === 'create' && ready.length > 0 && fields.skipped === skippedRows(rows)) {
    return { ready: ready.map((row) => row.fields), failed: rows.length - ready.length }
  }
  const tags = new Set(ready.flatMap(({ link }) => link.values.tags))
  const newTags = await findUnknownTags(storage, account, tags)
  return checkPage(file.columns, rows, { fields, newTags, choices, shortUrl, timeZone })
}

/** Returns the file or the pasted rows of a form; the form with its error if they can't be read. */
async function fileIn(fields: Fields, account: number, { storage }: Services): Promise<ImportFile | FormState> {
  const { file, rows, csv } = fields
  const isUnpacked = typeof rows === 'string'
  const name = file instanceof Buffer ? 'file' : 'csv'
  const pasted = isUnpacked ? await unpackFile(rows) : String(csv ?? '')
  const text = file instanceof Buffer ? textOfFile(file) : pasted
  const size = file instanceof Buffer ? file.length : Buffer.byteLength(pasted)
  const read = async () => {
    if (size > maxBytes && !isUnpacked) return formLimits.tooLarge
    if (text === null)
      return 'This is not a text file. In your spreadsheet, save the table as CSV, and choose that file.'
    if (text.trim() === '') return name === 'file' ? 'The file is empty.' : 'Choose a file, or paste the rows here.'
    const unknownColumns = { isSkipped: fields.skip_unknown === 'true', advice: 'leave out unknown columns' }
    return parseFile(text, { storage, account, unknownColumns, isUnpacked })
  }
  const parsed = await read()
  if (typeof parsed !== 'string') return isUnpacked ? withCorrections(parsed, fields) : parsed
  const violation = new Refusal('not_allowed.file', { reason: parsed }).at(name)
  // Browsers don't keep the file, but people can correct its text.
  return new FormState({ ...fields, csv: size > maxShownFile ? '' : (text ?? '') }, [violation])
}

function formPage(state: FormState, { domains, spaces }: Choices, request: PageRequest): PageContent {
  const timeZone = formZone(request)
  const title = 'Import links from CSV'
  if (domains.length === 0) return { title, section, body: addDomainFirst(request.actor) }
  const file = fileField(state, {
    name: 'file',
    label: 'CSV file',
    accept: '.csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain',
    help: `Up to ${formatCount(maxRows)} links and 1 MB. Commas, semicolons or tabs separate the cells.`,
  })
  const csv = textArea(state, {
    name: 'csv',
    label: 'Or paste rows',
    help: 'Copy the cells in your spreadsheet, with the names of the columns. A list of URLs works, too.',
  })
  const domain = selectField(state, {
    name: 'domain_id',
    label: linkLabels.domain_id,
    help: 'For rows that name no domain.',
    options: domains.map(domainChoice),
  })
  const space = selectField(state, {
    name: 'space_id',
    label: linkLabels.space_id,
    help: 'For rows that name no space.',
    options: [{ value: '', label: 'No space' }, ...spaces.map(spaceChoice)],
  })
  const hasError = state.violations.length > 0
  const skip = hasError ? checkbox(state, { name: 'skip_unknown', label: 'Leave out unknown columns' }) : null
  const controls = html`${file}${csv}${skip}${domains.length > 1 ? domain : null}${spaces.length > 0 ? space : null}`
  const body = html`<form method="post" action="${home}" enctype="multipart/form-data" class="form" data-guard novalidate>
<p>Each row becomes a link. The next page shows what will be created before anything is stored. <a href="${home}/template.csv">Download a template</a> for your spreadsheet.</p>
${state.withErrors(controls)}${zoneFields(timeZone)}${columnHelp(timeZone)}<div class="actions">${submitButton({ label: 'Check rows' })}<a class="button plain" href="/app/links">Cancel</a></div></form>`
  return { title, section, body }
}

function columnHelp(timeZone: string): Html {
  const body = html`<p>The first row names the columns, in any order: ${Object.values(linkLabels).join(', ')}. The field names of the API work, too.</p>
<ul class="things"><li>Only the destination is required. Without an alias, one is generated.</li>
<li>A domain is a host name, a space its name. Tags have commas between them.</li>
<li>Times look like 2026-12-31 23:59, and are in ${timeZone}. A date without a time starts a link at the beginning of that day, and stops it at the end.</li>
<li>Switches are true or false.</li></ul>`
  return collapsibleSection('Columns', '', false, body)
}

interface CheckState {
  readonly fields: Fields
  readonly newTags: readonly string[]
  readonly choices: Choices
  readonly shortUrl: ShortUrl
  readonly timeZone: string
}

/** Renders the outcome of each row: first rows with errors and their controls, then links that will be created. */
async function checkPage(
  columns: readonly string[],
  rows: readonly CheckedRow[],
  state: CheckState,
): Promise<PageContent> {
  const { fields, newTags } = state
  const ready = rows.filter(isReady)
  const failed = rows.length - ready.length
  const links = quantity(ready.length, 'link')
  const create = (label: string, weight: 'primary' | 'plain') =>
    ready.length === 0 ? null : submitButton({ label, weight, name: 'what', value: 'create' })
  const existing = rows.filter(isStored).length
  const skipLabel = `Skip ${quantity(existing, 'row')} whose alias exists already`
  const skip = submitButton({ label: skipLabel, weight: 'plain', name: 'what', value: 'skip_existing' })
  const buttons =
    failed === 0
      ? create(`Create ${links}`, 'primary')
      : html`${submitButton({ label: 'Check again', name: 'what', value: 'check' })}${existing === 0 ? null : skip}${create(`Create ${links}, skip ${quantity(failed, 'row')}`, 'plain')}`
  const summary =
    failed > 0
      ? notice('warning', summaryOf(failed, ready.length, existing), null)
      : html`<p>${rows.length === 0 ? 'Every alias in the file exists already.' : `${links} will be created.`} Nothing is stored yet.</p>`
  const kept = { domain_id: String(fields.domain_id ?? ''), space_id: String(fields.space_id ?? '') }
  const hidden = hiddenFields({
    rows: await packFile({ columns, rows: rows.map(({ row }) => row) }),
    skipped: skippedRows(rows),
    ...kept,
  })
  const body = html`<form method="post" action="${home}" enctype="multipart/form-data" class="stack" data-guard novalidate>
${onceField()}${zoneFields(state.timeZone)}${hidden}${summary}${await errorTable(columns, rows, state.choices)}${tagSentence(newTags)}${passwordSentence(ready)}
<div class="actions">${buttons}<a class="button plain" href="${home}">Start over</a></div>
${await readySection(ready, state, failed > 0)}</form>`
  return { title: `Check ${quantity(rows.length, 'row')}`, section, body }
}

/** Returns the rows with errors for a hidden field, so that "Create" stores no other rows than the page has shown. */
function skippedRows(rows: readonly CheckedRow[]): string {
  return rows.flatMap((row) => (isReady(row) ? [] : [row.row.number])).join(' ')
}

function summaryOf(failed: number, ready: number, existing: number): string {
  const [have, them] = failed === 1 ? ['has errors', 'it'] : ['have errors', 'them']
  const links = ready === 1 ? 'link' : `${formatCount(ready)} links`
  const others = ready === 0 ? '' : `, or create the other ${links} without ${them}`
  const skip = existing === 0 ? '' : ` A button below skips ${quantity(existing, 'row')} whose alias exists already.`
  return `${quantity(failed, 'row')} ${have}. Correct ${them} and check again${others}. Nothing is stored yet.${skip}`
}

function tagSentence(names: readonly string[]): Html | null {
  if (names.length === 0) return null
  const shown = names.slice(0, 10).map((name) => html`<bdi>${name}</bdi>`)
  const more = names.length > 10 ? ` and ${formatCount(names.length - 10)} more` : null
  return html`<p>${names.length === 1 ? 'This tag is' : 'These tags are'} new: ${listed(shown)}${more}.</p>`
}

/** Returns a sentence if storing takes long, because passwords are hashed one after another. */
function passwordSentence(ready: readonly ReadyRow[]): Html | null {
  const count = ready.filter(({ fields }) => fields.redirect_password).length
  if (count <= 100) return null
  return html`<p>Storing ${quantity(count, 'password')} takes about ${quantity(Math.ceil(count * 0.03), 'second')}.</p>`
}

async function errorTable(
  columns: readonly string[],
  rows: readonly CheckedRow[],
  choices: Choices,
): Promise<Html | null> {
  const all = rows.filter((row) => !isReady(row))
  if (all.length === 0) return null
  const shown = all.slice(0, rowsPerPage)
  const values = shown.flatMap(({ row }) => [
    [controlName(row, 'csv'), csvRow(row.cells).trimEnd()],
    ...columns.map((column, at) => [controlName(row, column), row.cells[at]?.slice(0, maxShownCell) ?? '']),
  ])
  const violations = shown.flatMap(({ row, link }) =>
    violationsOf(link).map(({ field, refusal }) => refusal.at(controlName(row, field))),
  )
  const state = new FormState(Object.fromEntries(values), violations)
  const more = all.length - shown.length
  const table = await longTable({
    caption: 'Rows with errors',
    rows: shown,
    columns: [
      {
        label: 'Row',
        kind: 'lead',
        cell: ({ row, fields: { url, alias = '' } }) => leadCell(row, truncateMiddle(String(alias), 40), String(url)),
      },
      { label: 'Corrections', width: 'rest', isPlain: true, cell: (row) => controlsFor(row, state, columns, choices) },
    ],
  })
  return html`${table}${more === 0 ? null : html`<p>${quantity(more, 'other row')} with errors will follow.</p>`}`
}

function leadCell({ number }: ImportRow, name: string, url: string): Html {
  return html`<bdi>${name}</bdi><span class="leads"><span class="muted">Row ${number}</span>${destination(url.slice(0, maxTargetLength), 60)}</span>`
}

/** Domains in a select. With more, a text field is faster. */
const maxDomains = 100

/** Renders a control for each error of a row. */
function controlsFor(
  { row, link }: CheckedRow,
  state: FormState,
  columns: readonly string[],
  { domains }: Choices,
): Html {
  const fields = [...new Set(violationsOf(link).map(({ field }) => field))]
  return html`<div class="stack">${fields.map((field) => {
    const control = {
      name: controlName(row, field),
      label: field === 'csv' ? 'Cells' : labelOf(field),
      unit: html`<span class="hidden-text">in row ${row.number}</span>`,
      isCode: field === 'url' || field === 'alias',
      ...(field === 'csv' && { help: `Columns: ${columns.map(labelOf).join(', ')}` }),
    }
    if (field === 'domain_id' && domains.length <= maxDomains) {
      const value = row.cells[columns.indexOf(field)] ?? ''
      return selectField(state, { ...control, options: [{ value, label: value }, ...domains.map(domainChoice)] })
    }
    const kind = linkFields[field as keyof typeof linkFields]?.kind
    const isLong = field === 'csv' || kind === 'lines' || kind === 'rules'
    return (isLong ? textArea : textField)(state, control)
  })}</div>`
}

/** Returns the violations of a row. A domain or a space with an error is unknown. */
function violationsOf(link: CheckedLink): Violation[] {
  if (!('violations' in link)) return []
  return link.violations.map((violation) => {
    const { field } = violation
    // The control has all rules, so that the sentence for the API names the place.
    if (field.startsWith('rules.')) return new Refusal('not_allowed.part', { reason: violation.message }).at('rules')
    if (field !== 'domain_id' && field !== 'space_id') return violation
    return new Refusal(field === 'domain_id' ? 'unknown_domain' : 'unknown_space', { id: '' }).at(field)
  })
}

function labelOf(field: string): string {
  return linkLabels[field as keyof typeof linkLabels] ?? field
}

async function readySection(
  ready: readonly ReadyRow[],
  { fields, choices, shortUrl }: CheckState,
  isFolded: boolean,
): Promise<Html | null> {
  if (ready.length === 0) return null
  const last = Math.ceil(ready.length / rowsPerPage)
  const page = Math.min(positiveInteger(String(fields.page)) ?? 1, last)
  const spaces = new Map(choices.spaces.map(({ id, name }) => [id, name]))
  const first = (page - 1) * rowsPerPage
  const shown = ready.slice(first, first + rowsPerPage)
  const lead: Column<ReadyRow> = {
    label: 'Link',
    kind: 'lead',
    cell: ({ row, link: { domain, values } }) =>
      leadCell(row, shortUrlText(shortUrl(domain.name, values.alias ?? '…')), values.url),
  }
  const others: readonly Column<ReadyRow>[] = [
    { label: linkLabels.title, width: 'rest', cell: ({ link }) => link.values.title },
    { label: linkLabels.space_id, width: 'large', cell: ({ link }) => spaces.get(link.values.space_id ?? 0) ?? '' },
    { label: linkLabels.tags, width: 'large', cell: ({ link }) => link.values.tags.join(', ') },
  ]
  const columns = [lead, ...others.filter(({ cell }) => shown.some((row) => cell(row)))]
  const rows = await longTable({ caption: 'Links that will be created', rows: shown, columns })
  const to = (page: number, label: string, isPossible: boolean) =>
    isPossible ? submitButton({ label, weight: 'plain', name: 'page', value: String(page) }) : null
  const pager = html`<div class="pages"><p data-count>${formatCount(first + 1)}–${formatCount(first + shown.length)} of ${formatCount(ready.length)}</p>
<div class="actions">${to(page - 1, 'Previous', page > 1)}${to(page + 1, 'Next', page < last)}</div></div>`
  const isOpen = !isFolded || fields.page !== undefined
  return collapsibleSection(
    `${quantity(ready.length, 'link')} ready`,
    '',
    isOpen,
    html`${rows}${last > 1 ? pager : null}`,
  )
}
