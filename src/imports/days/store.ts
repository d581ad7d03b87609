/** Queries of the clicks of an import by address and day. Callers have found the import by its account. */
import { sql } from 'kysely'
import type { DayRow } from '../../analytics/day.ts'
import { type Db, parts } from '../../storage/port.ts'
import { query, type Row } from '../../storage/schema.ts'

/** Rows that one statement stores. */
const storedTogether = 64

/** Clicks on one link and day. */
export interface AddressDay extends Omit<DayRow, 'unique_clicks' | 'previews'> {
  readonly host: string
  readonly path: string
  readonly folded: string
  /** Until all rows are stored: see `ClickedLink`. */
  readonly reference: string | null
  readonly day: number
}

/** Days that one statement deletes. */
const deletedTogether = 500

/** Deletes the clicks on the addresses of rows, in steps. */
export async function deleteDays(db: Db, importId: number, rowIds: readonly number[]): Promise<void> {
  const own = query
    .selectFrom('import_addresses')
    .innerJoin('import_days', (join) =>
      join
        .onRef('import_days.import_id', '=', 'import_addresses.import_id')
        .onRef('import_days.folded', '=', 'import_addresses.folded')
        .onRef('import_days.host', '=', 'import_addresses.host')
        .onRef('import_days.path', '=', 'import_addresses.path'),
    )
    .select('import_days.id')
    .where('import_addresses.import_id', '=', importId)
    .where('row_id', 'in', rowIds)
  while (rowIds.length > 0) {
    const ids = (await db.execute(own.limit(deletedTogether))).map(({ id }) => id)
    if (ids.length === 0) return
    await db.execute(query.deleteFrom('import_days').where('id', 'in', ids))
  }
}

/** Stores clicks. Several for one address and day add up. */
export async function stageDays(tx: Db, importId: number, days: readonly AddressDay[]): Promise<void> {
  for (const some of parts(days, storedTogether)) {
    const rows = some.map((day) => ({ import_id: importId, ...day }))
    await tx.execute(query.insertInto('import_days').values(rows))
  }
}

/** Days whose address changes in one transaction. */
const movedTogether = 250

/** Moves clicks with a reference to another address. Returns whether there may be more. */
export async function moveDays(
  tx: Db,
  importId: number,
  reference: string,
  link: Pick<AddressDay, 'host' | 'path' | 'folded' | 'reference'>,
): Promise<boolean> {
  const own = query.selectFrom('import_days').select('id').where('import_id', '=', importId)
  const ids = own.where('reference', '=', reference).limit(movedTogether)
  const moved = query.updateTable('import_days').set(link).where('id', 'in', ids).returning('id')
  return (await tx.execute(moved)).length > 0
}

/** Moves clicks to the main address of the row with their reference. Returns whether there may be more. */
export async function resolveReferences(tx: Db, importId: number): Promise<boolean> {
  const own = query.selectFrom('import_days').selectAll().where('import_id', '=', importId)
  const days = await tx.execute(own.where('reference', 'is not', null).orderBy('id').limit(movedTogether))
  if (days.length === 0) return false
  const references = [...new Set(days.flatMap(({ reference }) => reference ?? []))]
  const rows = query
    .selectFrom('import_rows')
    .innerJoin('import_addresses', (join) =>
      join.onRef('import_addresses.import_id', '=', 'import_rows.import_id').onRef('row_id', '=', 'import_rows.id'),
    )
    .select(['reference', 'host', 'path', 'folded'])
    .where('import_rows.import_id', '=', importId)
    .where('reference', 'in', references)
    .where('position', '=', 0)
  // The first of several rows with a reference counts.
  const found = await tx.execute(rows.orderBy('import_rows.id', 'desc'))
  const addresses = new Map(found.map(({ reference, ...address }) => [reference, address]))
  const ids = days.map(({ id }) => id)
  await tx.execute(query.deleteFrom('import_days').where('id', 'in', ids))
  const moved = days.map(({ id: _, import_id: __, reference, ...day }) => {
    return { ...day, ...addresses.get(reference), reference: null }
  })
  await stageDays(tx, importId, moved)
  return true
}

/** The clicks of an address on all its days. `last` is the last day with human clicks. */
export interface DaySums {
  readonly host: string
  readonly path: string
  readonly clicks: number
  readonly bots: number
  readonly days: number
  readonly last: number | null
}

/** Returns the clicks of the addresses with these folded aliases. */
export async function daySums(db: Db, importId: number, folded: readonly string[]): Promise<DaySums[]> {
  const found: DaySums[] = []
  for (const some of parts(folded)) {
    const own = query.selectFrom('import_days').where('import_id', '=', importId).where('folded', 'in', some)
    const sums = own
      .groupBy(['folded', 'host', 'path'])
      .select(['host', 'path'])
      .select(({ fn }) => [fn.sum('clicks').as('clicks'), fn.sum('bots').as('bots')])
      .select(({ fn }) => [fn.count('day').distinct().as('days')])
      .select(sql<number | null>`max(case when clicks > 0 then day end)`.as('last'))
    for (const { host, path, clicks, bots, days, last } of await db.execute(sums)) {
      found.push({ host, path, clicks: Number(clicks), bots: Number(bots), days: Number(days), last })
    }
  }
  return found
}

/** Aliases whose clicks are compared with the rows together. */
const comparedTogether = 1_000

/**
 * Counts addresses with clicks that no row of the file has, among the next folded aliases after one. Returns the last of these
 * aliases, null at the end.
 */
export async function countOrphans(
  db: Db,
  importId: number,
  after: string | null,
): Promise<{ readonly orphans: number; readonly until: string | null }> {
  const own = query.selectFrom('import_days').where('import_id', '=', importId)
  const following = after === null ? own : own.where('folded', '>', after)
  const next = following.select('folded').distinct().orderBy('folded').limit(comparedTogether)
  const until = (await db.execute(next)).at(-1)?.folded ?? null
  if (until === null) return { orphans: 0, until }
  const same = query
    .selectFrom('import_addresses')
    .select('row_id')
    .where('import_addresses.import_id', '=', importId)
    .whereRef('import_addresses.folded', '=', query.dynamic.ref<never>('import_days.folded'))
    .whereRef('import_addresses.host', '=', query.dynamic.ref<never>('import_days.host'))
    .whereRef('import_addresses.path', '=', query.dynamic.ref<never>('import_days.path'))
  const some = following.where('folded', '<=', until).select(['host', 'path']).distinct()
  const orphans = await db.execute(some.where(({ not, exists }) => not(exists(same))))
  return { orphans: orphans.length, until }
}

/** A staged day, and the link that its row has stored. */
export interface LinkedDay extends Pick<Row<'import_days'>, 'id' | 'day' | 'hours' | 'breakdowns'> {
  readonly link: number
}

/** Reads days after a day, in the order of their ids, with the stored links. Returns up to which id they are read. */
export async function readDays(
  db: Db,
  importId: number,
  after: number,
  limit: number,
): Promise<{ readonly days: readonly LinkedDay[]; readonly until: number | null }> {
  const some = query
    .selectFrom('import_days')
    .selectAll()
    .where('import_id', '=', importId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
  const all = await db.execute(some)
  const folded = [...new Set(all.map((day) => day.folded))]
  const stored = folded.length === 0 ? [] : await db.execute(storedLinks(importId, folded))
  const links = new Map(stored.map(({ host, path, link_id }) => [`${host} ${path}`, link_id]))
  const days = all.flatMap(({ id, host, path, day, hours, breakdowns }) => {
    const link = links.get(`${host} ${path}`)
    return link == null ? [] : [{ id, day, hours, breakdowns, link }]
  })
  return { days, until: all.at(-1)?.id ?? null }
}

/** Selects the addresses with these folded aliases whose rows have stored a link. */
function storedLinks(importId: number, folded: readonly string[]) {
  return query
    .selectFrom('import_addresses')
    .innerJoin('import_rows', (join) =>
      join.onRef('import_rows.import_id', '=', 'import_addresses.import_id').onRef('import_rows.id', '=', 'row_id'),
    )
    .select(['host', 'path', 'link_id'])
    .where('import_addresses.import_id', '=', importId)
    .where('folded', 'in', folded)
    .where('outcome', 'in', ['store', 'rename'])
    .where('link_id', 'is not', null)
}
