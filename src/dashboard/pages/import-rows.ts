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
  const first = { sort_by: 'id', sort: 'asc', page: null, after: null, proof: null } as const
  return (await loadRows(services, account, id, { ...first, outcome, per_page })).rows
}

/** Returns the list of rows with the filters of the page. */
export function rowList(path: string, { query }: PageRequest, names: readonly string[], defaults: object) {
  const given = Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
  const form = importOperations.rows.query as ConstructorParameters<typeof ListState<ImportRowsQuery>>[2]
  const asOutcome = (given: Fields) => (given.outcome === 'unmapped' ? { ...given, outcome: 'refuse' } : given)
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

/** Renders the rows that need a look, and those with warnings. */
export async function rowsSection(...shown: Parameters<typeof lookedSection>): Promise<Html> {
  return html`${await lookedSection(...shown)}${await warningSection(...shown)}`
}

/** Renders a page of the rows that need a look, with links to the other kinds. Returns null without any. */
async function lookedSection(stored: StoredImport, request: PageRequest, services: RowServices): Promise<Html | null> {
  const counts = countRows(stored)
  const found = looked.filter((each) => counts[each] > 0)
  const [first] = found
  if (first === undefined) return null
  const path = `/app/import/${stored.id}`
  const asked = found.find((each) => each === request.query.outcome) ?? first
  const list = rowList(path, request, ['page', 'per_page'], { outcome: asked, sort: 'asc' })
  const isUnmapped = asked === 'unmapped' || asked === 'refuse' ? asked === 'unmapped' : undefined
  const page = await loadRows(services, request.account, stored.id, { ...list.query, isUnmapped })
  const tabs = found.map(
    (each) =>
      [`${path}?outcome=${each}#rows`, `${outcomeNames[each]} ${formatCount(counts[each])}`, each === asked] as const,
  )
  const rows = table<ShownRow>({
    caption: outcomeNames[asked],
    rows: page.rows,
    columns: [
      addressColumn,
      placeColumn(page.rows),
      { label: 'Reason', width: 'rest', cell: (row) => reasonOf(row, services.shortUrl) },
    ],
  })
  return html`<section id="rows"><h2>Rows to look at</h2>${tabBar('Outcomes', tabs)}${rows}${list.pagination(page)}</section>`
}

/** The first rows with warnings that a page shows. */
const maxWarned = 50

/** Renders the first rows with warnings about the values that they store. Returns null without any. */
async function warningSection(
  { id }: StoredImport,
  { account }: PageRequest,
  services: RowServices,
): Promise<Html | null> {
  const first = { sort_by: 'id', sort: 'asc', page: null, after: null, proof: null, outcome: null } as const
  const page = await loadRows(services, account, id, { ...first, warning: '%', per_page: maxWarned })
  if (page.rows.length === 0) return null
  const rows = table<ShownRow>({
    caption: 'Rows with warnings',
    rows: page.rows,
    columns: [
      addressColumn,
      placeColumn(page.rows),
      {
        label: 'Warning',
        width: 'rest',
        cell: ({ row }) =>
          html`${parseWarnings(row.warnings).map(({ message }) => html`<p>${message}</p>`)}${
            row.link_id === null ? null : html`<a href="/app/links/${row.link_id}/edit">Edit</a>`
          }`,
      },
    ],
  })
  const all =
    page.total > page.rows.length
      ? html`<p>The first ${formatCount(maxWarned)} of ${formatCount(page.total)}.</p>`
      : null
  return html`<section id="warnings"><h2>Rows with warnings</h2><p>Warnings don’t stop the import. To change a value, edit the file now, or the link afterwards.</p>${rows}${all}</section>`
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
