/** Stores clicks for the tests of statistics. */
import assert from 'node:assert/strict'
import {
  addDay,
  countPeople,
  type DayFacts,
  type Dimension,
  decodeDay,
  dimensions,
  emptyDay,
  encodeDay,
  ensureHour,
  type HourCounts,
  shareForGroups,
  type Value,
} from '../src/analytics/day.ts'
import { type Day, Days, groupKeys, lockAccounts, lockTotalsOfAnyAccount, saveTotals } from '../src/analytics/tables.ts'
import type { Db } from '../src/storage/port.ts'
import { clickLevels, query, type Row } from '../src/storage/schema.ts'

/** The number of a date such as `2026-11-22`. */
export function dayOf(date: string): number {
  return Date.parse(date) / 86_400_000
}

/** One click. Its missing values are unknown if it is human. */
export interface TestClick {
  readonly hour: number
  readonly kind: 'people' | 'bots' | 'previews'
  readonly isFirst?: boolean
  readonly values?: Readonly<Partial<Record<Dimension, Value>>>
}

/** Returns a link's day with these clicks. */
export function dayWith(clicks: readonly TestClick[]): DayFacts {
  const facts = emptyDay()
  for (const { hour, kind, isFirst = false, values = {} } of clicks) {
    const counts = ensureHour(facts, hour)
    counts[kind] += 1
    if (kind !== 'people') continue
    counts.unique += Number(isFirst)
    for (const dimension of dimensions.filter((each) => each !== 'links')) {
      const breakdown = facts.breakdowns[dimension]
      const value = values[dimension] ?? null
      breakdown.set(value, (breakdown.get(value) ?? 0) + 1)
    }
  }
  return facts
}

/** Returns a day with many human clicks in an hour, with one value of a dimension. */
export function manyPeople(people: number, dimension: Exclude<Dimension, 'links'>, value: Value, hour = 0): DayFacts {
  const facts = dayWith([])
  Object.assign(ensureHour(facts, hour), { people, unique: people })
  for (const each of dimensions.filter((name) => name !== 'links')) {
    facts.breakdowns[each].set(each === dimension ? value : null, people)
  }
  return facts
}

/** Adds a day's clicks to a link and its groups. */
export async function addClicks(db: Db, link: number, day: number, facts: DayFacts): Promise<void> {
  await db.write(async (tx) => {
    const own = (await lockTotalsOfAnyAccount(tx, [link])).get(link)
    assert.ok(own)
    const cursors = await lockAccounts(tx, [own.account_id])
    const people = countPeople(facts)
    const days = new Days(tx)
    const [ofLink] = (await days.read([{ account: own.account_id, level: clickLevels.link, day, id: link }])) as [Day]
    Object.assign(ofLink, { domain: own.domain_id, space: own.space_id })
    addDay(ofLink.facts, facts)
    const share = shareForGroups(facts, link)
    for (const group of await days.read(groupKeys(own, ofLink))) addDay(group.facts, share)
    await days.save(cursors, new Map([[link, own]]))
    own.clicks += people
    own.bots += sumOf(facts, 'bots')
    own.previews += sumOf(facts, 'previews')
    if (people > 0) own.last_clicked_ms = day * 86_400_000
    await saveTotals(tx, [own])
  })
}

function sumOf({ hours }: DayFacts, count: keyof HourCounts): number {
  return [...hours.values()].reduce((sum, each) => sum + each[count], 0)
}

/** Returns a link's totals. */
export async function totalsOf(db: Db, link: number) {
  const [row] = await db.execute(query.selectFrom('link_clicks').selectAll().where('link_id', '=', link))
  return row && [row.clicks, row.bots, row.previews, row.last_clicked_ms]
}

/** Returns the clicks of a day; undefined if there are none. */
export async function factsOf(db: Db, level: number, day: number, id: number): Promise<DayFacts | undefined> {
  const days = query.selectFrom('click_days').select(['hours', 'breakdowns']).where('scope', '=', level)
  const [row] = await db.execute(days.where('day', '=', day).where('id', '=', id))
  return row && decodeDay(row)
}

/** Stores a day unchanged. */
export function storeDay(db: Db, level: number, day: number, id: number, facts: DayFacts): Promise<void> {
  return storeDays(db, [{ level, day, id, space: null, facts }])
}

/** Stores days unchanged. */
export async function storeDays(
  db: Db,
  days: readonly { level: number; day: number; id: number; space: number | null; facts: DayFacts }[],
): Promise<void> {
  const rows = days.map(({ level, day, id, space, facts }) => ({
    scope: level,
    day,
    id,
    space_id: space,
    ...encodeDay(facts),
  }))
  // Statements have a bounded number of values.
  for (let from = 0; from < rows.length; from += 200) {
    await db.execute(
      query
        .insertInto('click_days')
        .values(rows.slice(from, from + 200))
        .onConflict((conflict) => conflict.doNothing()),
    )
  }
}

export const allDays = query.selectFrom('click_days').select(['scope', 'day', 'id'])

export function removeDay(db: Db, level: number, day: number, id: number): Promise<unknown> {
  const all = query.deleteFrom('click_days').where('scope', '=', level)
  return db.execute(all.where('day', '=', day).where('id', '=', id))
}

/** Moves the time at which a link was stored. */
export function setCreatedAt(db: Db, link: number, at: string): Promise<unknown> {
  return db.execute(query.updateTable('links').set({ created_at: at }).where('id', '=', link))
}

/** Sets a link's totals regardless of its days. */
export async function setTotals(
  db: Db,
  link: number,
  totals: Pick<Row<'link_clicks'>, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms'>,
): Promise<void> {
  const { clicks, bots, previews, last_clicked_ms } = totals
  const set = { clicks, bots, previews, last_clicked_ms }
  await db.execute(query.updateTable('link_clicks').set(set).where('link_id', '=', link))
}
