import { setImmediate as nextTick } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Storage } from '../../storage/port.ts'
import { query, scopes } from '../../storage/schema.ts'
import { type Dimension, decodeBreakdown, decodeHours, dimensions, type HourCounts } from '../day.ts'
import { parts } from '../tables.ts'
import type { DayRange } from './day-range.ts'
import { Ranking, type ValueClicks } from './ranking.ts'

/** A link, a domain or a space of the account, or the whole account, whose id is not read. */
export interface Subject {
  readonly scope: keyof typeof scopes
  readonly id: number
}

/** Days that one query reads: full ones take the event loop some milliseconds. */
const dayBatchSize = 16
/** Records whose days one query reads. */
const idBatchSize = 16

/** Returns whether the account has this link, domain or space. */
export async function hasRecord(db: Db, account: number, { scope, id }: Subject): Promise<boolean> {
  return scope === 'account' || (await db.execute(ownedRecord(account, scope, id))).length > 0
}

/** Selects the account's record. A link is gone as soon as its domain is being removed. */
function ownedRecord(account: number, scope: Exclude<Subject['scope'], 'account'>, id: number | RawBuilder<number>) {
  if (scope !== 'link') {
    const table = scope === 'domain' ? 'domains' : 'spaces'
    return query.selectFrom(table).select('id').where('id', '=', id).where('account_id', '=', account)
  }
  return query
    .selectFrom('links')
    .innerJoin('domains', 'domains.id', 'links.domain_id')
    .select('links.id')
    .where('links.id', '=', id)
    .where('links.account_id', '=', account)
    .where('domains.account_id', '=', account)
}

/** The days of the account, or of its records among `ids`. The key has the day before the id, so the query names each day. */
function daysAmong(account: number, scope: Subject['scope'], ids: readonly number[], days: readonly number[]) {
  const rows = query.selectFrom('click_days').where('scope', '=', scopes[scope]).where('day', 'in', days)
  if (scope === 'account') return rows.where('id', '=', account)
  const isOwned = ownedRecord(account, scope, sql.ref<number>('click_days.id'))
  return rows.where('id', 'in', ids).where(({ exists }) => exists(isOwned))
}

/** Returns the hours of each stored day of the range. Records of other accounts have no days. */
export async function* readHours(
  db: Db,
  account: number,
  scope: Subject['scope'],
  ids: readonly number[],
  range: DayRange,
): AsyncGenerator<{ readonly id: number; readonly day: number; readonly hours: Iterable<[number, HourCounts]> }> {
  for (const some of parts(ids, idBatchSize)) {
    for await (const days of batchesOf(range)) {
      const rows = await db.execute(daysAmong(account, scope, some, days).select(['id', 'day', 'hours']))
      for (const { hours, ...key } of rows) yield { ...key, hours: decodeHours(hours) }
    }
  }
}

/** Returns the clicks by value of several dimensions, whose days are read together. Records of other accounts have none. */
export async function rankingsOf<Name extends Dimension>(
  db: Db,
  account: number,
  { scope, id }: Subject,
  range: DayRange,
  names: readonly Name[],
): Promise<Record<Name, Ranking>> {
  const rankings = Object.fromEntries(names.map((name) => [name, new Ranking()])) as Record<Name, Ranking>
  const columns = names.map((name) => sql<string | null>`breakdowns ->> ${sql.lit(dimensions.indexOf(name))}`.as(name))
  for await (const days of batchesOf(range)) {
    const stored = daysAmong(account, scope, [id], days).select(columns)
    const rows = await db.execute<Readonly<Record<string, string | null>>>(stored)
    for (const name of names) {
      if (names.length > 1) await nextTick()
      for (const row of rows) {
        for (const [value, clicks] of decodeBreakdown(name, row[name] ?? '{}')) rankings[name].add(value, clicks)
      }
    }
  }
  return rankings
}

/**
 * Returns the account's links among these ids with clicks from a referrer, the most clicked first. `host` has no brackets.
 * Reads up to one day for each link and day, so the caller bounds the number of links.
 */
export async function linksOfReferrer(
  storage: Storage,
  account: number,
  links: readonly number[],
  { from, to }: DayRange,
  host: string,
): Promise<ValueClicks[]> {
  if (links.length === 0) return []
  const days = Array.from({ length: to - from + 1 }, (_, n) => from + n)
  const count = sql`breakdowns -> ${sql.lit(dimensions.indexOf('referrers'))} ->> cast(${host} as text)`
  const clicks = sql`sum(cast(${count} as bigint))`
  const stored = daysAmong(account, 'link', links, days)
    .select(['id', clicks.as('clicks')])
    .groupBy('id')
    .having(clicks, '>', 0)
    .orderBy(clicks, 'desc')
    .orderBy('id', 'desc')
  const rows = await storage.scan(account, stored)
  return rows.map(([id, clicks]) => ({ value: Number(id), clicks: Number(clicks) }))
}

/** Returns the days of the range in batches, each in its own event-loop tick. */
async function* batchesOf({ from, to }: DayRange): AsyncGenerator<readonly number[]> {
  const days = Array.from({ length: to - from + 1 }, (_, n) => from + n)
  for (const batch of parts(days, dayBatchSize)) {
    if (batch[0] !== from) await nextTick()
    yield batch
  }
}
