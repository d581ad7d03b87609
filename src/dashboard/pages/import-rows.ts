/** The rows of an import: counts by outcome, and tables of them. */
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { ImportActions } from '../../imports/actions.ts'
import { type ImportRowsQuery, importOperations, type Outcome } from '../../imports/schema.ts'
import { type Content, domainNames, type ListedRow, parseWarnings } from '../../imports/staging/store.ts'
import type { StoredImport } from '../../imports/store.ts'
import { pathOf, type ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { ListState } from '../lists.ts'
import type { PageRequest } from '../page.ts'
import { attributes } from '../parts/buttons.ts'
import { formatCount } from '../parts/format.ts'
import { countRows, outcomeNames, plainAddress, type RowKind, reasonText } from '../parts/imports.ts'
import { destination, shortUrlText, truncateMiddle } from '../parts/links.ts'
import { type Column, table } from '../parts/table.ts'

export interface RowServices {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly imports: ImportActions
}

/** An address of a row, with the name of its domain. */
type Address = ListedRow['addresses'][number] & { readonly domainName: string | null }

export interface ShownRow {
  readonly row: ListedRow['row']
  readonly content: Content
  readonly addresses: readonly Address[]
}

/** Returns a page of the rows of the account's import. */
export async function loadRows({ storage, imports }: RowServices, account: number, id: number, query: ImportRowsQuery) {
  const page = await imports.listStoredRows(account, id, query)
  const domains = page.rows.flatMap(({ addresses }) => addresses.flatMap(({ domain_id }) => domain_id ?? []))
  const names = await domainNames(storage, account, [...new Set(domains)])
  const rows = page.rows.map(({ row, addresses }): ShownRow => {
    const named = addresses.map((each) => ({ ...each, domainName: names.get(each.domain_id ?? 0) ?? null }))
    return { row, content: JSON.parse(row.content), addresses: named }
  })
  return { ...page, rows }
}

/** Returns the first rows with an outcome. */
export async function firstRows(
  services: RowServices,
  account: number,
  id: number,
  outcome: Outcome,
  per_page: number,
): Promise<readonly ShownRow[]> {
  return (await loadRows(services, account, id, { ...start, outcome, per_page })).rows
}

/** Returns the list of rows with the filters of the page. */
export function rowList(path: string, { query }: PageRequest, names: readonly string[], defaults: object) {
  const given = Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
  const form = importOperations.rows.query as ConstructorParameters<typeof ListState<ImportRowsQuery>>[2]
  const asOutcome = ({ outcome = '', ...others }: Fields) => {
    const meant = outcome === 'unmapped' ? 'refuse' : outcome
    return meant === 'warnings' || meant === '' ? others : { ...others, outcome: meant }
  }
  const none = {
    search: [],
    searchIn: [],
    filter: {},
    sortBy: 'id',
    direction: 'asc',
    limit: 0,
    offset: 0,
    after: null,
  } as const
  return new ListState<ImportRowsQuery>(
    path,
    { ...defaults, ...given },
    { check: (query) => form.check(asOutcome(query)) },
    () => none,
  )
}

/** Renders an address of the file. */
export function oldAddress({ host, path, domainName }: Address): Html {
  return html`<bdi dir="ltr">${shortUrlText(`${host || (domainName ?? '')}/${pathOf(path)}`)}</bdi>`
}

/** Renders an address here. */
export function newAddress({ domainName, alias }: Address, shortUrl: ShortUrl): Html | null {
  if (domainName === null || alias === null) return null
  return html`<bdi class="mono" dir="ltr">${shortUrlText(plainAddress(shortUrl(domainName, alias)))}</bdi>`
}

/** Renders the number of rows of each kind, with other figures. */
export function figures(stored: StoredImport, others: readonly (readonly [label: string, value: string])[] = []): Html {
  const counts = countRows(stored)
  const ofRows = Object.entries(outcomeNames).flatMap(([kind, name]) =>
    counts[kind as RowKind] === 0 ? [] : [[name, formatCount(counts[kind as RowKind])] as const],
  )
  const all = [...ofRows, ...others].map(
    ([label, value]) => html`<div><dt>${label}</dt><dd><span class="figure">${value}</span></dd></div>`,
  )
  return html`<dl class="figures">${all}</dl>`
}

const addressColumn: Column<ShownRow> = {
  label: 'Address',
  kind: 'lead',
  cell: ({ addresses, content }) =>
    html`${addresses.slice(0, 1).map(oldAddress)}<span class="leads">${destination(content.fields.url ?? '', 48)}</span>`,
}

function placeColumn(rows: readonly ShownRow[]): Column<ShownRow> {
  const label = rows.some(({ row }) => row.line !== null) ? 'Line' : 'Row'
  return { label, kind: 'number', cell: ({ row }) => formatCount(row.line ?? row.id) }
}

/** The kinds of rows that need a look, the most urgent first. */
const looked: readonly RowKind[] = ['refuse', 'unmapped', 'conflict', 'skip', 'known', 'rename']

/** Renders a page of the rows that need a look or have warnings, with links to the other kinds. Returns null without any. */
export async function rowsSection(stored: StoredImport, request: PageRequest, services: RowServices) {
  const counts = countRows(stored)
  const { total } = await loadRows(services, request.account, stored.id, {
    ...start,
    outcome: null,
    ...warned,
    per_page: 1,
  })
  const all = [
    ...looked.map((kind) => [kind, outcomeNames[kind], counts[kind]] as const),
    ['warnings', 'Warnings', total] as const,
  ]
  const found = all.filter(([, , count]) => count > 0)
  const chosen = found.find(([kind]) => kind === request.query.outcome) ?? found[0]
  if (chosen === undefined) return null
  const [asked, caption] = chosen
  const path = `/app/import/${stored.id}`
  const list = rowList(path, request, ['page', 'per_page'], { outcome: asked, sort: 'asc' })
  const isUnmapped = asked === 'unmapped' || asked === 'refuse' ? asked === 'unmapped' : undefined
  const isWarned = asked === 'warnings'
  const query = { ...list.query, ...(isWarned ? warned : { isUnmapped }) }
  const page = await loadRows(services, request.account, stored.id, query)
  const tabs = found.map(
    ([kind, name, count]) => [`${path}?outcome=${kind}#rows`, `${name} ${formatCount(count)}`, kind === asked] as const,
  )
  const reason = (row: ShownRow) => (isWarned ? warningsOf(row) : reasonOf(row, services.shortUrl))
  const columns: Column<ShownRow>[] = [
    addressColumn,
    placeColumn(page.rows),
    { label: isWarned ? 'Warning' : 'Reason', width: 'rest', cell: reason },
  ]
  const rows = table<ShownRow>({ caption, rows: page.rows, columns })
  const advice = isWarned
    ? html`<p>Warnings don’t stop the import. To change a value, edit the file now, or the link afterwards.</p>`
    : null
  return html`<section id="rows"><h2>Rows to look at</h2>${tabBar('Outcomes', tabs)}${advice}${rows}${list.pagination(page)}</section>`
}

const start = { sort_by: 'id', sort: 'asc', page: null, after: null, proof: null } as const
const warned = { warning: true } as const

function warningsOf({ row }: ShownRow): Html {
  const edit = row.link_id === null ? null : html`<a href="/app/links/${row.link_id}/edit">Edit</a>`
  return html`<div>${parseWarnings(row.warnings).map(({ message }) => html`<p>${message}</p>`)}${edit}</div>`
}

/** Renders links to the other parts of a table. */
export function tabBar(
  label: string,
  tabs: readonly (readonly [href: string, words: string, isCurrent: boolean])[],
): Html {
  const links = tabs.map(
    ([href, words, isCurrent]) =>
      html`<a${attributes({ href, 'aria-current': isCurrent ? 'true' : null })}>${words}</a>`,
  )
  return html`<div class="periods"><nav aria-label="${label}">${links}</nav></div>`
}

function reasonOf({ row, addresses }: ShownRow, shortUrl: ShortUrl): Html {
  const { outcome, code, message, link_id } = row
  if (outcome === 'refuse') return html`${truncateMiddle(reasonText(code, message), 300)}`
  const [address] = addresses
  const name = address === undefined ? null : newAddress(address, shortUrl)
  if (outcome === 'rename') return html`Becomes ${name}`
  if (outcome === 'skip' && link_id === null) return html`${message ?? ''}`
  if (link_id === null) return html`An earlier row is the same.`
  const link = html`<a href="/app/links/${link_id}">${name ?? 'A link'}</a>`
  return outcome === 'known' ? html`${link} exists with the same values.` : html`${link} has another destination.`
}
