import { setImmediate as nextTick } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { type Db, parts, type Storage } from '../../storage/port.ts'
import { clickLevels, query } from '../../storage/schema.ts'
import {
  countsFrom,
  type Dimension,
  decodeBreakdown,
  decodeHours,
  dimensions,
  encodeValue,
  type HourCounts,
  type JsonBreakdown,
  sparseDimensions,
} from '../day.ts'
import { findReturning } from '../deleted-links.ts'
import { groupTables } from '../tables.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking, type ValueClicks } from './ranking.ts'
import {
  listDays,
  ownedRecord,
  type StoredDays,
  type StoredLevel,
  type Subject,
  storedDays,
  totals,
} from './statements.ts'
import { daysOfTag, tagDays } from './tags/store.ts'

/** Days that one query reads without and with their breakdowns, because full ones take the event loop 4 ms. */
const [dayBatchSize, fullDayBatchSize] = [32, 16]

/** Returns whether the account has this link, domain, space or tag. */
export async function hasRecord(db: Db, account: number, { level, id }: Subject): Promise<boolean> {
  return level === 'account' || (await db.execute(ownedRecord(account, level, id))).length > 0
}

/** The days of the account, or of its records among `ids`. */
function daysAmong(account: number, level: StoredLevel, ids: readonly number[], days: readonly number[]) {
  const rows = storedDays(level, days)
  if (level === 'account') return rows.where('click_days.id', '=', account)
  const isOwned = ownedRecord(account, level, sql.ref<number>('click_days.id'))
  return rows.where('click_days.id', 'in', ids).where(({ exists }) => exists(isOwned))
}

/** Clicks in a range of days: over time, and by the values of some dimensions. */
export interface Clicks<Name extends Dimension = never> {
  /** By hour, or by day with the hour 0. Hours and days without visits are missing. */
  readonly counts: (readonly [day: number, hour: number, HourCounts])[]
  readonly rankings: Readonly<Record<Name, Ranking>>
}

/** Figures to read: clicks by hour, by day, or by the values of a dimension. */
export type Wanted<Name extends Dimension = never> = readonly ('hours' | 'days' | Name)[]

/** Returns the counts that a series with this interval needs. */
export function countsFor(interval: Interval): 'hours' | 'days' {
  return interval === 'hour' ? 'hours' : 'days'
}

/**
 * Returns the clicks of a range. Reads all wanted figures together, so that they add up. Other figures may be empty. Links
 * that are gone for good count under null.
 * Records of other accounts have no clicks.
 */
export async function readClicks<Name extends Dimension = never>(
  storage: Storage,
  account: number,
  { level, id }: Subject,
  range: DayRange,
  wanted: Wanted<Name>,
): Promise<Clicks<Name>> {
  const names = wanted.filter((name): name is Name => name !== 'hours' && name !== 'days')
  const rankings = Object.fromEntries(names.map((name) => [name, new Ranking()])) as Record<Name, Ranking>
  const clicks: Clicks<Name> = { counts: [], rankings }
  const { columns, order } = selectColumns(wanted)
  const add = (days: StoredDays) => addDays(clicks, wanted, names, order, days)
  if (level === 'tag') {
    for await (const days of daysOfTag(storage, account, id, range, columns, wanted.includes('links' as Name)))
      add(days)
    return clicks
  }
  for await (const days of batchesOf(range, names.length > 1 ? fullDayBatchSize : dayBatchSize)) {
    const rows = daysAmong(account, level, [id], days).select(['day', ...totals])
    const { hours, breakdowns } = columns
    const read = rows.select([hours.as('hours'), breakdowns.as('breakdowns')])
    for (const row of await storage.execute(read)) {
      add({ ...row, hours: `[${row.hours}]`, breakdowns: `[${row.breakdowns}]`, links: null })
    }
  }
  const { links } = rankings as Partial<Record<Dimension, Ranking>>
  return links === undefined
    ? clicks
    : { ...clicks, rankings: { ...rankings, links: await withoutGone(storage, links) } }
}

/** Returns the clicks by link. Null has the clicks of deleted links that can't return. */
async function withoutGone(db: Db, ranking: Ranking): Promise<Ranking> {
  const returning = new Set<number>()
  for (const some of parts(ranking.ids)) for (const id of await findReturning(db, some)) returning.add(id)
  return ranking.renamed((value) => (typeof value === 'number' && !returning.has(value) ? null : value))
}

function addDays<Name extends Dimension>(
  { counts, rankings }: Clicks<Name>,
  wanted: Wanted<Name>,
  names: readonly Name[],
  order: readonly Dimension[],
  { day, hours, breakdowns, links, ...totals }: StoredDays,
): void {
  if (wanted.includes('days')) counts.push([day, 0, countsFrom(totals)])
  else for (const each of JSON.parse(hours)) for (const [hour, of] of decodeHours(each)) counts.push([day, hour, of])
  const all = JSON.parse(breakdowns)
  for (const name of names) {
    const own = all.map((each: readonly JsonBreakdown[]) => each[order.indexOf(name)] ?? {})
    addValues(rankings[name], name, own, totals.clicks)
  }
  const { links: ranking } = rankings as Partial<Record<Dimension, Ranking>>
  for (const [link, people] of JSON.parse(links ?? '[]')) if (people > 0) ranking?.add(link, people)
}

function addValues(ranking: Ranking, dimension: Dimension, breakdowns: readonly JsonBreakdown[], clicks: number): void {
  let unstored = sparseDimensions.includes(dimension) ? clicks : 0
  for (const each of breakdowns) {
    decodeBreakdown(dimension, each, (value, people) => {
      ranking.add(value, people)
      unstored -= people
    })
  }
  if (unstored > 0) ranking.add(null, unstored)
}

/** Returns the columns to read, as JSON, and the order of the breakdowns. Unwanted columns are empty. */
function selectColumns<Name extends Dimension>(wanted: Wanted<Name>) {
  const names = wanted.filter((name): name is Name => name !== 'hours' && name !== 'days')
  const [name] = names
  const text = (column: string) => sql<string>`cast(${sql.ref(column)} as text)`
  const none = sql<string>`'[]'`
  const hours = wanted.includes('hours') ? text('hours') : sql<string>`'{}'`
  if (name === undefined) return { columns: { hours, breakdowns: none }, order: names }
  if (names.length > 1) return { columns: { hours, breakdowns: text('breakdowns') }, order: dimensions }
  // Reading the others, too, would double the time. Links lack the last one.
  const own = sql<string>`'[' || coalesce(breakdowns ->> ${sql.lit(dimensions.indexOf(name))}, '{}') || ']'`
  return { columns: { hours, breakdowns: own }, order: names }
}

/** Returns whether there were visits in the range. */
export async function hasVisits(storage: Storage, account: number, { level, id }: Subject, range: DayRange) {
  if (level !== 'tag') {
    const stored = daysAmong(account, level, [id], listDays(range)).select('day')
    return (await storage.execute(stored.limit(1))).length > 0
  }
  for (const days of await tagDays(storage, account, id, range)) {
    if ((await storage.scan(account, days.select('day').limit(1))).length > 0) return true
  }
  return false
}

/**
 * Returns the account's links among these ids with clicks from a referrer, the most clicked first; null for direct clicks
 * and unknown referrers. Reads up to one day for each link and day, so the caller bounds the number of links.
 */
export async function linksOfReferrer(
  storage: Storage,
  account: number,
  links: readonly number[],
  range: DayRange,
  host: string | null,
): Promise<ValueClicks[]> {
  if (links.length === 0) return []
  // The operator ->> of SQLite reads keys such as "[::1]" as paths.
  const referrers = sql<{ key: string }>`json_each(breakdowns -> ${sql.lit(dimensions.indexOf('referrers'))})`
  const clicks = sumJson(sql`cast(entry.value as text)`)
  const stored = daysAmong(account, 'link', links, listDays(range))
    .innerJoin(referrers.as('entry'), (join) => join.on('entry.key', '=', encodeValue(host)))
    .select(['click_days.id', clicks.as('clicks')])
    .groupBy('click_days.id')
    .orderBy(clicks, 'desc')
    .orderBy('click_days.id', 'desc')
  const rows = await storage.scan(account, stored)
  return rows.map(([id, clicks]) => ({ value: Number(id), clicks: Number(clicks) }))
}

/** Returns the sum of numbers in JSON. They are exact up to 2^53 on both engines. */
function sumJson(json: RawBuilder<unknown>) {
  return sql<number>`sum(cast(${json} as double precision))`
}

/** Returns the link's addresses, such as `go.acme.com/sale`, by their ids; the main one also by null. */
export async function addressesOfLink(db: Db, account: number, link: number): Promise<Map<number | null, string>> {
  const addresses = query
    .selectFrom('addresses')
    .innerJoin('domains', 'domains.id', 'domain_id')
    .select(['addresses.id', 'main', sql<string>`domains.name || '/' || alias`.as('name')])
    .where('link_id', '=', link)
    .where('addresses.account_id', '=', account)
  const rows = await db.execute(addresses)
  const main = rows.filter((address) => address.main === 1).map(({ name }): [null, string] => [null, name])
  return new Map([...main, ...rows.map(({ id, name }): [number, string] => [id, name])])
}

/** The kinds of records that group the links of an account. */
export type GroupLevel = 'domain' | 'space'

/** The number of groups whose days are read, and the number of their days. Adding them up takes up to a second. */
const [maxGroups, maxGroupDays] = [1_000, 11_000]

/**
 * Returns the clicks by the id of the domain or space. `isWhole` is false if the account has too many: then only the most
 * clicked ones of the last 30 days are read. The days are added up outside of the event loop.
 */
export async function rankGroups(storage: Storage, account: number, level: GroupLevel, range: DayRange) {
  const limit = Math.min(maxGroups, Math.floor(maxGroupDays / (range.to - range.from + 1)))
  const recent = query.selectFrom(groupTables[clickLevels[level]]).select('id').where('account_id', '=', account)
  const groups = recent.orderBy('clicks_30d', 'desc').orderBy('id', 'desc').limit(limit)
  const ranking = new Ranking()
  for (const days of parts(listDays(range), dayBatchSize)) {
    const sums = storedDays(level, days)
      .where('click_days.id', 'in', groups)
      .where(({ exists }) => exists(ownedRecord(account, level, sql.ref<number>('click_days.id'))))
      .select(({ fn }) => ['click_days.id', fn.sum('clicks').as('clicks')])
      .where('clicks', '>', 0)
      .groupBy('click_days.id')
    for (const [id, people] of await storage.scan(account, sums)) ranking.add(Number(id), Number(people))
  }
  const counted = await storage.execute(recent.limit(limit + 1))
  return { ranking, isWhole: counted.length <= limit }
}

/** Returns the account's domains or spaces with these ids: names, and colors of spaces. */
export async function findGroupNames(db: Db, account: number, level: GroupLevel, ids: readonly number[]) {
  const found = new Map<number, { readonly name: string; readonly color: number | null }>()
  const [name, color] = level === 'space' ? ['name', 'color'] : ['name_unicode', 'null']
  for (const some of parts(ids)) {
    const own = query.selectFrom(`${level}s`).where('account_id', '=', account).where('id', 'in', some)
    const named = own.select(['id', sql.raw<string>(name).as('name'), sql.raw<number | null>(color).as('color')])
    const rows = await db.execute(named)
    for (const { id, ...group } of rows) found.set(id, group)
  }
  return found
}

/** Returns the days of the range in batches, each in its own event-loop tick. */
async function* batchesOf(range: DayRange, size: number): AsyncGenerator<readonly number[]> {
  for (const batch of parts(listDays(range), size)) {
    if (batch[0] !== range.from) await nextTick()
    yield batch
  }
}
