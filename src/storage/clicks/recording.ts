/**
 * What a batch of clicks writes: gathered first, so that each row is written once.
 */
import {
  addDay,
  addPeople,
  type DayFacts,
  type Dimension,
  dimensions,
  emptyDay,
  gatherDay,
  hourOf,
  peopleOf,
} from './day-facts.ts'
import { encodeDay, factsIn } from './day-form.ts'
import { compareKeys, dayOf, hourIn, keysOfOwners } from './keys.ts'
import { type AddedTotals, type DayKey, type Owners, type Recording, scopes, type Visitor } from './tables.ts'

/** Clicks of one link at one time, of the same visitor; more than one only if no visitor is known. */
export interface Click {
  readonly link: number
  /** Unix milliseconds. */
  readonly atMs: number
  readonly count: number
  readonly class: 'person' | 'bot' | 'preview'
  /** Null where nothing is known, or nothing shall be. */
  readonly facts: Readonly<Record<Exclude<Dimension, 'links'>, string | null>> | null
  /** The visitor's hash under the salt of the day; null for visitors who are not to be told apart. */
  readonly visitorUnder: ((salt: Uint8Array) => number) | null
}

/** What became of a click: undefined if its link is gone. */
export type Recorded = { readonly owners: Owners; readonly isFirst: boolean } | undefined

/** What clicks add to the totals of their links, by ascending links. */
export function totalsOf(clicks: readonly Click[]): AddedTotals[] {
  const totals = new Map<number, { link: number; people: number; bots: number; previews: number; lastMs: number }>()
  for (const { link, class: of, count, atMs } of clicks) {
    const known = totals.get(link)
    const total = known ?? { link, people: 0, bots: 0, previews: 0, lastMs: 0 }
    if (known === undefined) totals.set(link, total)
    if (of === 'person') total.lastMs = Math.max(total.lastMs, atMs)
    total[placeOf[of]] += count
  }
  return [...totals.values()].sort((a, b) => a.link - b.link)
}

const placeOf = { person: 'people', bot: 'bots', preview: 'previews' } as const

/** Writes the visitors and days of clicks whose totals are written. */
export async function record(
  tables: Recording,
  clicks: readonly Click[],
  owners: readonly Owners[],
  salts: ReadonlyMap<number, Uint8Array>,
): Promise<Recorded[]> {
  const ownersOf = new Map(owners.map((each) => [each.link, each]))
  const visitors = clicks.map((click) => (ownersOf.has(click.link) ? visitorOf(click, salts) : undefined))
  const isFirst = await firstOnes(tables, visitors)
  const recorded = clicks.map(({ link }, at): Recorded => {
    const found = ownersOf.get(link)
    return found && { owners: found, isFirst: isFirst[at] as boolean }
  })
  const days = daysOf(clicks, recorded)
  const keys = days.map(({ key }) => key)
  const stored = await tables.days(keys)
  await tables.setDays(
    keys,
    days.map(({ facts }, at) => encodeDay(sumOf(stored[at] as Uint8Array, facts))),
  )
  return recorded
}

function visitorOf({ link, atMs, visitorUnder }: Click, salts: ReadonlyMap<number, Uint8Array>): Visitor | undefined {
  if (visitorUnder === null) return undefined
  const day = dayOf(atMs)
  return { day, link, visitor: visitorUnder(salts.get(day) as Uint8Array) }
}

/** For each visitor, whether that is the first visit of the day to the link. Of several in one batch, the first alone is. */
async function firstOnes(tables: Recording, visitors: readonly (Visitor | undefined)[]): Promise<boolean[]> {
  const came = new Map<string, { readonly visitor: Visitor; readonly at: number }>()
  for (const [at, visitor] of visitors.entries()) {
    if (visitor === undefined) continue
    const name = `${visitor.visitor} ${visitor.link} ${visitor.day}`
    if (!came.has(name)) came.set(name, { visitor, at })
  }
  const sorted = [...came.values()].sort((a, b) => compareVisitors(a.visitor, b.visitor))
  const isNew = await tables.addVisitors(sorted.map(({ visitor }) => visitor))
  const isFirst = visitors.map(() => false)
  for (const [n, { at }] of sorted.entries()) isFirst[at] = isNew[n] as boolean
  return isFirst
}

function compareVisitors(a: Visitor, b: Visitor): number {
  return a.day - b.day || a.link - b.link || a.visitor - b.visitor
}

export interface Day {
  readonly key: DayKey
  readonly facts: DayFacts
}

type LinkDay = Day & { readonly owners: Owners }

/** The days of the clicks' links, and of all to whom these belong; sorted by their keys. */
function daysOf(clicks: readonly Click[], recorded: readonly Recorded[]): Day[] {
  const ofLinks: LinkDay[] = []
  const known = new Map<number, Map<number, LinkDay>>()
  for (const [at, click] of clicks.entries()) {
    const found = recorded[at]
    if (found === undefined) continue
    const number = dayOf(click.atMs)
    const links = known.get(number) ?? new Map<number, LinkDay>()
    known.set(number, links)
    let day = links.get(click.link)
    if (day === undefined) {
      const key = { scope: scopes.link, day: number, id: click.link }
      day = { key, facts: emptyDay(), owners: found.owners }
      links.set(click.link, day)
      ofLinks.push(day)
    }
    addClick(day.facts, click, found.isFirst)
  }
  const ofOwners = new Map<string, Day>()
  for (const { key, facts, owners } of ofLinks) addToOwners(ofOwners, key.day, facts, owners)
  return [...ofLinks, ...ofOwners.values()].sort((a, b) => compareKeys(a.key, b.key))
}

function addClick(facts: DayFacts, click: Click, isFirst: boolean): void {
  const counts = hourOf(facts, hourIn(click.atMs))
  counts[placeOf[click.class]] += click.count
  if (click.class !== 'person') return
  if (isFirst) counts.unique += 1
  for (const dimension of dimensionsOfVisits) {
    addPeople(facts.breakdowns[dimension], click.facts?.[dimension] ?? null, click.count)
  }
}

const dimensionsOfVisits = dimensions.filter((dimension) => dimension !== 'links')

/** Adds a day of a link to those of all to whom it belongs. */
export function addToOwners(days: Map<string, Day>, day: number, facts: DayFacts, owners: Owners): void {
  const people = peopleOf(facts)
  for (const key of keysOfOwners(owners, day)) {
    const name = `${key.scope} ${day} ${key.id}`
    const sum = days.get(name) ?? { key, facts: emptyDay() }
    days.set(name, sum)
    gatherDay(sum.facts, facts)
    if (people > 0) addPeople(sum.facts.breakdowns.links, owners.link, people)
  }
}

/** What a day has, in its stored form, together with `more`. */
export function sumOf(stored: Uint8Array, more: DayFacts): DayFacts {
  const sum = factsIn(stored)
  addDay(sum, more)
  return sum
}
