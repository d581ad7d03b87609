/** Clicks in the database, as the writer of clicks leaves them: what tests of statistics begin with. */
import assert from 'node:assert/strict'
import type { Kysely } from 'kysely'
import {
  addDay,
  type DayFacts,
  type Dimension,
  dimensions,
  emptyDay,
  type HourCounts,
  hourOf,
  peopleOf,
  type Value,
} from '../src/storage/clicks/day-facts.ts'
import { decodeDay, encodeDay } from '../src/storage/clicks/day-form.ts'
import { setTotals } from '../src/storage/clicks/totals.ts'
import type { Db } from '../src/storage/port.ts'
import { statement, toChange } from '../src/storage/statement.ts'

interface DayRow {
  scope: number
  day: number
  id: number
  facts: Uint8Array
}

interface TotalsRow {
  link_id: number
  account_id: number
  domain_id: number
  space_id: number | null
  clicks: number
  bots: number
  previews: number
  last_clicked_ms: number | null
}

type Tables = {
  click_days: DayRow
  link_clicks: TotalsRow
  links: { id: number; created_at: string; status_due_at: string | null }
}

/** The number of a date such as `2026-11-22`. */
export function dayOf(date: string): number {
  return Date.parse(date) / 86_400_000
}

/** One click. Where it is a person's, values that are not given are unknown. */
export interface TestClick {
  readonly hour: number
  readonly kind: 'people' | 'bots' | 'previews'
  readonly isFirst?: boolean
  readonly values?: Readonly<Partial<Record<Dimension, Value>>>
}

/** A day of a link with these clicks. */
export function dayWith(clicks: readonly TestClick[]): DayFacts {
  const facts = emptyDay()
  for (const { hour, kind, isFirst = false, values = {} } of clicks) {
    const counts = hourOf(facts, hour)
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

/** The same clicks of people many times in an hour, with one value of a dimension. */
export function manyPeople(people: number, dimension: Exclude<Dimension, 'links'>, value: Value, hour = 0): DayFacts {
  const facts = dayWith([])
  Object.assign(hourOf(facts, hour), { people, unique: people })
  for (const each of dimensions.filter((name) => name !== 'links')) {
    facts.breakdowns[each].set(each === dimension ? value : null, people)
  }
  return facts
}

/** Adds clicks of a day to the link, its domain, its space and its account. */
export async function addClicks(db: Db, link: number, day: number, facts: DayFacts): Promise<void> {
  await db.write(async (tx) => {
    const [own] = await tx.all(selectTotals, { link })
    assert.ok(own)
    const people = peopleOf(facts)
    const links = new Map<Value, number>(people > 0 ? [[link, people]] : [])
    const named = { ...facts, breakdowns: { ...facts.breakdowns, links } }
    await addDayTo(tx, { scope: 0, day, id: link }, facts)
    await addDayTo(tx, { scope: 1, day, id: own.domain_id }, named)
    if (own.space_id !== null) await addDayTo(tx, { scope: 2, day, id: own.space_id }, named)
    await addDayTo(tx, { scope: 3, day, id: own.account_id }, named)
    const [bots, previews] = [own.bots + sumOf(facts, 'bots'), own.previews + sumOf(facts, 'previews')]
    const at = people > 0 ? day * 86_400_000 : own.last_clicked_ms
    await tx.all(setTotals, { link_id: link, clicks: own.clicks + people, bots, previews, last_clicked_ms: at })
  })
}

async function addDayTo(tx: Db, place: Omit<DayRow, 'facts'>, more: DayFacts): Promise<void> {
  let old: Pick<DayRow, 'facts'> | undefined
  while (old === undefined) {
    await tx.all(insertDay, { ...place, facts: encodeDay(emptyDay()) })
    // A transaction that we waited for may have deleted the row.
    old = (await tx.all(selectToChange, place))[0]
  }
  const sum = decodeDay(old.facts)
  addDay(sum, more)
  await tx.all(setDay, { ...place, facts: encodeDay(sum) })
}

function sumOf({ hours }: DayFacts, count: keyof HourCounts): number {
  return [...hours.values()].reduce((sum, each) => sum + each[count], 0)
}

const selectTotals = toChange(
  statement((db: Kysely<Tables>, { link }: { link: number }) =>
    db.selectFrom('link_clicks').selectAll().where('link_id', '=', link),
  ),
)

/** The totals of a link. */
export async function totalsOf(db: Db, link: number) {
  const [row] = await db.all(selectTotals, { link })
  return row && [row.clicks, row.bots, row.previews, row.last_clicked_ms]
}

const selectDay = statement((db: Kysely<Tables>, { scope, day, id }: Omit<DayRow, 'facts'>) =>
  db.selectFrom('click_days').select('facts').where('scope', '=', scope).where('day', '=', day).where('id', '=', id),
)

const selectToChange = toChange(selectDay)

/** The facts of a day; undefined if there are none. */
export async function factsOf(db: Db, scope: number, day: number, id: number): Promise<DayFacts | undefined> {
  const [row] = await db.all(selectDay, { scope, day, id })
  return row && decodeDay(row.facts)
}

const insertDay = statement((db: Kysely<Tables>, row: DayRow) =>
  db
    .insertInto('click_days')
    .values({ scope: row.scope, day: row.day, id: row.id, facts: row.facts })
    .onConflict((conflict) => conflict.doNothing()),
)

const setDay = statement((db: Kysely<Tables>, { scope, day, id, facts }: DayRow) =>
  db.updateTable('click_days').set({ facts }).where('scope', '=', scope).where('day', '=', day).where('id', '=', id),
)

/** Stores a day as it is. */
export async function storeDay(db: Db, scope: number, day: number, id: number, facts: DayFacts): Promise<void> {
  await db.writeOne(insertDay, { scope, day, id, facts: encodeDay(facts) })
}

/** Which days are stored, of everything. */
export const allDays = statement((db: Kysely<Tables>) => db.selectFrom('click_days').select(['scope', 'day', 'id']))

export const removeDay = statement((db: Kysely<Tables>, { scope, day, id }: Omit<DayRow, 'facts'>) =>
  db.deleteFrom('click_days').where('scope', '=', scope).where('day', '=', day).where('id', '=', id),
)

/** Moves the time at which a link was stored. */
export const setCreatedAt = statement((db: Kysely<Tables>, { link, at }: { link: number; at: string }) =>
  db.updateTable('links').set({ created_at: at }).where('id', '=', link),
)
