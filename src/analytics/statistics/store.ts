import { setImmediate as nextTick } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { type Db, parts, type Storage } from '../../storage/port.ts'
import { clickLevels, query } from '../../storage/schema.ts'
import {
  type Counts,
  countsFrom,
  type Dimension,
  decodeBreakdown,
  decodeHours,
  dimensions,
  encodeValue,
  type HourCounts,
} from '../day.ts'
import { groupTables } from '../tables.ts'
import type { DayRange, Interval } from './day-range.ts'
import { Ranking, type ValueClicks } from './ranking.ts'

/** A link, a domain, a space or a tag of the account, or the whole account, whose id is not read. */
export interface Subject {
  readonly level: keyof typeof clickLevels | 'tag'
  readonly id: number
}

/** Days that one query reads without and with their breakdowns, because full ones take the event loop 4 ms. */
const [dayBatchSize, fullDayBatchSize] = [32, 16]
/** Days of a tag that one query adds up. */
const tagDayBatchSize = 16
/** Records whose days one query reads. */
const idBatchSize = 16

/** Returns whether the account has this link, domain, space or tag. */
export async function hasRecord(db: Db, account: number, { level, id }: Subject): Promise<boolean> {
  return level === 'account' || (await db.execute(ownedRecord(account, level, id))).length > 0
}

/** Selects the account's record. A link is gone as soon as its domain is being removed. */
function ownedRecord(account: number, level: Exclude<Subject['level'], 'account'>, id: number | RawBuilder<number>) {
  if (level !== 'link') {
    return query.selectFrom(`${level}s`).select('id').where('id', '=', id).where('account_id', '=', account)
  }
  return query
    .selectFrom('links')
    .innerJoin('domains', 'domains.id', 'links.domain_id')
    .select('links.id')
    .where('links.id', '=', id)
    .where('links.account_id', '=', account)
    .where('domains.account_id', '=', account)
}

type StoredLevel = Exclude<Subject['level'], 'tag'>

/** Selects stored days of a level. The key has the day before the id, so the query names each day. */
function storedDays(level: StoredLevel, days: readonly number[]) {
  return query.selectFrom('click_days').where('scope', '=', clickLevels[level]).where('day', 'in', days)
}

/** The days of the account, or of its records among `ids`. */
function daysAmong(account: number, level: StoredLevel, ids: readonly number[], days: readonly number[]) {
  const rows = storedDays(level, days)
  if (level === 'account') return rows.where('click_days.id', '=', account)
  const isOwned = ownedRecord(account, level, sql.ref<number>('click_days.id'))
  return rows.where('click_days.id', 'in', ids).where(({ exists }) => exists(isOwned))
}

/** Returns the human clicks of each of the account's links on each day of the range. Unknown links have zeros. */
export async function dailyClicksOf(
  db: Db,
  account: number,
  linkIds: readonly number[],
  range: DayRange,
): Promise<Map<number, number[]>> {
  const clicks = new Map(linkIds.map((id) => [id, Array.from({ length: range.to - range.from + 1 }, () => 0)]))
  for (const some of parts(linkIds, idBatchSize)) {
    for await (const days of batchesOf(range, dayBatchSize)) {
      const rows = daysAmong(account, 'link', some, days).select(['id', 'day', 'clicks'])
      for (const { id, day, clicks: people } of await db.execute(rows)) {
        ;(clicks.get(id) as number[])[day - range.from] = people
      }
    }
  }
  return clicks
}

/** Clicks in a range of days: over time, and by the values of some dimensions. */
export interface Clicks<Name extends Dimension = never> {
  /** By hour, or by day with the hour 0. Only those with visits. */
  readonly counts: (readonly [day: number, hour: number, HourCounts])[]
  readonly rankings: Readonly<Record<Name, Ranking>>
}

/** Figures to read: clicks by hour, by day, or by the values of a dimension. */
export type Wanted<Name extends Dimension = never> = readonly ('hours' | 'days' | Name)[]

/** Returns the counts that a series with this interval needs. */
export function countsFor(interval: Interval): 'hours' | 'days' {
  return interval === 'hour' ? 'hours' : 'days'
}

/** Stored days that have been read. */
interface StoredDays extends Counts {
  readonly day: number
  /** A JSON list of their hours. */
  readonly hours: string
  /** A JSON list of their breakdowns. */
  readonly breakdowns: string
  /** A JSON list of links with their human clicks; null if the breakdowns have them. */
  readonly links: string | null
}

/**
 * Returns the clicks of a range. Reads all wanted figures together, so that they add up. Other figures may be empty.
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
  const { columns, order } = columnsOf(wanted)
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
  return clicks
}

/** The totals of a stored day. */
const totals = ['clicks', 'unique_clicks', 'bots', 'previews'] as const

function addDays<Name extends Dimension>(
  { counts, rankings }: Clicks<Name>,
  wanted: Wanted<Name>,
  names: readonly Name[],
  order: readonly Dimension[],
  { day, hours, breakdowns, links, ...totals }: StoredDays,
): void {
  if (wanted.includes('days')) counts.push([day, 0, countsFrom(totals)])
  else for (const each of JSON.parse(hours)) for (const [hour, of] of decodeHours(each)) counts.push([day, hour, of])
  for (const each of JSON.parse(breakdowns)) {
    for (const name of names) {
      decodeBreakdown(name, each[order.indexOf(name)] ?? {}, (value, people) => rankings[name].add(value, people))
    }
  }
  const { links: ranking } = rankings as Partial<Record<Dimension, Ranking>>
  for (const [link, people] of JSON.parse(links ?? '[]')) if (people > 0) ranking?.add(link, people)
}

/** Returns the columns to read, as JSON, and the order of the breakdowns. Unwanted columns are empty. */
function columnsOf<Name extends Dimension>(wanted: Wanted<Name>) {
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
    const stored = daysAmong(account, level, [id], daysOf(range)).select('day')
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
  const clicks = sumOf(sql`cast(entry.value as text)`)
  const stored = daysAmong(account, 'link', links, daysOf(range))
    .innerJoin(referrers.as('entry'), (join) => join.on('entry.key', '=', encodeValue(host)))
    .select(['click_days.id', clicks.as('clicks')])
    .groupBy('click_days.id')
    .orderBy(clicks, 'desc')
    .orderBy('click_days.id', 'desc')
  const rows = await storage.scan(account, stored)
  return rows.map(([id, clicks]) => ({ value: Number(id), clicks: Number(clicks) }))
}

/** With more links, reading all links of a day is faster than looking up each. */
const maxLookups = 20_000
/** Links' days that one query reads, at most a day of all links. Their JSON is usually 6 MB. */
const maxLinkDays = 20_000
/** Characters of JSON that are parsed in one event-loop tick, except for the last day of a link. */
const maxParsed = 300_000

/**
 * Returns queries for the stored days of the links that have the account's tag now, each for some days of the range. Its
 * days are not stored, and a tag may have a million links, so the queries add them up outside of the event loop.
 */
async function tagDays(storage: Storage, account: number, tag: number, range: DayRange) {
  const tags = await storage.execute(
    query
      .selectFrom('tags')
      .leftJoin('tag_links', 'tag_id', 'id')
      .select(['id', sql<number>`sum(total)`.as('links')])
      // Tags that are being merged into it.
      .where(({ eb, or, and }) =>
        or([and([eb('id', '=', tag), eb('account_id', '=', account)]), eb('merged_into', '=', tag)]),
      )
      .groupBy('id'),
  )
  if (tags.length === 0) return []
  const links = tags.reduce((sum, { links }) => sum + Number(links), 0)
  const perStep = Math.min(tagDayBatchSize, Math.max(1, Math.floor(maxLinkDays / Math.max(1, links))))
  const steps = parts(daysOf(range), perStep).toArray()
  const ids = tags.map(({ id }) => id)
  const tagged = query
    .selectFrom('link_tags')
    .select('link_id')
    .where('account_id', '=', account)
    .where('tag_id', 'in', ids)
  const id = sql.ref<number>('click_days.id')
  // The links of removed domains are gone, but keep their tags until they are deleted. Such domains are rare.
  const removed = await storage.execute(query.selectFrom('domains').select('id').where('account_id', '=', 0).limit(1))
  const isSparse = links > maxLookups || (await haveFewerRows(storage, account, steps, links))
  return steps.map((days) =>
    storedDays('link', days)
      // Reads all links of each day, or looks up each link on each day.
      .where(({ exists, eb }) => (isSparse ? exists(tagged.where('link_id', '=', id)) : eb(id, 'in', tagged)))
      .$if(removed.length > 0, (rows) => rows.where(({ exists }) => exists(ownedRecord(account, 'link', id)))),
  )
}

/** Returns whether fewer than `links` links have visits on a day, of all accounts. Counts the first day of each step. */
async function haveFewerRows(storage: Storage, account: number, steps: readonly (readonly number[])[], links: number) {
  const sample = steps.flatMap(([first]) => first ?? [])
  const limit = links * sample.length
  const rows = storedDays('link', sample).select('day').limit(limit)
  const [count] = await storage.scan(
    account,
    query.selectFrom(rows.as('row')).select(({ fn }) => fn.countAll().as('rows')),
  )
  return Number(count?.[0]) < limit
}

/** Returns the sum of numbers in JSON. They are exact up to 2^53 on both engines. */
function sumOf(json: RawBuilder<unknown>) {
  return sql<number>`sum(cast(${json} as double precision))`
}

/** Reads the days of a tag's links together, outside of the event loop, in parts that take one tick each. */
async function* daysOfTag(
  storage: Storage,
  account: number,
  tag: number,
  range: DayRange,
  { hours, breakdowns }: ReturnType<typeof columnsOf>['columns'],
  withLinks: boolean,
): AsyncGenerator<StoredDays> {
  const list = (text: RawBuilder<string> | typeof sql.ref) => sql<string>`'[' || string_agg(${text}, ',') || ']'`
  const link = sql<string>`'[' || id || ',' || clicks || ']'`
  for (const days of await tagDays(storage, account, tag, range)) {
    const rows = days.select(['day', 'click_days.id', ...totals, hours.as('hours'), breakdowns.as('breakdowns')])
    const length = sql`sum(length(hours) + length(breakdowns) + 20) over (partition by day order by id)`
    const sums = query
      .selectFrom(
        query
          .selectFrom(rows.as('row'))
          .selectAll()
          .select(sql<number>`${length} / ${sql.lit(maxParsed)}`.as('part'))
          .as('row'),
      )
      .select(({ fn }) => ['day', ...totals.map((name) => fn.sum(name).as(name))])
      .select([list(sql.ref<string>('hours')).as('hours'), list(sql.ref<string>('breakdowns')).as('breakdowns')])
      .select((withLinks ? list(link) : sql<string>`'[]'`).as('links'))
      .groupBy(['day', 'part'])
    for (const [day, clicks, unique_clicks, bots, previews, ...lists] of await storage.scan(account, sums)) {
      await nextTick()
      const [hours, breakdowns, links] = lists as [string, string, string]
      const counts = { clicks: Number(clicks), unique_clicks: Number(unique_clicks) }
      yield { day: Number(day), ...counts, bots: Number(bots), previews: Number(previews), hours, breakdowns, links }
    }
  }
}

/** The kinds of records that group/** The kinds of records that group the links of an account. */
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
  for (const days of parts(daysOf(range), dayBatchSize)) {
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

/** Returns the names of the account's domains or spaces with these ids, and the colors of spaces. */
export async function findGroupNames(db: Db, account: number, level: GroupLevel, ids: readonly number[]) {
  const found = new Map<number, { readonly name: string; readonly color: number | null }>()
  for (const some of parts(ids)) {
    const rows =
      level === 'space'
        ? await db.execute(
            query
              .selectFrom('spaces')
              .select(['id', 'name', 'color'])
              .where('account_id', '=', account)
              .where('id', 'in', some),
          )
        : await db.execute(
            query
              .selectFrom('domains')
              .select(['id', 'name_unicode as name', sql<null>`null`.as('color')])
              .where('account_id', '=', account)
              .where('id', 'in', some),
          )
    for (const { id, ...group } of rows) found.set(id, group)
  }
  return found
}

function daysOf({ from, to }: DayRange): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n)
}

/** Returns the days of the range in batches, each in its own event-loop tick. */
async function* batchesOf(range: DayRange, size: number): AsyncGenerator<readonly number[]> {
  for (const batch of parts(daysOf(range), size)) {
    if (batch[0] !== range.from) await nextTick()
    yield batch
  }
}
