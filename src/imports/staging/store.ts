/** Queries of the rows, addresses and days of an import. Callers have found the import by its account. */
import { type ExpressionBuilder, sql } from 'kysely'
import { countedMatches, type Db, type Page, parts, type Storage } from '../../storage/port.ts'
import { query, type Row, valueById } from '../../storage/schema.ts'
import type { Database } from '../../storage/tables.ts'
import type { ShownWarning } from '../../warnings.ts'
import { deleteDays } from '../days/store.ts'
import type { FileRow, LossKind } from '../file-row.ts'
import type { ProofResult } from '../proof.ts'
import { type ImportRowsQuery, linkedOutcomes, type Outcome } from '../schema.ts'

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
export interface Decision {
  readonly outcome: Outcome
  readonly code: string | null
  readonly message: string | null
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
  readonly addresses: readonly StagedAddress[]
  readonly decision: Decision | null
}

/** Rows that one statement stores. */
const storedTogether = 64

/** Stores rows, or their new contents, decisions and addresses. */
export async function saveRows(tx: Db, importId: number, rows: readonly StagedRow[]): Promise<void> {
  for (const some of parts(rows, storedTogether)) {
    const insertion = query.insertInto('import_rows').values(some.map((row) => rowOf(importId, row)))
    await tx.execute(
      insertion.onConflict((conflict) =>
        conflict.columns(['import_id', 'id']).doUpdateSet(({ ref }) => ({
          content: ref('excluded.content'),
          outcome: ref('excluded.outcome'),
          code: ref('excluded.code'),
          message: ref('excluded.message'),
          link_id: ref('excluded.link_id'),
          changes: ref('excluded.changes'),
          losses: ref('excluded.losses'),
          warnings: ref('excluded.warnings'),
        })),
      ),
    )
  }
  const addresses = rows.flatMap((row) => row.addresses.map((address, at) => addressOf(importId, row.id, at, address)))
  for (const values of parts(addresses, storedTogether)) {
    await tx.execute(
      query
        .insertInto('import_addresses')
        .values(values)
        .onConflict((conflict) =>
          conflict.columns(['import_id', 'row_id', 'position']).doUpdateSet(({ ref }) => ({
            domain_id: ref('excluded.domain_id'),
            alias: ref('excluded.alias'),
            exact: ref('excluded.exact'),
            legacy: ref('excluded.legacy'),
          })),
        ),
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

function rowOf(import_id: number, { id, line, content, cells, decision }: StagedRow) {
  return {
    ...{ import_id, id, line, content: JSON.stringify(content), cells: cells && JSON.stringify(cells) },
    ...{ outcome: decision?.outcome ?? null, code: decision?.code ?? null, message: decision?.message ?? null },
    ...{ link_id: decision?.linkId ?? null, changes: decision?.changes ? JSON.stringify(decision.changes) : null },
    losses: decision?.losses.join(',') ?? '',
    warnings: decision?.warnings.length ? JSON.stringify(decision.warnings) : null,
  }
}

function addressOf(import_id: number, row_id: number, position: number, address: StagedAddress) {
  const { host, path, folded, domain_id, alias, exact, legacy } = address
  return { import_id, row_id, position, host, path, folded, domain_id, alias, exact: +exact, legacy: +legacy }
}

type StoredRow = Row<'import_rows'>

function stagedRow(row: StoredRow, addresses: readonly Row<'import_addresses'>[]): StagedRow {
  return {
    ...{ id: row.id, line: row.line, content: JSON.parse(row.content), cells: row.cells && JSON.parse(row.cells) },
    addresses: addresses.map(({ exact, legacy, ...address }) => ({
      ...address,
      exact: exact === 1,
      legacy: legacy === 1,
    })),
    decision: row.outcome === null ? null : decisionOf(row),
  }
}

function decisionOf({ outcome, code, message, link_id, changes, losses, warnings }: StoredRow): Decision {
  return {
    ...{ outcome: outcome as Outcome, code, message, linkId: link_id, changes: changes && JSON.parse(changes) },
    losses: losses === '' ? [] : (losses.split(',') as LossKind[]),
    warnings: warnings === null ? [] : JSON.parse(warnings),
  }
}

/** Reads rows after a row, in the order of the file; only those with these outcomes, if any are given. */
export async function readRows(
  db: Db,
  importId: number,
  { after, limit, only }: { readonly after: number; readonly limit: number; readonly only?: readonly Outcome[] },
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
  const byRow = await addressesOf(
    db,
    importId,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => stagedRow(row, byRow.get(row.id) ?? []))
}

/** Returns the addresses of rows, with the results of their proof, by row. */
async function addressesOf(
  db: Db,
  importId: number,
  rows: readonly number[],
): Promise<ReadonlyMap<number, readonly Row<'import_addresses'>[]>> {
  if (rows.length === 0) return new Map()
  const own = query.selectFrom('import_addresses').selectAll().where('import_id', '=', importId)
  const found: Row<'import_addresses'>[] = []
  for (const some of parts(rows)) {
    found.push(...(await db.execute(own.where('row_id', 'in', some).orderBy('row_id').orderBy('position'))))
  }
  return Map.groupBy(found, ({ row_id }) => row_id)
}

/** An address with the name of its domain and the result of its proof. */
export interface ListedAddress extends Omit<Row<'import_addresses'>, 'result'> {
  readonly result: ProofResult | null
  readonly domainName: string | null
}

/** A decided row as lists show it. */
export interface ListedRow extends Omit<StagedRow, 'addresses' | 'decision'> {
  readonly addresses: readonly ListedAddress[]
  readonly decision: Decision
}

/** Lists a page of rows. */
export async function listRows(
  storage: Storage,
  account: number,
  importId: number,
  { outcome, proof, warning = null, isUnmapped, sort, per_page, page, after }: ImportRowsQuery,
): Promise<Page<ListedRow>> {
  const own = query.selectFrom('import_rows').select('id').where('import_id', '=', importId)
  const ofOutcome = outcome === null ? own : own.where('outcome', '=', outcome)
  const ofHosts =
    isUnmapped === undefined ? ofOutcome : ofOutcome.where('code', isUnmapped ? '=' : '<>', 'unmapped_host')
  const ofResult = proof === null ? ofHosts : ofHosts.where(hasResult(importId, proof))
  const pattern = warning === true ? '%' : `%"code":"${warning}"%`
  const wanted = warning === null ? ofResult : ofResult.where('warnings', 'like', pattern)
  const following = after === null ? wanted : wanted.where('id', sort === 'asc' ? '>' : '<', after)
  const ofPage = following
    .orderBy('id', sort)
    .limit(after === null ? per_page : per_page + 1)
    .offset(Math.min(((page ?? 1) - 1) * per_page, Number.MAX_SAFE_INTEGER))
  const ids = (await storage.scan(account, ofPage)).map(([id]) => Number(id))
  const counted = query
    .selectFrom(wanted.limit(countedMatches + 1).as('counted'))
    .select(({ fn }) => fn.countAll().as('total'))
  const [[matches] = []] = await storage.scan(account, counted)
  const total = Number(matches)
  const rows =
    ids.length === 0
      ? []
      : await storage.execute(
          query
            .selectFrom('import_rows')
            .selectAll()
            .where('import_id', '=', importId)
            .where('id', 'in', ids)
            .orderBy('id', sort),
        )
  const addresses = await addressesOf(storage, importId, ids)
  const domains = [...addresses.values()].flat().flatMap(({ domain_id }) => domain_id ?? [])
  const names = await domainNames(storage, account, [...new Set(domains)])
  const named = (address: Row<'import_addresses'>) => ({
    ...address,
    result: address.result as ProofResult | null,
    domainName: names.get(address.domain_id ?? 0) ?? null,
  })
  return {
    rows: rows.map((row) => ({
      ...stagedRow(row, []),
      addresses: (addresses.get(row.id) ?? []).map(named),
      decision: decisionOf(row),
    })),
    total: Math.min(total, countedMatches),
    totalIsExact: total <= countedMatches,
  }
}

/** Returns the condition for rows with an address that has this result. All are pending before the first proof. */
function hasResult(importId: number, result: ProofResult) {
  const addresses = query.selectFrom('import_addresses').select('row_id').where('import_id', '=', importId)
  return ({ eb, and, or, ref }: ExpressionBuilder<Pick<Database, 'import_rows'>, 'import_rows'>) => {
    const isOf = eb(ref('id'), 'in', addresses.where('result', '=', result))
    const isNew = and([
      eb('outcome', 'in', linkedOutcomes),
      eb(ref('id'), 'in', addresses.where('result', 'is', null).where('domain_id', 'is not', null)),
    ])
    return result === 'pending' ? or([isOf, isNew]) : isOf
  }
}

/** Returns the names of the account's domains with these ids. */
async function domainNames(db: Db, account: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map()
  const domains = query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  return new Map((await db.execute(domains.where('id', 'in', ids))).map(({ id, name }) => [id, name]))
}

/** An address of any row, for the comparison with others. */
export type FileEntry = Pick<Row<'import_addresses'>, 'row_id' | 'host' | 'path' | 'folded'> &
  Pick<StoredRow, 'outcome'>

/** Addresses with the same folded alias that are compared: a hostile file could have 100,000 of them. */
const maxSame = 100

/** Returns the addresses of a file with these folded aliases, the first `maxSame` for each. */
export async function entriesWith(db: Db, importId: number, folded: readonly string[]): Promise<FileEntry[]> {
  const own = query.selectFrom('import_addresses').where('import_addresses.import_id', '=', importId)
  const rows = own.innerJoin('import_rows', (join) =>
    join.onRef('import_rows.import_id', '=', 'import_addresses.import_id').onRef('import_rows.id', '=', 'row_id'),
  )
  const entries = rows.select(['row_id', 'host', 'path', 'folded', 'outcome'])
  const found: FileEntry[] = []
  for (const some of parts(folded)) {
    const counted = own.select('folded').where('folded', 'in', some).groupBy('folded')
    const many = await db.execute(counted.having(({ fn }) => fn.countAll(), '>', maxSame))
    const frequent = new Set(many.map((row) => row.folded))
    const others = some.filter((each) => !frequent.has(each))
    if (others.length > 0) found.push(...(await db.execute(entries.where('folded', 'in', others))))
    for (const each of frequent) {
      found.push(...(await db.execute(entries.where('folded', '=', each).orderBy('row_id').limit(maxSame))))
    }
  }
  return found
}

/** Replaces the content of a row whose link was deleted permanently. */
const erasedContent: Content = {
  ...{ host: null, fields: { url: '' }, created_at: null, clicks: null, bots: null, losses: [] },
  ...{ refusal: null, password: null },
}
const erased = { content: JSON.stringify(erasedContent), cells: null, message: null, changes: null, warnings: null }

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
      const isWhole = eb(sql`cast(content as text)`, '<>', erased.content)
      return or([eb('changes', 'is not', null), and([eb('import_rows.id', '<=', ref('applied_row')), isWhole])])
    })
  const found = await storage.scan(
    account,
    link === null ? linked.where('link_id', 'in', deletions) : linked.where('link_id', '=', link),
  )
  for (const some of parts(found, storedTogether)) {
    const byImport = Map.groupBy(some, ([importId]) => Number(importId))
    const appliedOnes = (rows: typeof some) => rows.filter((row) => Number(row[2]) === 1).map(([, id]) => Number(id))
    // Before their addresses are erased.
    for (const [importId, rows] of byImport) await deleteDays(storage, importId, appliedOnes(rows))
    await storage.write(async (tx) => {
      for (const [importId, rows] of byImport) {
        const own = query.updateTable('import_rows').where('import_id', '=', importId)
        const all = rows.map(([, id]) => Number(id))
        await tx.execute(own.set({ changes: null }).where('id', 'in', all))
        const ids = appliedOnes(rows)
        if (ids.length === 0) continue
        await tx.execute(own.set(erased).where('id', 'in', ids))
        const values = { old_location: null, new_location: null, reason: null }
        const addresses = query.updateTable('import_addresses').set(values).where('import_id', '=', importId)
        await tx.execute(addresses.where('row_id', 'in', ids))
        // The rows stay, because the figures of the proof count them.
        const further = addresses.set({ path: '', folded: '', alias: null, domain_id: null }).where('position', '>', 0)
        await tx.execute(further.where('row_id', 'in', ids))
      }
    })
  }
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
