/** The days of a tag's links, which are added up when they are read. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { parts, type Storage } from '../../../storage/port.ts'
import { query } from '../../../storage/schema.ts'
import type { DayRange } from '../day-range.ts'
import { type DayColumns, listDays, ownedRecord, type StoredDays, storedDays, totals } from '../statements.ts'

/** Days that one query reads, the most first. Parts have powers of two. */
const dayBatchSizes = [32, 16, 8, 4, 2, 1]
/** With more links, reading all links of a day is faster than looking up each. */
const maxLookups = 20_000
/** One of so many days is counted. */
const sampledDays = 4
/** Links' days that one query reads, if that is at least a day. */
const maxLinkDays = 32_000
/** Bytes of JSON that one query returns, because the thread that runs it has little memory. */
const maxReadBytes = 1_000_000
/** Bytes of JSON that are parsed in one event-loop tick, except for the last day of a link. */
const maxParsedBytes = 100_000
/** The bytes of a link and its clicks. */
const linkBytes = 20

/**
 * Returns queries for the stored days of the links that have the account's tag now, each for some days of the range. Its
 * days are not stored, and a tag may have a million links, so the queries add them up outside of the event loop.
 */
export async function tagDays(storage: Storage, account: number, tag: number, range: DayRange) {
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
  const ids = tags.map(({ id }) => id)
  const tagged = query
    .selectFrom('link_tags')
    .select('link_id')
    .where('account_id', '=', account)
    .where('tag_id', 'in', ids)
  const id = sql.ref<number>('click_days.id')
  // The links of removed domains are gone, but keep their tags until they are deleted. Such domains are rare.
  const removed = await storage.execute(query.selectFrom('domains').select('id').where('account_id', '=', 0).limit(1))
  const rows = links > maxLookups ? links : await countRows(storage, account, range, links)
  // Looks up each link on each day, or filters all links of each day by the tag. The plus prevents lookups on SQLite.
  const known = rows < links ? sql<number>`+${id}` : id
  const size = dayBatchSizes.find((days) => days * rows <= maxLinkDays) ?? 1
  return parts(listDays(range), size)
    .toArray()
    .map((days) =>
      storedDays('link', days)
        .where(({ exists, eb }) =>
          links > maxLookups ? exists(tagged.where('link_id', '=', id)) : eb(known, 'in', tagged),
        )
        .$if(removed.length > 0, (rows) => rows.where(({ exists }) => exists(ownedRecord(account, 'link', id)))),
    )
}

/** Returns how many links of all accounts have visits on a day, at most `most` on average. Counts a sample of the days. */
async function countRows(storage: Storage, account: number, range: DayRange, most: number): Promise<number> {
  const sample = listDays(range).filter((_, at) => at % sampledDays === 0)
  const rows = storedDays('link', sample)
    .select('day')
    .limit(most * sample.length)
  const [count] = await storage.scan(
    account,
    query.selectFrom(rows.as('row')).select(({ fn }) => fn.countAll().as('rows')),
  )
  return Math.ceil(Number(count?.[0]) / sample.length)
}

type TagDays = Awaited<ReturnType<typeof tagDays>>[number]

/** Reads the days of a tag's links together, outside of the event loop, in parts that take one tick each. */
export async function* daysOfTag(
  storage: Storage,
  account: number,
  tag: number,
  range: DayRange,
  columns: DayColumns,
  withLinks: boolean,
): AsyncGenerator<StoredDays> {
  const read = (days: TagDays, maxBytes?: number) =>
    storage.scan(account, selectLists(days, columns, withLinks, maxBytes))
  for (const days of await tagDays(storage, account, tag, range)) {
    const rows = await read(days, maxReadBytes)
    const isWhole = rows.every((row) => Number(row.at(-1)) <= maxReadBytes)
    if (isWhole) yield* partsOf(rows)
    else for (const some of await divideByLinks(storage, account, days, columns)) yield* partsOf(await read(some))
  }
}

/** Yields the rows of `selectLists`. */
async function* partsOf(rows: readonly (readonly unknown[])[]): AsyncGenerator<StoredDays> {
  for (const [hours, breakdowns, links, ...numbers] of rows as readonly [string, string, string, ...unknown[]][]) {
    await nextTick()
    const [day = 0, clicks = 0, unique_clicks = 0, bots = 0, previews = 0] = numbers.map(Number)
    yield { day, clicks, unique_clicks, bots, previews, hours, breakdowns, links }
  }
}

function countBytes({ hours, breakdowns }: DayColumns) {
  return sql<number>`octet_length(${hours}) + octet_length(${breakdowns}) + ${sql.lit(linkBytes)}`
}

/** Divides the rows by their links, so that each query returns about half of `maxReadBytes`. */
async function divideByLinks(
  storage: Storage,
  account: number,
  days: TagDays,
  columns: DayColumns,
): Promise<TagDays[]> {
  const [row] = await storage.scan(account, days.select(sql<number>`sum(${countBytes(columns)})`.as('bytes')))
  const count = Math.ceil((2 * Number(row?.[0])) / maxReadBytes)
  return Array.from({ length: count }, (_, share) => days.where(sql`click_days.id % ${sql.lit(count)}`, '=', share))
}

/**
 * Selects lists of the JSON of the rows, by day and in parts, and after the totals of each part the bytes up to its end.
 * Leaves out the rows after `maxBytes`.
 */
function selectLists(days: TagDays, { hours, breakdowns }: DayColumns, withLinks: boolean, maxBytes?: number) {
  const list = (text: RawBuilder<string>) => sql<string>`'[' || string_agg(${text}, ',') || ']'`
  const link = sql<string>`'[' || id || ',' || clicks || ']'`
  const own = countBytes({ hours: sql`hours`, breakdowns: sql`breakdowns` })
  const rows = days.select(['day', 'click_days.id', ...totals, hours.as('hours'), breakdowns.as('breakdowns')])
  const measured = query
    .selectFrom(rows.as('row'))
    .selectAll()
    .select([own.as('own'), sql<number>`sum(${own}) over (order by day, id)`.as('bytes')])
  return query
    .selectFrom(measured.as('row'))
    .select([list(sql.ref<string>('hours')).as('hours'), list(sql.ref<string>('breakdowns')).as('breakdowns')])
    .select((withLinks ? list(link) : sql<string>`'[]'`).as('links'))
    .select(({ fn }) => ['day', ...totals.map((name) => fn.sum(name).as(name)), fn.max('bytes').as('end')])
    .$if(maxBytes !== undefined, (rows) => rows.where(sql<number>`bytes - own`, '<=', maxBytes as number))
    .groupBy(['day', sql`bytes / ${sql.lit(maxParsedBytes)}`])
}
