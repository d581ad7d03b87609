/**
 * Forgetting the clicks of a link: its days go, and what is added up from them is lowered. A few days at a time, each step
 * in a transaction that leaves totals and days in agreement, so that nothing else waits for long.
 */
import { type DayFacts, peopleOf, subtractDay } from '../storage/clicks/day-facts.ts'
import { decodeDay, encodeDay } from '../storage/clicks/day-form.ts'
import type { Db } from '../storage/port.ts'
import { changedAtOnce, type Days, parametersFrom, parametersOf, readAtOnce } from './day-parameters.ts'
import { dayAt } from './day-range.ts'
import {
  clearTotals,
  deleteDay,
  insertChange,
  lowerTotals,
  makeStatusDue,
  scopes,
  selectDays,
  selectLink,
  selectLinkDays,
  selectSums,
  selectTotals,
  updateDay,
} from './statements.ts'

interface Own {
  readonly account: number
  readonly id: number
}

/**
 * Removes all clicks of the account's link that are written; false if there is no such link. Clicks that are written
 * meanwhile may stay.
 */
export async function removeClicks(db: Db, account: number, link: number): Promise<boolean> {
  const own = { account, id: link }
  const [found] = await db.all(selectLink, own)
  if (found === undefined) return false
  // Clocks of nodes differ: a click may be of the day before the link, or of tomorrow.
  const first = Math.max(0, dayAt(Date.parse(found.created_at)) - 1)
  const last = dayAt(Date.now()) + 1
  for (let left = Math.ceil((last - first + 1) / readAtOnce); left > 0; left--) {
    const days = parametersFrom(last - left * readAtOnce + 1, last)
    const isLast = left === 1
    if (!isLast && (await db.all(selectDays.link, { ...own, ...days })).length === 0) continue
    if (!(await removeDays(db, own, days, isLast))) return false
  }
  return true
}

/** Removes the link's days among these; false if the link is gone. */
async function removeDays(db: Db, own: Own, days: Days, isLast: boolean): Promise<boolean> {
  let taken: number | null = changedAtOnce
  while (taken === changedAtOnce) taken = await db.write((tx) => removeSome(tx, own, days, isLast))
  return taken !== null
}

/** How many days were removed; null if the link is gone. */
async function removeSome(tx: Db, own: Own, days: Days, isLast: boolean): Promise<number | null> {
  const [totals] = await tx.all(selectTotals, own)
  if (totals === undefined) return null
  const stored = await tx.all(selectLinkDays, { id: own.id, ...days })
  const removed = new Map(stored.map(({ day, facts }) => [day, decodeDay(facts)]))
  const sums = { domain: totals.domain_id, space: totals.space_id, account: own.account }
  for (const scope of ['domain', 'space', 'account'] as const) {
    const id = sums[scope]
    if (id !== null && removed.size > 0) await lowerSums(tx, { scope: scopes[scope], id }, own.id, removed)
  }
  for (const day of removed.keys()) await tx.all(deleteDay, { scope: scopes.link, day, id: own.id })
  await tx.all(lowerTotals, { link_id: own.id, ...countsOf(removed.values()) })
  if (isLast && removed.size < changedAtOnce) await beginAgain(tx, own.id)
  return removed.size
}

/** Takes the days of a link away from those that they were added to. */
async function lowerSums(
  tx: Db,
  of: { readonly scope: number; readonly id: number },
  link: number,
  removed: ReadonlyMap<number, DayFacts>,
): Promise<void> {
  const days = [...removed.keys()]
  for (const { day, facts } of await tx.all(selectSums, { ...of, ...parametersOf(days, changedAtOnce) })) {
    const sum = decodeDay(facts)
    const less = asPartOfSum(removed.get(day) as DayFacts, link)
    if (!holds(sum, less)) continue
    subtractDay(sum, less)
    if (sum.hours.size === 0) await tx.all(deleteDay, { ...of, day })
    else await tx.all(updateDay, { ...of, day, facts: encodeDay(sum) })
  }
}

/** A link's own days do not name it. */
function asPartOfSum(facts: DayFacts, link: number): DayFacts {
  const people = peopleOf(facts)
  return { ...facts, breakdowns: { ...facts.breakdowns, links: new Map(people > 0 ? [[link, people]] : []) } }
}

/** Days of a space that is being removed may have begun again, without what they held. */
function holds(sum: DayFacts, part: DayFacts): boolean {
  return [...part.hours].every(([hour, { people, unique, bots, previews }]) => {
    const held = sum.hours.get(hour)
    return held && held.people >= people && held.unique >= unique && held.bots >= bots && held.previews >= previews
  })
}

function countsOf(days: Iterable<DayFacts>) {
  const counts = { clicks: 0, bots: 0, previews: 0 }
  for (const { hours } of days) {
    for (const { people, bots, previews } of hours.values()) {
      counts.clicks += people
      counts.bots += bots
      counts.previews += previews
    }
  }
  return counts
}

/** Clears what is left of the totals, which is from before clicks were kept by day, and has a used-up link work again. */
async function beginAgain(tx: Db, id: number): Promise<void> {
  await tx.all(clearTotals, { id })
  const limited = await tx.all(makeStatusDue, { id })
  if (limited.length > 0) await tx.all(insertChange, { id })
}
