/** Reads and stores daily aggregates for exports and imports. */
import { foldCase } from '../lib/fold-case.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { addPeople, type DayFacts, decodeDay, decodeHours, gatherDay, isSameDay, peopleOf } from './day.ts'
import {
  type Day,
  type DayKey,
  Days,
  daysOfScope,
  groupKeys,
  type LinkTotals,
  lockAccounts,
  lockLinks,
  makeStatusDue,
  parts,
  saveTotals,
  scopes,
} from './tables.ts'

/** The days and links to export. */
export interface DayRange {
  /** Both days are included. */
  readonly from: number
  readonly to: number
  /** The highest id of a link. */
  readonly lastLink: number
}

/** The clicks of a link on a day. */
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

/** Days that are read together. */
const pageSize = 100
/** Days whose hours are read together, each for `linkBatchSize` links. */
const dayBatchSize = 16
/** Links whose totals are raised in one transaction. */
export const linkBatchSize = 100

/** Returns the days of the account's links by day and link, in pages. Leaves out domains that are being removed. */
export async function* daysOfLinks(db: Db, account: number, range: DayRange): AsyncGenerator<readonly NamedLinkDay[]> {
  for (let day = await nextDay(db, range.from); day !== null && day <= range.to; day = await nextDay(db, day + 1)) {
    let after = 0
    for (;;) {
      const rows = await db.execute(
        query
          .selectFrom('click_days')
          .innerJoin('link_clicks', 'link_clicks.link_id', 'click_days.id')
          .innerJoin('links', 'links.id', 'click_days.id')
          .innerJoin('domains', 'domains.id', 'link_clicks.domain_id')
          .select(['click_days.id', 'domains.name', 'links.alias', 'click_days.hours', 'click_days.breakdowns'])
          .where('click_days.scope', '=', scopes.link)
          .where('click_days.day', '=', day)
          .where('click_days.id', '>', after)
          .where('click_days.id', '<=', range.lastLink)
          .where('link_clicks.account_id', '=', account)
          .where('domains.account_id', '=', account)
          .orderBy('click_days.id')
          .limit(pageSize),
      )
      if (rows.length === 0) break
      after = rows.at(-1)?.id ?? 0
      yield rows.map(({ id, name, alias, ...json }) => ({
        link: id,
        domain: name,
        alias,
        day: day as number,
        facts: decodeDay(json),
      }))
    }
  }
}

/** Returns the first day from `from` on that any link has clicks on; null if there is none. */
async function nextDay(db: Db, from: number): Promise<number | null> {
  const [next] = await db.execute(
    query
      .selectFrom('click_days')
      .select('day')
      .where('scope', '=', scopes.link)
      .where('day', '>=', from)
      .orderBy('day')
      .limit(1),
  )
  return next?.day ?? null
}

/** Returns the id of the account's link with this domain and alias, such as `go.acme.com/sale`. */
export async function findByShortLink(db: Db, account: number, shortLink: string): Promise<number | undefined> {
  const [domain = '', ...path] = shortLink.split('/')
  const [found] = await db.execute(
    query
      .selectFrom('links')
      .innerJoin('domains', 'domains.id', 'links.domain_id')
      .select('links.id')
      .where('domains.name', '=', domain)
      .where('domains.account_id', '=', account)
      .where('links.account_id', '=', account)
      .where('links.alias_folded', '=', foldCase(path.join('/'))),
  )
  return found?.id
}

/** `known`: it was stored before. `other`: the link has other clicks on that day. `gone`: there is no such link. */
export type DayStored = 'stored' | 'known' | 'other' | 'gone'

/**
 * Stores days of the account's links, except those that have clicks on that day, and adds them to the days of domains,
 * spaces and the account. Totals are then at least as high as these days. To be called once in a serializable transaction.
 * `raiseTotals` must follow.
 */
export async function storeDays(tx: Db, account: number, days: readonly LinkDay[]): Promise<DayStored[]> {
  const ids = days.map(({ link }) => link)
  const links = await lockOwnLinks(tx, account, ids)
  await lockAccounts(tx, [account])
  const stored = await new Days(tx).read(days.map(keyOf))
  const added: { readonly link: LinkTotals; readonly day: LinkDay }[] = []
  const outcomes = days.map((day, at): DayStored => {
    const link = links.get(day.link)
    if (link === undefined) return 'gone'
    const { facts } = stored[at] as Day
    if (facts.hours.size > 0) return isSameDay(facts, day.facts) ? 'known' : 'other'
    gatherDay(facts, day.facts)
    added.push({ link, day })
    return 'stored'
  })
  await addDays(tx, added)
  await raise(tx, links, sumsOf(added.map(({ day }) => ({ link: day.link, hours: day.facts.hours }))))
  return outcomes
}

function keyOf({ link, day }: LinkDay): DayKey {
  return { scope: scopes.link, day, id: link }
}

async function addDays(tx: Db, added: readonly { readonly link: LinkTotals; readonly day: LinkDay }[]): Promise<void> {
  const days = new Days(tx)
  for (const { link, day } of added) {
    const [own] = (await days.read([keyOf(day)])) as [Day]
    own.space = link.space
    gatherDay(own.facts, day.facts)
    const people = peopleOf(day.facts)
    for (const { facts } of await days.read(groupKeys(link, own))) {
      gatherDay(facts, day.facts)
      if (people > 0) addPeople(facts.breakdowns.links, link.link, people)
    }
  }
  await days.save()
}

/**
 * Raises the totals of the account's links to the sums of their days. Higher totals stay: they include days that have been
 * deleted. To be called in a serializable transaction, for at most `linkBatchSize` links.
 */
export async function raiseTotals(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  const links = await lockOwnLinks(tx, account, ids)
  const found: { link: number; hours: DayFacts['hours'] }[] = []
  for (const some of parts(await daysOfScope(tx, scopes.link), dayBatchSize)) {
    const days = query
      .selectFrom('click_days')
      .select(['id', 'hours'])
      .where('scope', '=', scopes.link)
      .where('day', 'in', some)
      .where('id', 'in', ids)
    for (const { id, hours } of await tx.execute(days)) found.push({ link: id, hours: new Map(decodeHours(hours)) })
  }
  await raise(tx, links, sumsOf(found))
}

type Sums = Record<'clicks' | 'bots' | 'previews', number>

function sumsOf(days: readonly { readonly link: number; readonly hours: DayFacts['hours'] }[]): Map<number, Sums> {
  const sums = new Map<number, Sums>()
  for (const { link, hours } of days) {
    const sum = sums.get(link) ?? { clicks: 0, bots: 0, previews: 0 }
    sums.set(link, sum)
    for (const { people, bots, previews } of hours.values()) {
      sum.clicks += people
      sum.bots += bots
      sum.previews += previews
    }
  }
  return sums
}

/** Raises the totals of locked links that are lower than the sums. */
async function raise(tx: Db, links: ReadonlyMap<number, LinkTotals>, sums: ReadonlyMap<number, Sums>): Promise<void> {
  const raised: LinkTotals[] = []
  for (const [id, { clicks, bots, previews }] of sums) {
    const totals = links.get(id)
    if (totals === undefined) continue
    if (clicks <= totals.clicks && bots <= totals.bots && previews <= totals.previews) continue
    totals.clicks = Math.max(totals.clicks, clicks)
    totals.bots = Math.max(totals.bots, bots)
    totals.previews = Math.max(totals.previews, previews)
    raised.push(totals)
  }
  await saveTotals(tx, raised)
  await makeStatusDue(
    tx,
    raised.map(({ link }) => link),
  )
}

/** Locks the account's links among those with these ids. */
async function lockOwnLinks(tx: Db, account: number, ids: readonly number[]): Promise<Map<number, LinkTotals>> {
  const links = await lockLinks(tx, await ownIds(tx, account, ids))
  return new Map([...links].filter(([, totals]) => totals.account === account))
}

/** Leaves out links of other accounts, whose rows must not be locked. */
async function ownIds(tx: Db, account: number, ids: readonly number[]): Promise<number[]> {
  const own: number[] = []
  for (const some of parts([...new Set(ids)])) {
    const links = query.selectFrom('link_clicks').select('link_id').where('link_id', 'in', some)
    own.push(...(await tx.execute(links.where('account_id', '=', account))).map(({ link_id }) => link_id))
  }
  return own
}
