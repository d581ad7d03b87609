import { setImmediate as nextTick } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { type Db, parts, type Storage } from '../../storage/port.ts'
import { clickLevels, query } from '../../storage/schema.ts'
import {
  type Dimension,
  decodeBreakdown,
  decodeHours,
  decodeValue,
  dimensions,
  encodeValue,
  type HourCounts,
  other,
} from '../day.ts'
import { groupTables } from '../tables.ts'
import type { DayRange } from './day-range.ts'
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
      for (const { id, day, hours } of await db.execute(
        daysAmong(account, 'link', some, days).select(['id', 'day', 'hours']),
      )) {
        const found = clicks.get(id) as number[]
        found[day - range.from] = decodeHours(hours).reduce((sum, [, { people }]) => sum + people, 0)
      }
    }
  }
  return clicks
}

/** Clicks in a range of days: by hour, and by the values of some dimensions. */
export interface Clicks<Name extends Dimension = never> {
  /** Without the hours that have no visits. */
  readonly hours: (readonly [day: number, hour: number, HourCounts])[]
  readonly rankings: Readonly<Record<Name, Ranking>>
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
  wanted: readonly (Name | 'hours')[],
): Promise<Clicks<Name>> {
  const names = wanted.filter((name): name is Name => name !== 'hours')
  const rankings = Object.fromEntries(names.map((name) => [name, new Ranking()])) as Record<Name, Ranking>
  const clicks: Clicks<Name> = { hours: [], rankings }
  if (level === 'tag') return addTagClicks(clicks, storage, account, id, range, wanted)
  const { breakdowns, order } = storedBreakdowns(names)
  for await (const days of batchesOf(range, names.length > 1 ? fullDayBatchSize : dayBatchSize)) {
    const rows = daysAmong(account, level, [id], days)
      .select('day')
      .$if(wanted.includes('hours'), (rows) => rows.select('hours'))
      .$if(names.length > 0, (rows) => rows.select(breakdowns.as('breakdowns')))
    for (const { day, hours = '{}', breakdowns } of await storage.execute(rows)) {
      for (const [hour, counts] of decodeHours(hours)) clicks.hours.push([day, hour, counts])
      const parsed = JSON.parse(breakdowns ?? '[]')
      for (const name of names) {
        decodeBreakdown(name, parsed[order.indexOf(name)] ?? {}, (value, people) => rankings[name].add(value, people))
      }
    }
  }
  return clicks
}

/** Returns stored breakdowns, and their order. One is read without the others, which would double the time. */
function storedBreakdowns(names: readonly Dimension[]) {
  if (names.length !== 1) return { breakdowns: sql<string | null>`breakdowns`, order: dimensions }
  const number = sql.lit(dimensions.indexOf(names[0] as Dimension))
  return { breakdowns: sql<string | null>`'[' || (breakdowns ->> ${number}) || ']'`, order: names }
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

/** With more links, one query adds up one day. */
const maxLookups = 20_000
/** Values of a tag that one query returns, and values of the whole range, as many as a year of a space can have. */
const [maxStepValues, maxTagValues] = [5_000, 75_000]

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
  const steps = parts(daysOf(range), links > maxLookups ? 1 : tagDayBatchSize).toArray()
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

/** What one query adds up, by its number. */
const summands = [...dimensions, 'hours'] as const
const [linksNumber, hoursNumber] = [sql.lit(summands.indexOf('links')), sql.lit(summands.indexOf('hours'))]

/**
 * Selects the sums of the days: a number among `summands`, the value or the hour, its clicks, the clicks of all values, and
 * for hours the day and the other counts. Hours are first, then the most frequent value of each dimension, so that each has
 * its total.
 */
function sumsOf(
  days: Awaited<ReturnType<typeof tagDays>>[number],
  wanted: readonly (Dimension | 'hours')[],
  limit: number,
) {
  const numbers = wanted.map((name) => sql`select ${sql.lit(summands.indexOf(name))} as number`)
  const number = sql.ref<number>('summand.number')
  const count = (index: number) => sql`entry.value ->> ${sql.lit(index)}`
  const ofHours = (value: RawBuilder<unknown>) =>
    sql<number | null>`case ${number} when ${hoursNumber} then ${value} end`
  const readsHours = sql`${number} in (${linksNumber}, ${hoursNumber})`
  const entries = sql`json_each(case when ${readsHours} then hours else breakdowns -> ${number} end)`
  const sums = days
    .innerJoin(sql<{ number: number }>`(${sql.join(numbers, sql` union all `)})`.as('summand'), (join) => join.onTrue())
    .innerJoin(entries.as('entry'), (join) => join.onTrue())
    .select([
      number.as('number'),
      // A day of links does not name its link.
      sql`case ${number} when ${linksNumber} then cast(click_days.id as text) else entry.key end`.as('named'),
      sumOf(sql`case when ${readsHours} then ${count(0)} else cast(entry.value as text) end`).as('clicks'),
      ofHours(sql.ref('day')).as('on_day'),
      ...[1, 2, 3].map((index) => sumOf(ofHours(count(index))).as(`count${index}`)),
    ])
    .groupBy(['number', 'named', 'on_day'])
  return query
    .selectFrom(sums.as('sums'))
    .select(['number', 'named', 'clicks', sql`sum(clicks) over (partition by number)`.as('total'), 'on_day'])
    .select(['count1', 'count2', 'count3'])
    .where(sql<boolean>`(clicks > 0 or number = ${hoursNumber})`)
    .orderBy(
      sql`case number when ${hoursNumber} then 0 else row_number() over (partition by number order by clicks desc) end`,
    )
    .limit(limit)
}

/** Adds up the clicks of a tag. */
async function addTagClicks<Name extends Dimension>(
  clicks: Clicks<Name>,
  storage: Storage,
  account: number,
  tag: number,
  range: DayRange,
  wanted: readonly (Name | 'hours')[],
): Promise<Clicks<Name>> {
  const steps = await tagDays(storage, account, tag, range)
  const limit = Math.min(maxStepValues, Math.ceil(maxTagValues / steps.length) * wanted.length)
  for (const days of steps) addSums(clicks, await storage.scan(account, sumsOf(days, wanted, limit)))
  return clicks
}

/** Adds the sums of some days, and the values beyond the limit as `other`. */
function addSums<Name extends Dimension>(
  { hours, rankings }: Clicks<Name>,
  rows: readonly (readonly unknown[])[],
): void {
  const rests = new Map<Name, number>()
  for (const [number, named, clicks, total, day, ...counts] of rows) {
    const name = summands[Number(number)] as Name | 'hours'
    const people = Number(clicks)
    if (name === 'hours') {
      const [unique = 0, bots = 0, previews = 0] = counts.map(Number)
      hours.push([Number(day), Number(named), { people, unique, bots, previews }])
    } else {
      rankings[name].add(decodeValue(name, String(named)), people)
      rests.set(name, (rests.get(name) ?? Number(total)) - people)
    }
  }
  for (const [name, rest] of rests) if (rest > 0) rankings[name].add(other, rest)
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
  const clicks = sumOf(sql`hour.value ->> 0`)
  const ranking = new Ranking()
  for (const days of parts(daysOf(range), dayBatchSize)) {
    const sums = storedDays(level, days)
      .where('click_days.id', 'in', groups)
      .where(({ exists }) => exists(ownedRecord(account, level, sql.ref<number>('click_days.id'))))
      .innerJoin(sql`json_each(hours)`.as('hour'), (join) => join.onTrue())
      .select(['click_days.id', clicks.as('clicks')])
      .groupBy('click_days.id')
      .having(clicks, '>', 0)
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
