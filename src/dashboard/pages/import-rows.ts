/** The rows of an import: counts by outcome, and tables of them. */
import type { Form } from '../../forms/form.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { ImportActions } from '../../imports/actions.ts'
import { plainAddress, type RowKind, reportImport, rowKinds } from '../../imports/report.ts'
import { importPageOf } from '../../imports/routes.ts'
import { type ImportRowsQuery, importOperations } from '../../imports/schema.ts'
import type { ListedAddress, ListedRow } from '../../imports/staging/store.ts'
import type { StoredImport } from '../../imports/store.ts'
import { formatCount } from '../../lib/format.ts'
import { encodeAlias, type ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { ListState } from '../lists.ts'
import type { PageRequest } from '../page.ts'
import { attributes } from '../parts/buttons.ts'
import { destination, shortUrlText, truncateMiddle } from '../parts/links.ts'
import { type Column, table } from '../parts/table.ts'

export interface RowServices {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly imports: ImportActions
}

/** Returns the list of rows with the filters of the page. */
export function rowList(path: string, { query }: PageRequest, names: readonly string[], defaults: object) {
  const given = Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
  const form = importOperations.rows.query as Form<ImportRowsQuery>
  const asOutcome = ({ outcome = '', ...others }: Fields) => {
    const meant = outcome === 'unmapped' ? 'refuse' : outcome
    return meant === 'warnings' || meant === '' ? others : { ...others, outcome: meant }
  }
  const ofPage = { check: (query: Fields) => form.check(asOutcome(query)) }
  return new ListState(path, { ...defaults, ...given }, ofPage, importPageOf)
}

/** Renders an address in the file. */
export function oldAddress({ host, path, domainName }: ListedAddress): Html {
  return html`<bdi dir="ltr">${shortUrlText(`${host || (domainName ?? '')}/${encodeAlias(path)}`)}</bdi>`
}

/** Renders an address here. */
export function newAddress({ domainName, alias }: ListedAddress, shortUrl: ShortUrl): Html | null {
  if (domainName === null || alias === null) return null
  return html`<bdi class="mono" dir="ltr">${shortUrlText(plainAddress(shortUrl(domainName, alias)))}</bdi>`
}

/** Renders the number of rows of each kind, with other figures. */
export function figures(stored: StoredImport, others: readonly (readonly [label: string, value: string])[] = []): Html {
  const counts = reportImport(stored).rows
  const ofRows = Object.entries(rowKinds).flatMap(([kind, name]) =>
    counts[kind as RowKind] === 0 ? [] : [[name, formatCount(counts[kind as RowKind])] as const],
  )
  const all = [...ofRows, ...others].map(
    ([label, value]) => html`<div><dt>${label}</dt><dd><span class="figure">${value}</span></dd></div>`,
  )
  return html`<dl class="figures">${all}</dl>`
}

const addressColumn: Column<ListedRow> = {
  label: 'Address',
  kind: 'lead',
  cell: ({ addresses, content }) =>
    html`${addresses.slice(0, 1).map(oldAddress)}<span class="leads">${destination(content.fields.url ?? '', 48)}</span>`,
}

function placeColumn(rows: readonly ListedRow[]): Column<ListedRow> {
  const label = rows.some(({ line }) => line !== null) ? 'Line' : 'Row'
  return { label, kind: 'number', cell: ({ id, line }) => formatCount(line ?? id) }
}

/** The kinds of rows that need a look, the most urgent first. */
const looked: readonly RowKind[] = ['refuse', 'unmapped', 'conflict', 'skip', 'known', 'rename']

/** Renders one page with the rows that need a look or have warnings, with links to the other kinds. Returns null without any. */
export async function rowsSection(stored: StoredImport, request: PageRequest, services: RowServices) {
  const counts = reportImport(stored).rows
  const { total } = await services.imports.firstRows(request.account, stored.id, warned, 1)
  const all = [
    ...looked.map((kind) => [kind, rowKinds[kind], counts[kind]] as const),
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
  const page = await services.imports.listStoredRows(request.account, stored.id, query)
  const tabs = found.map(
    ([kind, name, count]) => [`${path}?outcome=${kind}#rows`, `${name} ${formatCount(count)}`, kind === asked] as const,
  )
  const reason = (row: ListedRow) => (isWarned ? renderWarnings(row) : renderReason(row, services.shortUrl))
  const columns: Column<ListedRow>[] = [
    addressColumn,
    placeColumn(page.rows),
    { label: isWarned ? 'Warning' : 'Reason', width: 'rest', cell: reason },
  ]
  const rows = table<ListedRow>({ caption, rows: page.rows, columns })
  const advice = isWarned
    ? html`<p>Warnings don’t stop the import. To change a value, edit the file now, or the link afterwards.</p>`
    : null
  return html`<section id="rows"><h2>Rows to look at</h2>${tabBar('Outcomes', tabs)}${advice}${rows}${list.pagination(page)}</section>`
}

const warned = { warning: 'any' } as const

function renderWarnings({ decision: { linkId, warnings } }: ListedRow): Html {
  const edit = linkId === null ? null : html`<a href="/app/links/${linkId}/edit">Edit</a>`
  return html`<div>${warnings.map(({ message }) => html`<p>${message}</p>`)}${edit}</div>`
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

function renderReason({ decision, addresses }: ListedRow, shortUrl: ShortUrl): Html {
  const { outcome, message, linkId } = decision
  if (outcome === 'refuse') return html`${truncateMiddle(message ?? '', 300)}`
  const [address] = addresses
  const name = address === undefined ? null : newAddress(address, shortUrl)
  if (outcome === 'rename') return html`Becomes ${name}`
  if (outcome === 'skip' && linkId === null) return html`${message ?? ''}`
  if (linkId === null) return html`An earlier row is the same.`
  const link = html`<a href="/app/links/${linkId}">${name ?? 'A link'}</a>`
  return outcome === 'known' ? html`${link} exists with the same values.` : html`${link} has another destination.`
}
