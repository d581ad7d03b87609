/**
 * Clicks that are forgotten, or follow their link to another space: both change the days of those that the link belongs to.
 */
import { addDay, addPeople, type DayFacts, peopleOf, subtractDay } from './day-facts.ts'
import { encodeDay, factsIn } from './day-form.ts'
import { compareKeys, keysOfOwners } from './keys.ts'
import { type Click, totalsOf } from './recording.ts'
import { type AddedTo, type AddedTotals, type ClickTables, type DayKey, scopes } from './tables.ts'

/** Days that are forgotten or moved in one transaction: full ones take some milliseconds each. */
const correctedAtOnce = 8

/**
 * Forgets some clicks of the account's link, at this time; null if there is no such link, false if none are left. Totals and
 * days agree after each step.
 */
export async function forgetSome(
  tables: ClickTables,
  account: number,
  link: number,
  atMs: number,
): Promise<boolean | null> {
  const owners = await tables.owners(account, link)
  if (owners === undefined) return null
  const all = await tables.daysOf(scopes.link, link)
  const days = await factsOfLink(tables, link, all.slice(0, correctedAtOnce))
  await change(
    tables,
    days.flatMap(({ day, facts }) => keysOfOwners(owners, day).map((key) => ({ key, by: facts, change: takeOut }))),
  )
  for (const { day } of days) await tables.deleteDays(scopes.link, day, [link])
  if (all.length <= correctedAtOnce) await tables.clearTotals(link, atMs)
  else await tables.addTotals([lessOf(link, days)])
  return all.length > correctedAtOnce
}

/**
 * The clicks without those from before their link's clicks were forgotten, which another process had in memory at that time.
 * Takes these out of the totals again, to which all have been added: only then are they locked.
 */
export async function leaveOutForgotten(
  tables: ClickTables,
  clicks: readonly Click[],
  added: readonly AddedTo[],
): Promise<readonly Click[]> {
  const forgotten = new Map<number, number>()
  for (const { link, forgottenMs } of added) if (forgottenMs !== null) forgotten.set(link, forgottenMs)
  const isForgotten = ({ link, atMs, seenMs = atMs }: Click) =>
    seenMs <= (forgotten.get(link) ?? Number.NEGATIVE_INFINITY)
  if (forgotten.size === 0 || !clicks.some(isForgotten)) return clicks
  const less = totalsOf(clicks.filter(isForgotten)).map(({ link, people, bots, previews }) => ({
    ...{ link, people: -people, bots: -bots, previews: -previews, lastMs: 0, seenMs: 0 },
  }))
  await tables.addTotals(less)
  return clicks.filter((click) => !isForgotten(click))
}

/** What the totals of a link have less without these days. */
function lessOf(link: number, days: readonly { readonly facts: DayFacts }[]): AddedTotals {
  const less = { link, people: 0, bots: 0, previews: 0, lastMs: 0, seenMs: 0 }
  for (const { facts } of days) {
    for (const { people, bots, previews } of facts.hours.values()) {
      less.people -= people
      less.bots -= bots
      less.previews -= previews
    }
  }
  return less
}

/**
 * Moves some clicks of one link that is in another space by now, those of the newest days first; false if there is none. From the
 * first step on, clicks of the days that have moved are written there.
 */
export async function moveNext(tables: ClickTables): Promise<boolean> {
  const move = await tables.nextMove()
  if (move === undefined) return false
  const { owners, to } = move
  const { link } = owners
  const isBegun = owners.formerBefore > 0
  if (!isBegun && owners.space === to) {
    await tables.endMove(link)
    return true
  }
  const [from, into] = isBegun ? [owners.formerSpace, owners.space] : [owners.space, to]
  const left = (await tables.daysOf(scopes.link, link)).filter((day) => !isBegun || day < owners.formerBefore)
  const days = left.slice(-correctedAtOnce)
  const changes = (await factsOfLink(tables, link, days)).flatMap(({ day, facts }) => [
    { space: from, day, by: facts, change: takeOut },
    { space: into, day, by: facts, change: addDay },
  ])
  await change(
    tables,
    changes.flatMap(({ space, day, ...rest }) =>
      space === null ? [] : [{ key: { scope: scopes.space, day, id: space }, ...rest }],
    ),
  )
  const isDone = days.length === left.length
  const former = isDone
    ? { formerSpace: null, formerBefore: 0 }
    : { formerSpace: from, formerBefore: days[0] as number }
  await tables.setSpaces({ ...owners, space: into, ...former })
  return true
}

/** The days of a link, as they are in those of its owners. One that another process has just deleted is not made again. */
async function factsOfLink(
  tables: ClickTables,
  link: number,
  days: readonly number[],
): Promise<{ day: number; facts: DayFacts }[]> {
  const stored = await tables.days(days.map((day) => ({ scope: scopes.link, day, id: link })))
  const found: { day: number; facts: DayFacts }[] = []
  for (const [at, day] of days.entries()) {
    const facts = factsIn(stored[at] as Uint8Array)
    const people = peopleOf(facts)
    if (people > 0) addPeople(facts.breakdowns.links, link, people)
    if (facts.hours.size > 0) found.push({ day, facts })
    else await tables.deleteDays(scopes.link, day, [link])
  }
  return found
}

interface Change {
  readonly key: DayKey
  readonly by: DayFacts
  readonly change: (facts: DayFacts, by: DayFacts) => void
}

async function change(tables: ClickTables, changes: readonly Change[]): Promise<void> {
  const sorted = changes.toSorted((a, b) => compareKeys(a.key, b.key))
  const keys = sorted.map(({ key }) => key)
  const stored = await tables.days(keys)
  const changed = sorted.map(({ by, change: apply }, at) => {
    const facts = factsIn(stored[at] as Uint8Array)
    apply(facts, by)
    return facts
  })
  const isEmpty = (at: number) => changed[at]?.hours.size === 0
  await tables.setDays(
    keys.filter((_, at) => !isEmpty(at)),
    changed.filter((_, at) => !isEmpty(at)).map(encodeDay),
  )
  for (const { scope, day, id } of keys.filter((_, at) => isEmpty(at))) await tables.deleteDays(scope, day, [id])
}

/** Days of a space that is being removed may have begun again, without what they held. */
function takeOut(facts: DayFacts, less: DayFacts): void {
  if (holds(facts, less)) subtractDay(facts, less)
}

function holds(facts: DayFacts, part: DayFacts): boolean {
  return [...part.hours].every(([hour, { people, unique, bots, previews }]) => {
    const held = facts.hours.get(hour)
    return held && held.people >= people && held.unique >= unique && held.bots >= bots && held.previews >= previews
  })
}
