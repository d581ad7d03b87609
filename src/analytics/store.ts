import { isDeepStrictEqual } from 'node:util'
import { foldCase } from '../lib/fold-case.ts'
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
import { type LinkTotals, setTotals } from '../storage/clicks/totals.ts'
import type { Db } from '../storage/port.ts'
import { restorableSince } from '../storage/restoring.ts'
import {
  deleteUnrestorable,
  type Ids,
  linksAtOnce,
  makeDue,
  parametersFor,
  selectByShortLink,
  selectDays,
  selectDayToChange,
  selectDue,
  selectFactsOf,
  selectLimitedToChange,
  selectNextDay,
  selectTotalsToChange,
  selectUnrestorable,
  setDay,
  type TotalsRow,
} from './statements.ts'
import type { Bounds } from './writer.ts'

/** Whether any upkeep is due: something is older than the bounds, has moved, or is gone. */
export async function isUpkeepDue(db: Db, bounds: Bounds): Promise<boolean> {
  return (await db.all(selectDue, { ...bounds })).length > 0
}

/** Forgets deleted links that cannot be restored at `now`, in Unix milliseconds, of every account; their days go next. */
export async function forgetDeletedLinks(db: Db, now: number): Promise<void> {
  const until = restorableSince(now)
  // Most often there is none, and a read waits for no other writer.
  if ((await db.all(selectUnrestorable, { until })).length > 0) await db.writeOne(deleteUnrestorable, { until })
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

/** The id of the account's link with this domain and alias, such as `go.acme.com/sale`. */
export async function findByShortLink(db: Db, account: number, shortLink: string): Promise<number | undefined> {
  const [domain = '', ...path] = shortLink.split('/')
  const [found] = await db.all(selectByShortLink, { account, domain, alias_folded: foldCase(path.join('/')) })
  return found?.id
}

/** What became of a day: `other` if there is one already with other numbers, `gone` if there is no such link. */
export type DayStored = 'stored' | 'known' | 'other' | 'gone'

/**
 * Stores days of the account's links, unless they are there, and adds them to those of domains, spaces and the account.
 * Totals have at least these days then, which tells the upkeep that the links have any; `raiseTotals` has to follow for the
 * sums of all days. To be called in a serializable transaction, once: it locks rows in the order that
 * `storage/clicks/tables.ts` gives.
 */
export async function storeDays(tx: Db, account: number, days: readonly LinkDay[]): Promise<DayStored[]> {
  const links = await linksOf(
    tx,
    account,
    days.map(({ link }) => link),
  )
  const sorted = days.map((day, at) => ({ day, at })).sort((a, b) => a.day.day - b.day.day || a.day.link - b.day.link)
  const became: DayStored[] = []
  const sums = new Map<string, Day>()
  const totals = new Map<number, Totals>()
  for (const { day, at } of sorted) {
    const link = links.get(day.link)
    const outcome = link === undefined ? 'gone' : await storeDay(tx, day)
    became[at] = outcome
    if (link === undefined || outcome !== 'stored') continue
    addToOwners(sums, day.day, day.facts, link.owners)
    const total = totals.get(day.link) ?? noClicks()
    totals.set(day.link, total)
    addHours(total, day.facts)
  }
  for (const { key, facts } of [...sums.values()].sort((a, b) => compareKeys(a.key, b.key))) {
    const [there] = await tx.all(selectDayToChange, key)
    const sum = factsIn(there?.facts ?? nothing)
    addDay(sum, facts)
    await tx.all(setDay, { ...key, facts: encodeDay(sum) })
  }
  for (const [link, total] of totals) await raise(tx, links.get(link) as Locked, total)
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

/**
 * Raises the totals of the account's links to the sums of their days. A total that is higher stays: it has clicks whose days
 * are no longer kept. To be called in a serializable transaction, for at most `linksAtOnce` links.
 */
export async function raiseTotals(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  const links = await linksOf(tx, account, ids)
  // Those who add to a day lock the totals first, so the days stay as they are until the end.
  const sums = await sumsOfDays(tx, [...links.keys()])
  for (const [link, locked] of links) await raise(tx, locked, sums.get(link) as Totals)
}

/** Raises the totals of a link to a sum, where they are lower. */
async function raise(tx: Db, { owners: { link }, totals }: Locked, sum: Totals): Promise<void> {
  const raised = {
    clicks: Math.max(totals.clicks, sum.clicks),
    bots: Math.max(totals.bots, sum.bots),
    previews: Math.max(totals.previews, sum.previews),
  }
  if (isDeepStrictEqual({ ...totals, ...raised }, totals)) return
  await tx.all(setTotals, { link_id: link, ...raised, last_clicked_ms: totals.last_clicked_ms })
  await tx.all(makeDue, { link })
}

/** The sums of all days of links. */
async function sumsOfDays(tx: Db, links: readonly number[]): Promise<Map<number, Totals>> {
  const sums = new Map(links.map((link) => [link, noClicks()]))
  for (let day = await nextDay(tx, -1); day !== null; day = await nextDay(tx, day)) {
    for (const { id, facts } of await tx.all(selectFactsOf, { day, ...parametersFor(links) })) {
      addHours(sums.get(id) as Totals, decodeDay(facts))
    }
  }
  return sums
}

function noClicks(): Totals {
  return { clicks: 0, bots: 0, previews: 0 }
}

function addHours(sum: Totals, { hours }: DayFacts): void {
  for (const { people, bots, previews } of hours.values()) {
    sum.clicks += people
    sum.bots += bots
    sum.previews += previews
  }
}

type Totals = { -readonly [name in 'clicks' | 'bots' | 'previews']: LinkTotals[name] }

/** A link whose totals are locked. */
interface Locked {
  readonly owners: Owners
  readonly totals: Totals & Pick<LinkTotals, 'last_clicked_ms'>
}

/** In ascending order. */
async function linksOf(tx: Db, account: number, ids: readonly number[]): Promise<Map<number, Locked>> {
  const sorted = [...new Set(ids)].sort((a, b) => a - b)
  const groups: Ids[] = []
  for (let at = 0; at < sorted.length; at += linksAtOnce) {
    groups.push(parametersFor(sorted.slice(at, at + linksAtOnce)))
  }
  for (const group of groups) await tx.all(selectLimitedToChange, { account, ...group })
  const links = new Map<number, Locked>()
  for (const group of groups) {
    for (const there of await tx.all(selectTotalsToChange, { account, ...group })) {
      links.set(there.link_id, lockedIn(there))
    }
  }
  return links
}

function lockedIn(there: TotalsRow): Locked {
  const { link_id: link, account_id: account, clicks, bots, previews, last_clicked_ms } = there
  return {
    owners: {
      ...{ link, account, domain: there.domain_id, space: there.space_id },
      ...{ formerSpace: there.former_space_id, formerBefore: there.former_before },
    },
    totals: { clicks, bots, previews, last_clicked_ms },
  }
}
