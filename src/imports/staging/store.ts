/** Queries of the rows, addresses and days of an import. Callers have found the import by its account. */
import { type ExpressionBuilder, sql } from 'kysely'
import { countedMatches, type Db, type Page, parts, type Storage } from '../../storage/port.ts'
import { excluded, query, type Row, valueById } from '../../storage/schema.ts'
import type { Database } from '../../storage/tables.ts'
import type { ShownWarning, WarningCode } from '../../warnings.ts'
import { deleteDays } from '../days/store.ts'
import type { FileRow, LossKind } from '../file-row.ts'
import type { ProofResult } from '../proof.ts'
import { type ImportRowsQuery, linkedOutcomes, type RowOutcome } from '../schema.ts'

/** What is stored of a row of a file: no plain password. */
export interface Content extends Omit<FileRow, 'line' | 'addresses' | 'refusal'> {
  readonly refusal: { readonly code: string; readonly message: string } | null
  /** The hash of the link's password. */
  readonly password: string | null
}

/** An address of a row. `host` is '' if the file has none. `alias` is null if the link of the row does not get it. */
export interface StagedAddress {
  readonly host: string
  readonly path: string
  readonly folded: string
  readonly domain_id: number | null
  readonly alias: string | null
  readonly exact: boolean
  readonly legacy: boolean
}

/** What happens to a row. `changes` has the values of an updated link before and after. */
export interface RowDecision {
  readonly outcome: RowOutcome
  readonly code: string | null
  readonly message: string | null
  /** The link that the row has stored, or that has its address. */
  readonly linkId: number | null
  readonly changes: Readonly<Record<string, readonly [before: unknown, after: unknown]>> | null
  readonly losses: readonly LossKind[]
  readonly warnings: readonly ShownWarning[]
}

export interface StagedRow {
  readonly id: number
  readonly line: number | null
  readonly content: Content
  readonly cells: readonly string[] | null
  /** The key by which clicks of the file refer to the row. */
  readonly reference: string | null
  readonly addresses: readonly StagedAddress[]
  readonly decision: RowDecision | null
}

/** Rows that one statement stores. */
const storedTogether = 64

/** Stores rows, or their new contents, decisions and addresses. */
export async function saveRows(tx: Db, importId: number, rows: readonly StagedRow[]): Promise<void> {
  for (const some of parts(rows, storedTogether)) {
    const insertion = query.insertInto('import_rows').values(some.map((row) => rowColumns(importId, row)))
    const changed = excluded('content', 'cells', 'outcome', 'link_id', 'decision')
    await tx.execute(insertion.onConflict((conflict) => conflict.columns(['import_id', 'id']).doUpdateSet(changed)))
  }
  const addresses = rows.flatMap((row) =>
    row.addresses.map((address, at) => addressColumns(importId, row.id, at, address)),
  )
  for (const values of parts(addresses, storedTogether)) {
    const insertion = query.insertInto('import_addresses').values(values)
    const changed = excluded('domain_id', 'alias', 'exact', 'legacy')
    await tx.execute(
      insertion.onConflict((conflict) => conflict.columns(['import_id', 'row_id', 'position']).doUpdateSet(changed)),
    )
  }
}

/** Stores which links rows have stored. */
export async function setLinks(tx: Db, importId: number, links: ReadonlyMap<number, number>): Promise<void> {
  for (const some of parts([...links])) {
    const ids = some.map(([row]) => row)
    const own = query.updateTable('import_rows').where('import_id', '=', importId).where('id', 'in', ids)
    await tx.execute(own.set({ link_id: valueById(ids, links) }))
  }
}

/** Deletes the addresses of rows that are read again. */
export async function deleteAddresses(tx: Db, importId: number, rows: readonly number[]): Promise<void> {
  if (rows.length === 0) return
  await tx.execute(query.deleteFrom('import_addresses').where('import_id', '=', importId).where('row_id', 'in', rows))
}

/** The outcome and the link are columns, because queries select rows by them. The warnings come last: see `hasWarning`. */
function rowColumns(import_id: number, { id, line, content, cells, reference, decision }: StagedRow) {
  const { outcome = null, linkId = null, warnings = [], ...others } = decision ?? {}
  return {
    ...{ import_id, id, line, content: JSON.stringify(content), cells: cells && JSON.stringify(cells), reference },
    ...{ outcome, link_id: linkId, decision: decision && JSON.stringify({ ...others, warnings }) },
  }
}

function addressColumns(import_id: number, row_id: number, position: number, address: StagedAddress) {
  const { host, path, folded, domain_id, alias, exact, legacy } = address
  return { import_id, row_id, position, host, path, folded, domain_id, alias, exact: +exact, legacy: +legacy }
}

type StoredRow = Row<'import_rows'>

function toStagedRow(row: StoredRow, addresses: readonly StoredAddress[]): StagedRow {
  return {
    ...{ id: row.id, line: row.line, content: JSON.parse(row.content), cells: row.cells && JSON.parse(row.cells) },
    reference: row.reference,
    ...{ addresses: addresses.map(toAddress), decision: row.outcome === null ? null : toDecision(row) },
  }
}

function toDecision({ outcome, link_id, decision }: StoredRow): RowDecision {
  return { outcome: outcome as RowOutcome, linkId: link_id, ...JSON.parse(decision as string) }
}

type StoredAddress = Row<'import_addresses'>

function toAddress<Stored extends StoredAddress>({ exact, legacy, ...address }: Stored) {
  return { ...address, exact: exact === 1, legacy: legacy === 1 }
}

/** Reads rows after a row, in the order of the file; only those with these outcomes, if any are given. */
export async function readRows(
  db: Db,
  importId: number,
  { after, limit, only }: { readonly after: number; readonly limit: number; readonly only?: readonly RowOutcome[] },
): Promise<StagedRow[]> {
  const all = query.selectFrom('import_rows').selectAll().where('import_id', '=', importId).where('id', '>', after)
  const wanted = only === undefined ? all : all.where('outcome', 'in', only)
  return withAddresses(db, importId, await db.execute(wanted.orderBy('id').limit(limit)))
}

/** Returns whether an import has rows without a decision. */
export async function hasUndecided(db: Db, importId: number): Promise<boolean> {
  const own = query.selectFrom('import_rows').select('id').where('import_id', '=', importId)
  return (await db.execute(own.where('outcome', 'is', null).limit(1))).length > 0
}

/** Returns the rows with these ids. */
export async function findRows(db: Db, importId: number, ids: readonly number[]): Promise<StagedRow[]> {
  if (ids.length === 0) return []
  const own = query.selectFrom('import_rows').selectAll().where('import_id', '=', importId).where('id', 'in', ids)
  return withAddresses(db, importId, await db.execute(own.orderBy('id')))
}

async function withAddresses(db: Db, importId: number, rows: readonly StoredRow[]): Promise<StagedRow[]> {
  const byRow = await findAddresses(
    db,
    importId,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => toStagedRow(row, byRow.get(row.id) ?? []))
}

/** Returns the addresses of rows, with the results of their proof, by row. */
async function findAddresses(
  db: Db,
  importId: number,
  rows: readonly number[],
): Promise<ReadonlyMap<number, readonly StoredAddress[]>> {
  if (rows.length === 0) return new Map()
  const own = query.selectFrom('import_addresses').selectAll().where('import_id', '=', importId)
  const found: StoredAddress[] = []
  for (const some of parts(rows)) {
    found.push(...(await db.execute(own.where('row_id', 'in', some).orderBy('row_id').orderBy('position'))))
  }
  return Map.groupBy(found, ({ row_id }) => row_id)
}

/** An address with the name of its domain and the result of its proof. */
export interface ListedAddress extends StagedAddress, Omit<StoredAddress, 'result' | keyof StagedAddress> {
  readonly result: ProofResult | null
  readonly domainName: string | null
}

/** A decided row as lists show it. */
export interface ListedRow extends Omit<StagedRow, 'addresses' | 'decision'> {
  readonly addresses: readonly ListedAddress[]
  readonly decision: RowDecision
}

/** Lists a page of rows. */
export async function listRows(
  storage: Storage,
  account: number,
  importId: number,
  request: ImportRowsQuery,
): Promise<Page<ListedRow>> {
  const { sort, per_page, page, after } = request
  const wanted = selectRows(importId, request)
  const following = after === null ? wanted : wanted.where('id', sort === 'asc' ? '>' : '<', after)
  const pageIds = following
    .orderBy('id', sort)
    .limit(after === null ? per_page : per_page + 1)
    .offset(Math.min(((page ?? 1) - 1) * per_page, Number.MAX_SAFE_INTEGER))
  const ids = (await storage.scan(account, pageIds)).map(([id]) => Number(id))
  const counted = query
    .selectFrom(wanted.limit(countedMatches + 1).as('counted'))
    .select(({ fn }) => fn.countAll().as('total'))
  const [[matches] = []] = await storage.scan(account, counted)
  const rows = await findRows(storage, importId, ids)
  const domains = rows.flatMap(({ addresses }) => addresses.flatMap(({ domain_id }) => domain_id ?? []))
  const names = await domainNames(storage, account, [...new Set(domains)])
  const listed = rows.map((row) => ({
    ...(row as ListedRow),
    addresses: row.addresses.map((address) => ({
      ...(address as ListedAddress),
      domainName: names.get(address.domain_id ?? 0) ?? null,
    })),
  }))
  const total = Number(matches)
  return {
    rows: sort === 'asc' ? listed : listed.reverse(),
    total: Math.min(total, countedMatches),
    totalIsExact: total <= countedMatches,
  }
}

/** Selects the ids of the decided rows that a filter selects. A plan that reads rows again leaves others undecided for a while. */
function selectRows(importId: number, { outcome, proof, warning = null, isUnmapped }: ImportRowsQuery) {
  const all = query.selectFrom('import_rows').select('id').where('import_id', '=', importId)
  let rows = all.where('outcome', 'is not', null)
  if (outcome !== null) rows = rows.where('outcome', '=', outcome)
  if (isUnmapped !== undefined) {
    rows = rows.where('decision', isUnmapped ? 'like' : 'not like', '{"code":"unmapped_host"%')
  }
  if (proof !== null) rows = rows.where(hasResult(importId, proof))
  return warning === null ? rows : rows.where('decision', 'like', hasWarning(warning === 'any' ? '' : warning))
}

/** Returns the pattern of decisions with a warning. Quotes in the JSON of a text have backslashes, so no text matches. */
function hasWarning(code: WarningCode | ''): string {
  return `%"warnings":[{%"code":"${code}${code === '' ? '%' : '"%'}`
}

/** Returns the condition for rows with an address that has this result. All are pending before the first proof. */
function hasResult(importId: number, result: ProofResult) {
  const addresses = query.selectFrom('import_addresses').select('row_id').where('import_id', '=', importId)
  return ({ eb, and, or, ref }: ExpressionBuilder<Pick<Database, 'import_rows'>, 'import_rows'>) => {
    const hasIt = eb(ref('id'), 'in', addresses.where('result', '=', result))
    const isNew = and([
      eb('outcome', 'in', linkedOutcomes),
      eb(ref('id'), 'in', addresses.where('result', 'is', null).where('domain_id', 'is not', null)),
    ])
    return result === 'pending' ? or([hasIt, isNew]) : hasIt
  }
}

/** Returns the names of the account's domains with these ids. */
async function domainNames(db: Db, account: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map()
  const domains = query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  return new Map((await db.execute(domains.where('id', 'in', ids))).map(({ id, name }) => [id, name]))
}

/** An address of any row, with the URL and the outcome of its row. */
export type FileEntry = Pick<StoredAddress, 'row_id' | 'host' | 'path' | 'folded'> &
  Pick<StoredRow, 'outcome'> & { readonly url: string | null }

/** Addresses with the same folded alias that are compared: a hostile file could have 100,000 of them. */
const maxSame = 100

/** Returns the addresses of a file with these folded aliases, the first `maxSame` for each, in the order of rows. */
export async function entriesWith(db: Db, importId: number, folded: readonly string[]): Promise<FileEntry[]> {
  const own = query.selectFrom('import_addresses').where('import_addresses.import_id', '=', importId)
  const rows = own.innerJoin('import_rows', (join) =>
    join.onRef('import_rows.import_id', '=', 'import_addresses.import_id').onRef('import_rows.id', '=', 'row_id'),
  )
  const entries = rows.select([
    'row_id',
    'host',
    'path',
    'folded',
    'outcome',
    sql<string | null>`content -> 'fields' ->> 'url'`.as('url'),
  ])
  const found: FileEntry[] = []
  for (const some of parts(folded)) {
    const counted = own.select('folded').where('folded', 'in', some).groupBy('folded')
    const many = await db.execute(counted.having(({ fn }) => fn.countAll(), '>', maxSame))
    const frequent = new Set(many.map((row) => row.folded))
    const others = some.filter((each) => !frequent.has(each))
    if (others.length > 0) found.push(...(await db.execute(entries.where('folded', 'in', others))))
    for (const each of frequent) {
      const first = entries.where('folded', '=', each).orderBy('row_id').limit(maxSame)
      found.push(...(await db.execute(first)))
    }
  }
  // With this order in the query of several aliases, SQLite would read all addresses of the file.
  return found.sort((a, b) => a.row_id - b.row_id)
}

/** Returns the aliases of a file with one of these folded aliases and its URL, by URL and folded alias. */
export async function aliasesInFile(
  db: Db,
  importId: number,
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const found = new Map<string, Map<string, string>>()
  for (const { folded, path, url } of await entriesWith(db, importId, [...wanted.keys()])) {
    if (url !== null && wanted.get(folded)?.has(url)) found.getOrInsertComputed(url, () => new Map()).set(folded, path)
  }
  return found
}

/** The content of a row whose link was deleted permanently. */
const erasedContent: Content = {
  ...{ host: null, fields: { url: '' }, created_at: null, clicks: null, bots: null, losses: [] },
  ...{ refusal: null, password: null },
}

/** Returns whether the link of a row was deleted permanently after the import was applied. */
export async function isErased(db: Db, importId: number, row: number): Promise<boolean> {
  const own = query.selectFrom('import_rows').select('id').where('import_id', '=', importId).where('id', '=', row)
  const erased = own.where(sql`cast(content as text)`, '=', JSON.stringify(erasedContent))
  return (await db.execute(erased)).length > 0
}

/**
 * Removes the values of permanently deleted links from rows of the account's imports: of this link, or of all if `link` is
 * null. Rows that are not applied lose only the previous values of the link. Outcomes, lines and main addresses stay. Searches
 * in the background.
 */
export async function eraseDeletedLinks(storage: Storage, account: number, link: number | null): Promise<void> {
  const deletions = query
    .selectFrom('events')
    .select('record_id')
    .where('account_id', '=', account)
    .where('record', '=', 'link')
    .where('action', '=', 'deleted')
    .where('changes', 'is', null)
  const isApplied = sql<number>`case when import_rows.id <= applied_row then 1 else 0 end`
  const linked = query
    .selectFrom('import_rows')
    .innerJoin('imports', 'imports.id', 'import_id')
    .select(['import_id', 'import_rows.id', isApplied.as('is_applied')])
    .where('account_id', '=', account)
    .where(({ or, and, eb, ref }) => {
      const isWhole = eb(sql`cast(content as text)`, '<>', JSON.stringify(erasedContent))
      const hasChanges = eb('decision', 'not like', '%"changes":null%')
      return or([hasChanges, and([eb('import_rows.id', '<=', ref('applied_row')), isWhole])])
    })
  const found = await storage.scan(
    account,
    link === null ? linked.where('link_id', 'in', deletions) : linked.where('link_id', '=', link),
  )
  for (const some of parts(found, storedTogether)) {
    for (const [importId, rows] of Map.groupBy(some, ([importId]) => Number(importId))) {
      const applied = rows.flatMap(([, id, isApplied]) => (Number(isApplied) === 1 ? [Number(id)] : []))
      // Before their addresses are erased.
      await deleteDays(storage, importId, applied)
      const ids = rows.map(([, id]) => Number(id))
      await storage.write((tx) => eraseRows(tx, importId, ids, new Set(applied)))
    }
  }
}

async function eraseRows(tx: Db, importId: number, ids: readonly number[], applied: ReadonlySet<number>) {
  const rows = (await findRows(tx, importId, ids)).map((row) => {
    const decision = row.decision && { ...row.decision, changes: null }
    if (!applied.has(row.id)) return { ...row, decision }
    const left = decision && { ...decision, message: null, warnings: [] }
    return { ...row, content: erasedContent, cells: null, decision: left }
  })
  await saveRows(tx, importId, rows)
  if (applied.size === 0) return
  const values = { old_location: null, new_location: null, reason: null }
  const own = query
    .updateTable('import_addresses')
    .where('import_id', '=', importId)
    .where('row_id', 'in', [...applied])
  await tx.execute(own.set(values))
  // The rows stay, because the figures of the proof count them.
  await tx.execute(own.set({ path: '', folded: '', alias: null, domain_id: null }).where('position', '>', 0))
}

/** Deletes some of the rows, addresses and days of an import. Returns whether there may be more. */
export async function deleteSome(db: Db, importId: number, limit: number): Promise<boolean> {
  for (const [table, key] of [
    ['import_days', 'id'],
    ['import_addresses', 'row_id'],
    ['import_rows', 'id'],
  ] as const) {
    const own = query
      .selectFrom(table)
      .select(key as 'id')
      .where('import_id', '=', importId)
      .orderBy(key as 'id')
    const ids = (await db.execute(own.limit(limit))).map((row) => (row as Record<string, number>)[key] as number)
    if (ids.length === 0) continue
    await db.execute(
      query
        .deleteFrom(table)
        .where('import_id', '=', importId)
        .where(key as 'id', 'in', [...new Set(ids)]),
    )
    return true
  }
  return false
}
