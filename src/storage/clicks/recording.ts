/**
 * What a batch of clicks writes: gathered first, so that each row is written once.
 */
import { addPeople, type DayFacts, type Dimension, dimensions, hourOf, makeRoomIn } from './day-facts.ts'
import { encodeDay, factsIn } from './day-form.ts'
import { compareKeys, dayOf, hourIn, keysOfOwners } from './keys.ts'
import {
  type AddedTotals,
  type DayKey,
  type Owners,
  type Recording,
  type Scope,
  scopes,
  type Visitor,
} from './tables.ts'

/** Clicks of one link at one time, of the same visitor; more than one only if no visitor is known. */
export interface Click {
  readonly link: number
  /** Unix milliseconds; of some clicks the beginning of their hour, and `seenMs` is then when they came. */
  readonly atMs: number
  readonly seenMs?: number
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
  const totals = new Map<number, { -readonly [name in keyof AddedTotals]: AddedTotals[name] }>()
  for (const { link, class: of, count, atMs, seenMs = atMs } of clicks) {
    const known = totals.get(link)
    const total = known ?? { link, people: 0, bots: 0, previews: 0, lastMs: 0, seenMs: 0 }
    if (known === undefined) totals.set(link, total)
    if (of === 'person') {
      total.lastMs = Math.max(total.lastMs, atMs)
      total.seenMs = Math.max(total.seenMs, seenMs)
    }
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
  const isFirst = await firstOnes(tables, visitorsOf(clicks, ownersOf, salts))
  const recorded = clicks.map(({ link }, at): Recorded => {
    const found = ownersOf.get(link)
    return found && { owners: found, isFirst: isFirst.has(at) }
  })
  const days = daysOf(clicks, recorded)
  const keys = days.map(({ key }) => key)
  const stored = await tables.days(keys)
  await tables.setDays(
    keys,
    days.map(({ key, parts }, at) => encodeDay(withParts(factsIn(stored[at] as Uint8Array), key.scope, parts))),
  )
  return recorded
}

/** A visitor and the place of the click among those of the batch. */
type Came = Visitor & { readonly at: number }

function visitorsOf(
  clicks: readonly Click[],
  owners: ReadonlyMap<number, Owners>,
  salts: ReadonlyMap<number, Uint8Array>,
): Came[] {
  const came: Came[] = []
  clicks.forEach(({ link, atMs, visitorUnder }, at) => {
    if (visitorUnder === null || !owners.has(link)) return
    const day = dayOf(atMs)
    came.push({ day, link, visitor: visitorUnder(salts.get(day) as Uint8Array), at })
  })
  return came
}

/** The places of those that are the first of the day at their link. Of several in one batch, the first alone is. */
async function firstOnes(tables: Recording, came: Came[]): Promise<Set<number>> {
  // A stable sort: of the same visitor's, the first stays first.
  came.sort(compareVisitors)
  const visitors = came.filter((each, n) => n === 0 || compareVisitors(came[n - 1] as Came, each) !== 0)
  const isNew = await tables.addVisitors(visitors)
  return new Set(visitors.flatMap(({ at }, n) => (isNew[n] ? [at] : [])))
}

function compareVisitors(a: Visitor, b: Visitor): number {
  return a.day - b.day || a.link - b.link || a.visitor - b.visitor
}

/** Clicks of one link and day. */
interface Part {
  readonly owners: Owners
  readonly clicks: Click[]
  /** Of each click, whether it is a visitor's first. */
  readonly isFirst: boolean[]
}

interface PartsOfDay {
  readonly key: DayKey
  readonly parts: Part[]
}

/** The days of the clicks' links, and of all to whom these belong; sorted by their keys. */
function daysOf(clicks: readonly Click[], recorded: readonly Recorded[]): PartsOfDay[] {
  const days: PartsOfDay[] = []
  const ofLinks = new Map<number, Map<number, Part>>()
  const ofOwners = new Map<string, PartsOfDay>()
  clicks.forEach((click, at) => {
    const found = recorded[at]
    if (found === undefined) return
    const day = dayOf(click.atMs)
    const links = ofLinks.get(day) ?? new Map<number, Part>()
    ofLinks.set(day, links)
    let part = links.get(click.link)
    if (part === undefined) {
      part = { owners: found.owners, clicks: [], isFirst: [] }
      links.set(click.link, part)
      days.push({ key: { scope: scopes.link, day, id: click.link }, parts: [part] })
      for (const key of keysOfOwners(found.owners, day)) dayAmong(ofOwners, key).parts.push(part)
    }
    part.clicks.push(click)
    part.isFirst.push(found.isFirst)
  })
  return [...days, ...ofOwners.values()].sort((a, b) => compareKeys(a.key, b.key))
}

function dayAmong(days: Map<string, PartsOfDay>, key: DayKey): PartsOfDay {
  const name = `${key.scope} ${key.day} ${key.id}`
  const known = days.get(name)
  if (known !== undefined) return known
  const day = { key, parts: [] }
  days.set(name, day)
  return day
}

/** Adds clicks to the facts of a day, one by one: most days get a few, for which facts of their own would be much to collect. */
function withParts(facts: DayFacts, scope: Scope, parts: readonly Part[]): DayFacts {
  for (const { owners, clicks, isFirst } of parts) {
    let people = 0
    clicks.forEach((click, at) => {
      addClick(facts, click, isFirst[at] as boolean)
      if (click.class === 'person') people += click.count
    })
    if (scope !== scopes.link && people > 0) addPeople(facts.breakdowns.links, owners.link, people)
  }
  makeRoomIn(facts)
  return facts
}

function addClick({ hours, breakdowns }: DayFacts, click: Click, isFirst: boolean): void {
  const counts = hourOf({ hours }, hourIn(click.atMs))
  counts[placeOf[click.class]] += click.count
  if (click.class !== 'person') return
  if (isFirst) counts.unique += 1
  for (const dimension of dimensionsOfVisits) {
    addPeople(breakdowns[dimension], click.facts?.[dimension] ?? null, click.count)
  }
}

const dimensionsOfVisits = dimensions.filter((dimension) => dimension !== 'links')
