import {
  addDay,
  addPeople,
  type DayFacts,
  emptyDay,
  gatherDay,
  isSameDay,
  peopleOf,
} from '../storage/clicks/day-facts.ts'
import { decodeDay, encodeDay, factsIn } from '../storage/clicks/day-form.ts'
import { compareKeys, keysOfOwners } from '../storage/clicks/keys.ts'
import { type DayKey, type Owners, scopes } from '../storage/clicks/tables.ts'
import type { Db } from '../storage/port.ts'
import {
  makeDue,
  selectDays,
  selectDayToChange,
  selectDue,
  selectNextDay,
  selectTotalsToChange,
  setDay,
  setTotals,
} from './statements.ts'
import type { Bounds } from './writer.ts'

/** Whether any upkeep is due: something is older than the bounds, has moved, or is gone. */
export async function isUpkeepDue(db: Db, bounds: Bounds): Promise<boolean> {
  return (await db.all(selectDue, { ...bounds })).length > 0
}

/** The days and links to export. Days are counted from 1970-01-01 in UTC; both bounds are included. */
export interface DayRange {
  readonly from: number
  readonly to: number
  /** The highest id of a link. */
  readonly lastLink: number
}

/** The clicks that a link had on a day. */
export interface LinkDay {
  readonly link: number
  readonly day: number
  readonly facts: DayFacts
}

/** The same with the domain and the alias of the link. */
export interface NamedLinkDay extends LinkDay {
  readonly domain: string
  readonly alias: string
}

/** Days that are read, and kept in memory, at once. */
const pageSize = 100

/** The days of the account's links, by day and link, page by page. */
export async function* daysOfLinks(db: Db, account: number, range: DayRange): AsyncGenerator<readonly NamedLinkDay[]> {
  for (let day = await nextDay(db, range.from - 1); day !== null && day <= range.to; day = await nextDay(db, day)) {
    let after = 0
    for (;;) {
      const rows = await db.all(selectDays, { account, day, after, last: range.lastLink, limit: pageSize })
      if (rows.length === 0) break
      after = rows.at(-1)?.link ?? 0
      yield rows.map(({ facts, ...row }) => ({ ...row, day, facts: decodeDay(facts) }))
    }
  }
}

/** Null if there is none. */
async function nextDay(db: Db, after: number): Promise<number | null> {
  const [next] = await db.all(selectNextDay, { after })
  return next?.day ?? null
}

/** What became of a day: `other` if there is one already with other numbers, `gone` if there is no such link. */
export type DayStored = 'stored' | 'known' | 'other' | 'gone'

/**
 * Stores days of the account's links, unless they are there, and adds them to those of domains, spaces and the account.
 * Totals are those of the links: they only grow where they had less than a single day. To be called in a serializable
 * transaction, once: it locks rows in the order that `storage/clicks/tables.ts` gives.
 */
export async function storeDays(tx: Db, account: number, days: readonly LinkDay[]): Promise<DayStored[]> {
  const links = await linksOf(tx, account, days)
  const sorted = days.map((day, at) => ({ day, at })).sort((a, b) => a.day.day - b.day.day || a.day.link - b.day.link)
  const became: DayStored[] = []
  const sums = new Map<string, Day>()
  for (const { day, at } of sorted) {
    const link = links.get(day.link)
    const outcome = link === undefined ? 'gone' : await storeDay(tx, day)
    became[at] = outcome
    if (link === undefined || outcome !== 'stored') continue
    await raiseTotals(tx, link, day.facts)
    addToOwners(sums, day.day, day.facts, link.owners)
  }
  for (const { key, facts } of [...sums.values()].sort((a, b) => compareKeys(a.key, b.key))) {
    const [there] = await tx.all(selectDayToChange, key)
    const sum = factsIn(there?.facts ?? nothing)
    addDay(sum, facts)
    await tx.all(setDay, { ...key, facts: encodeDay(sum) })
  }
  return became
}

const nothing = new Uint8Array()

/** The facts of a day of a domain, a space or an account. */
interface Day {
  readonly key: DayKey
  readonly facts: DayFacts
}

/** Adds a day of a link to those of all to whom it belongs. */
function addToOwners(days: Map<string, Day>, day: number, facts: DayFacts, owners: Owners): void {
  const people = peopleOf(facts)
  for (const key of keysOfOwners(owners, day)) {
    const name = `${key.scope} ${day} ${key.id}`
    const sum = days.get(name) ?? { key, facts: emptyDay() }
    days.set(name, sum)
    gatherDay(sum.facts, facts)
    if (people > 0) addPeople(sum.facts.breakdowns.links, owners.link, people)
  }
}

async function storeDay(tx: Db, { link, day, facts }: LinkDay): Promise<DayStored> {
  const key: DayKey = { scope: scopes.link, day, id: link }
  const [there] = await tx.all(selectDayToChange, key)
  if (there !== undefined) return isSameDay(decodeDay(there.facts), facts) ? 'known' : 'other'
  await tx.all(setDay, { ...key, facts: encodeDay(facts) })
  return 'stored'
}

interface Totals {
  clicks: number
  bots: number
  previews: number
}

/** A link whose totals are locked. */
interface Locked {
  readonly owners: Owners
  readonly totals: Totals
}

async function linksOf(tx: Db, account: number, days: readonly LinkDay[]): Promise<Map<number, Locked>> {
  const links = new Map<number, Locked>()
  for (const link of [...new Set(days.map((day) => day.link))].sort((a, b) => a - b)) {
    const [there] = await tx.all(selectTotalsToChange, { account, link })
    if (there === undefined) continue
    const { domain_id, space_id, clicks, bots, previews } = there
    links.set(link, {
      owners: { link, account, domain: domain_id, space: space_id },
      totals: { clicks, bots, previews },
    })
  }
  return links
}

/** A link that was visited while it was exported has days that are ahead of its line. */
async function raiseTotals(tx: Db, { owners: { link }, totals }: Locked, facts: DayFacts): Promise<void> {
  const day = totalsOf(facts)
  if (totals.clicks >= day.clicks && totals.bots >= day.bots && totals.previews >= day.previews) return
  for (const name of ['clicks', 'bots', 'previews'] as const) totals[name] = Math.max(totals[name], day[name])
  await tx.all(setTotals, { link_id: link, ...totals })
  await tx.all(makeDue, { link })
}

function totalsOf({ hours }: DayFacts): Totals {
  const sum = { clicks: 0, bots: 0, previews: 0 }
  for (const { people, bots, previews } of hours.values()) {
    sum.clicks += people
    sum.bots += bots
    sum.previews += previews
  }
  return sum
}
