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

/** Days that one query reads, because full ones take the event loop 4 ms, and days that one query of a tag adds up. */
const [dayBatchSize, tagDayBatchSize] = [32, 16]
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

/** Returns the hours of each stored day of the range. Records of other accounts have no days. */
export async function* readHours(
  db: Db,
  account: number,
  level: StoredLevel,
  ids: readonly number[],
  range: DayRange,
): AsyncGenerator<{ readonly id: number; readonly day: number; readonly hours: Iterable<[number, HourCounts]> }> {
  for (const some of parts(ids, idBatchSize)) {
    for await (const days of batchesOf(range)) {
      const rows = await db.execute(daysAmong(account, level, some, days).select(['id', 'day', 'hours']))
      for (const { hours, ...key } of rows) yield { ...key, hours: decodeHours(hours) }
    }
  }
}

/** Returns the human clicks of each of the account's links on each day of the range. Unknown links have zeros. */
export async function dailyClicksOf(
  db: Db,
  account: number,
  linkIds: readonly number[],
  range: DayRange,
): Promise<Map<number, number[]>> {
  const clicks = new Map(linkIds.map((id) => [id, Array.from({ length: range.to - range.from + 1 }, () => 0)]))
  for await (const { id, day, hours } of readHours(db, account, 'link', linkIds, range)) {
    const days = clicks.get(id) as number[]
    for (const [, { people }] of hours) days[day - range.from] = (days[day - range.from] as number) + people
  }
  return clicks
}

/** Returns the clicks by value of several dimensions, whose days are read together. Records of other accounts have none. */
export async function rankingsOf<Name extends Dimension>(
  db: Storage,
  account: number,
  { level, id }: Subject,
  range: DayRange,
  names: readonly Name[],
): Promise<Record<Name, Ranking>> {
  if (level === 'tag') return rankingsOfTag(db, account, id, range, names)
  const rankings = emptyRankings(names)
  const columns = names.map((name) => sql<string | null>`breakdowns ->> ${sql.lit(dimensions.indexOf(name))}`.as(name))
  for await (const days of batchesOf(range)) {
    const stored = daysAmong(account, level, [id], days).select(columns)
    const rows = await db.execute<Readonly<Record<string, string | null>>>(stored)
    for (const name of names) {
      if (names.length > 1) await nextTick()
      for (const row of rows) {
        decodeBreakdown(name, JSON.parse(row[name] ?? '{}'), (value, clicks) => rankings[name].add(value, clicks))
      }
    }
  }
  return rankings
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

/** With more links, the days of all links are read, instead of looking up each link on each day. */
const maxLookups = 20_000
/** Values of a tag that one query returns, and values of the whole range, as many as a year of a space can have. */
const [maxStepValues, maxTagValues] = [5_000, 75_000]

/**
 * Returns queries for the stored days of the links that have the account's tag now, each for some days of the range. Its
 * days are not stored, and a tag may have a million links, so the queries add them up outside of the event loop.
 */
async function tagDays(db: Db, account: number, tag: number, range: DayRange) {
  const tags = await db.execute(
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
  const isLarge = tags.reduce((sum, { links }) => sum + Number(links), 0) > maxLookups
  const ids = tags.map(({ id }) => id)
  const tagged = query
    .selectFrom('link_tags')
    .select('link_id')
    .where('account_id', '=', account)
    .where('tag_id', 'in', ids)
  const id = sql.ref<number>('click_days.id')
  // The links of removed domains are gone, but keep their tags until they are deleted. Such domains are rare.
  const removed = await db.execute(query.selectFrom('domains').select('id').where('account_id', '=', 0).limit(1))
  return parts(daysOf(range), isLarge ? 1 : tagDayBatchSize)
    .map((days) =>
      storedDays('link', days)
        .where(({ exists, eb }) => (isLarge ? exists(tagged.where('link_id', '=', id)) : eb(id, 'in', tagged)))
        .$if(removed.length > 0, (rows) => rows.where(({ exists }) => exists(ownedRecord(account, 'link', id)))),
    )
    .toArray()
}

/** Returns whether the links that have the account's tag now had visits in the range. */
export async function hasTagDays(storage: Storage, account: number, tag: number, range: DayRange): Promise<boolean> {
  for (const days of await tagDays(storage, account, tag, range)) {
    if ((await storage.scan(account, days.select('day').limit(1))).length > 0) return true
  }
  return false
}

/** Returns the sum of numbers in JSON. They are exact up to 2^53 on both engines. */
function sumOf(json: RawBuilder<unknown>) {
  return sql<number>`sum(cast(${json} as double precision))`
}

/** Returns the hours of each day of the range, added up for the links that have the account's tag now. */
export async function* readTagHours(
  storage: Storage,
  account: number,
  tag: number,
  range: DayRange,
): AsyncGenerator<{ readonly day: number; readonly hours: Iterable<[number, HourCounts]> }> {
  for (const days of await tagDays(storage, account, tag, range)) {
    const sums = [0, 1, 2, 3].map((index) => sumOf(sql`hour.value ->> ${sql.lit(index)}`).as(`sum${index}`))
    const rows = await storage.scan(
      account,
      days
        .innerJoin(sql<{ key: string }>`json_each(hours)`.as('hour'), (join) => join.onTrue())
        .select(['day', 'hour.key', ...sums])
        .groupBy(['day', 'hour.key']),
    )
    for (const [day = 0, hour = 0, people = 0, unique = 0, bots = 0, previews = 0] of rows.map((row) =>
      row.map(Number),
    )) {
      yield { day, hours: [[hour, { people, unique, bots, previews }]] }
    }
  }
}

function emptyRankings<Name extends Dimension>(names: readonly Name[]): Record<Name, Ranking> {
  return Object.fromEntries(names.map((name) => [name, new Ranking()])) as Record<Name, Ranking>
}

async function rankingsOfTag<Name extends Dimension>(
  storage: Storage,
  account: number,
  tag: number,
  range: DayRange,
  names: readonly Name[],
): Promise<Record<Name, Ranking>> {
  const rankings = emptyRankings(names)
  const steps = await tagDays(storage, account, tag, range)
  for (const together of [names.filter((name) => name === 'links'), names.filter((name) => name !== 'links')]) {
    if (together.length > 0) await addTagValues(storage, account, steps, together, rankings)
  }
  return rankings
}

/** Adds the clicks by value of some days, either of links or of other dimensions. The rarest of very many values become `other`. */
async function addTagValues<Name extends Dimension>(
  storage: Storage,
  account: number,
  steps: Awaited<ReturnType<typeof tagDays>>,
  names: readonly Name[],
  rankings: Record<Name, Ranking>,
): Promise<void> {
  const isOfLinks = names[0] === 'links'
  const chosen = names.map((name) => sql`select ${sql.lit(dimensions.indexOf(name))} as number`)
  const entries = isOfLinks ? sql`hours` : sql`breakdowns -> dimension.number`
  const key = isOfLinks ? sql.ref('click_days.id') : sql.ref('entry.key')
  const clicks = sumOf(isOfLinks ? sql`entry.value ->> 0` : sql`cast(entry.value as text)`)
  const limit = Math.min(maxStepValues, Math.ceil(maxTagValues / steps.length) * names.length)
  for (const days of steps) {
    const sums = days
      .innerJoin(sql<{ number: number }>`(${sql.join(chosen, sql` union all `)})`.as('dimension'), (join) =>
        join.onTrue(),
      )
      .innerJoin(sql`json_each(${entries})`.as('entry'), (join) => join.onTrue())
      .select(['dimension.number', key.as('value'), clicks.as('clicks')])
      .select(sql`sum(${clicks}) over (partition by dimension.number)`.as('total'))
      .groupBy(['dimension.number', key])
      .having(clicks, '>', 0)
      // The most frequent value of each dimension is first, then the second of each, so that each has its total.
      .orderBy(sql`row_number() over (partition by dimension.number order by ${clicks} desc)`)
      .limit(limit)
    const rests = new Map<Name, number>()
    for (const [number, value, found, total] of await storage.scan(account, sums)) {
      const name = dimensions[Number(number)] as Name
      rankings[name].add(decodeValue(name, String(value)), Number(found))
      rests.set(name, (rests.get(name) ?? Number(total)) - Number(found))
    }
    for (const [name, rest] of rests) if (rest > 0) rankings[name].add(other, rest)
  }
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
async function* batchesOf(range: DayRange): AsyncGenerator<readonly number[]> {
  for (const batch of parts(daysOf(range), dayBatchSize)) {
    if (batch[0] !== range.from) await nextTick()
    yield batch
  }
}
