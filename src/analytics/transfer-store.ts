/** Reads and stores daily aggregates for exports and imports. */
import { isDeepStrictEqual } from 'node:util'
import { foldCase } from '../lib/text.ts'
import { type Db, parts } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { addDay, type Counts, type DayFacts, decodeDay, shareForGroups, shownCounts, sumHours } from './day.ts'
import {
  type Day,
  type DayKey,
  Days,
  daysOfLevel,
  groupKeys,
  type LinkTotals,
  lockAccounts,
  lockTotals,
  makeStatusDue,
  saveTotals,
} from './tables.ts'

/** The days and links to export. Days are included on both ends. */
export interface ExportedDays {
  readonly from: number
  readonly to: number
  /** The highest link id. */
  readonly lastLink: number
}

export interface LinkDay {
  readonly link: number
  readonly day: number
  readonly facts: DayFacts
}

export interface NamedLinkDay extends LinkDay {
  readonly domain: string
  readonly alias: string
}

/** Days that are read together. */
const pageSize = 100
/** Days whose hours are read together, each for `linkBatchSize` links. */
const dayBatchSize = 8
/** Links whose totals are raised in one transaction. */
export const linkBatchSize = 100

/** Returns the account's link days by day and link, in pages. Leaves out domains that are being removed. */
export async function* daysOfLinks(
  db: Db,
  account: number,
  exported: ExportedDays,
): AsyncGenerator<readonly NamedLinkDay[]> {
  const days = await daysOfLevel(db, clickLevels.link)
  for (const day of days.filter((each) => each >= exported.from && each <= exported.to)) {
    for (let after = 0; ; ) {
      const rows = await db.execute(
        query
          .selectFrom('click_days')
          .innerJoin('link_clicks', 'link_clicks.link_id', 'click_days.id')
          .innerJoin('links', 'links.id', 'click_days.id')
          .innerJoin('domains', 'domains.id', 'link_clicks.domain_id')
          .select(['click_days.id', 'domains.name', 'links.alias', 'click_days.hours', 'click_days.breakdowns'])
          .where('click_days.scope', '=', clickLevels.link)
          .where('click_days.day', '=', day)
          .where('click_days.id', '>', after)
          .where('click_days.id', '<=', exported.lastLink)
          .where('link_clicks.account_id', '=', account)
          .where('domains.account_id', '=', account)
          .orderBy('click_days.id')
          .limit(pageSize),
      )
      if (rows.length === 0) break
      after = rows.at(-1)?.id ?? after
      yield rows.map(({ id, name, alias, ...json }) => ({ link: id, domain: name, alias, day, facts: decodeDay(json) }))
    }
  }
}

/** Finds the account's link with an address such as `go.acme.com/sale`. Returns its id. Exact addresses come first. */
export async function findByShortLink(db: Db, account: number, shortLink: string): Promise<number | undefined> {
  const [domain = '', ...path] = shortLink.split('/')
  const alias = path.join('/')
  const onDomain = query.selectFrom('domains').select('id').where('account_id', '=', account).where('name', '=', domain)
  const addresses = query.selectFrom('addresses').select(['link_id as id', 'exact']).where('domain_id', '=', onDomain)
  // Each part has the condition of an index.
  const ofSpelling = (exact: 0 | 1) => addresses.where(({ eb, lit }) => eb('exact', '=', lit(exact)))
  const exactly = ofSpelling(1).where('alias', '=', alias)
  const named = ofSpelling(0).where('alias_folded', '=', foldCase(alias)).unionAll(exactly)
  return (await db.execute(named.orderBy('exact', 'desc').limit(1)))[0]?.id
}

/** `known`: it was stored before. `other`: the link has other clicks on that day. `gone`: there is no such link. */
export type DayStored = 'stored' | 'known' | 'other' | 'gone'

/**
 * Stores the account's link days and adds them to their groups, unless the link has clicks on that day; with `adds`, adds
 * them to these clicks. Totals are then at least as high as these days. Call this once per serializable transaction, and
 * `raiseTotals` later.
 */
export async function storeDays(
  tx: Db,
  account: number,
  days: readonly LinkDay[],
  { adds = false } = {},
): Promise<DayStored[]> {
  const ids = days.map(({ link }) => link)
  const links = await lockTotals(tx, account, ids)
  const cursors = await lockAccounts(tx, [account])
  const before = await new Days(tx).read(days.map((day) => toDayKey(account, day)))
  const added = new Days(tx)
  const sums = new Sums()
  const outcomes: DayStored[] = []
  for (const [at, day] of days.entries()) {
    const totals = links.get(day.link)
    const { facts } = before[at] as Day
    if (totals === undefined) outcomes.push('gone')
    else if (facts.hours.size > 0 && !adds) outcomes.push(isDeepStrictEqual(facts, day.facts) ? 'known' : 'other')
    else {
      // The next line may be of the same day.
      addDay(facts, day.facts)
      await addToDays(added, totals, day)
      sums.add(day.link, shownCounts(sumHours(day.facts)))
      outcomes.push('stored')
    }
  }
  await added.save(cursors, links)
  await raise(tx, links, sums)
  return outcomes
}

function toDayKey(account: number, { link, day }: LinkDay): DayKey {
  return { account, level: clickLevels.link, day, id: link }
}

async function addToDays(days: Days, totals: LinkTotals, day: LinkDay): Promise<void> {
  const [own] = (await days.read([toDayKey(totals.account_id, day)])) as [Day]
  if (own.facts.hours.size === 0) Object.assign(own, { domain: totals.domain_id, space: totals.space_id })
  addDay(own.facts, day.facts)
  const share = shareForGroups(day.facts, day.link)
  for (const { facts } of await days.read(groupKeys(totals, own))) addDay(facts, share)
}

/**
 * Raises the account's link totals to the sums of their days. Higher totals stay, because they include deleted
 * days. Call this in a serializable transaction, with at most `linkBatchSize` links.
 */
export async function raiseTotals(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  const links = await lockTotals(tx, account, ids)
  const sums = new Sums()
  for (const some of parts(await daysOfLevel(tx, clickLevels.link), dayBatchSize)) {
    const days = query
      .selectFrom('click_days')
      .select(['id', 'clicks', 'bots', 'previews'])
      .where('scope', '=', clickLevels.link)
      .where('day', 'in', some)
      .where('id', 'in', ids)
    for (const { id, ...totals } of await tx.execute(days)) sums.add(id, totals)
  }
  await raise(tx, links, sums)
}

const counters = ['clicks', 'bots', 'previews'] as const

/** Sums of clicks by link. */
class Sums extends Map<number, Record<(typeof counters)[number], number>> {
  add(link: number, totals: Pick<Counts, (typeof counters)[number]>): void {
    const sum = this.get(link) ?? { clicks: 0, bots: 0, previews: 0 }
    this.set(link, sum)
    for (const name of counters) sum[name] += totals[name]
  }
}

/** Raises and stores locked link totals that are lower than the sums. */
async function raise(tx: Db, links: ReadonlyMap<number, LinkTotals>, sums: Sums): Promise<void> {
  const raised: number[] = []
  const stored: LinkTotals[] = []
  for (const [id, sum] of sums) {
    const totals = links.get(id)
    if (totals === undefined) continue
    stored.push(totals)
    if (counters.every((name) => sum[name] <= totals[name])) continue
    for (const name of counters) totals[name] = Math.max(totals[name], sum[name])
    raised.push(id)
  }
  await saveTotals(tx, stored)
  await makeStatusDue(tx, raised)
}
