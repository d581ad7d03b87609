/**
 * The tables of clicks. Transactions lock in one order: links with a click limit, totals by link, visitors, accounts. The
 * account's lock covers all its days. Transactions that delete or move several links may lock their totals in another
 * order. Then one of them is repeated.
 */
import { LruCache } from '../lib/lru-cache.ts'
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, type ClickLevel, clickLevels, excluded, query, type Row } from '../storage/schema.ts'
import { countPeople, type DayFacts, type DayJson, decodeDay, emptyDay, encodeDay, limitValues } from './day.ts'

export interface DayKey {
  readonly account: number
  readonly level: ClickLevel
  readonly day: number
  readonly id: number
}

export interface Day extends DayKey {
  /** For a link's day, the domain and the space that count its clicks. Without a domain, no group counts them. */
  domain: number | null
  space: number | null
  facts: DayFacts
}

/** A link's totals and groups. */
export interface LinkTotals extends Omit<Row<'link_clicks'>, 'clicked_ms'> {
  readonly clicks_limit: number | null
  /** The time zones of the account. */
  readonly time_zones: string
}

/** Locks the account's links with these ids. */
export function lockTotals(tx: Db, account: number, ids: Iterable<number>): Promise<Map<number, LinkTotals>> {
  return lockThese(tx, ids, [account])
}

/** Locks the links with these ids, for visits and maintenance. Use `lockTotals` if a caller provides the ids. */
export function lockTotalsOfAnyAccount(tx: Db, ids: Iterable<number>): Promise<Map<number, LinkTotals>> {
  return lockThese(tx, ids, [])
}

/** Locks links of these accounts, or of any account if there are none. */
async function lockThese(tx: Db, ids: Iterable<number>, accounts: readonly number[]): Promise<Map<number, LinkTotals>> {
  const sorted = [...new Set(ids)].sort((a, b) => a - b)
  const limits = new Map<number, number>()
  for (const some of parts(sorted)) {
    for (const { id, clicks_limit } of await tx.execute(limitsLocked(some, accounts)))
      limits.set(id, Number(clicks_limit))
  }
  const links = new Map<number, LinkTotals>()
  for (const some of parts(sorted)) {
    for (const row of await tx.execute(totalsLocked(some, accounts))) {
      const clicks_limit = limits.get(row.link_id) ?? null
      links.set(row.link_id, { ...row, time_zones: row.time_zones as string, clicks_limit })
    }
  }
  return links
}

function limitsLocked(ids: readonly number[], accounts: readonly number[]) {
  const build = () =>
    query
      .selectFrom('links')
      .select(['id', 'clicks_limit'])
      .where('clicks_limit', 'is not', null)
      .where('id', 'in', ids)
      .$if(accounts.length > 0, (own) => own.where('account_id', 'in', accounts))
      .orderBy('id')
      .forUpdate()
  const shape = `limits of ${ids.length} links, ${accounts.length}`
  return new CachedQuery<Pick<Row<'links'>, 'id' | 'clicks_limit'>>(shape, [...ids, ...accounts], build)
}

function totalsLocked(ids: readonly number[], accounts: readonly number[]) {
  const build = () =>
    query
      .selectFrom('link_clicks')
      .select(['link_id', 'account_id', 'domain_id', 'space_id', 'clicks', 'bots', 'previews'])
      .select(['clicks_30d', 'last_clicked_ms', 'forgotten_ms'])
      .select(({ selectFrom }) =>
        selectFrom('accounts')
          .whereRef('accounts.id', '=', 'link_clicks.account_id')
          .select('accounts.time_zones')
          .as('time_zones'),
      )
      .where('link_id', 'in', ids)
      .$if(accounts.length > 0, (own) => own.where('account_id', 'in', accounts))
      .orderBy('link_id')
      .forUpdate()
  const shape = `totals of ${ids.length} links, ${accounts.length}`
  return new CachedQuery<Omit<LinkTotals, 'clicks_limit'>>(shape, [...ids, ...accounts], build)
}

export type SavedTotals = Omit<Row<'link_clicks'>, 'space_id' | 'forgotten_ms' | 'clicked_ms'>

/** Stores the totals of locked links. */
export async function saveTotals(tx: Db, links: readonly (LinkTotals | SavedTotals)[]): Promise<void> {
  for (const some of parts(links)) {
    const rows = some.map(
      ({ link_id, account_id, domain_id, clicks, bots, previews, clicks_30d, last_clicked_ms }) => ({
        ...{ link_id, account_id, domain_id, clicks, bots, previews, clicks_30d, last_clicked_ms },
      }),
    )
    await tx.execute(totalsSaved(rows))
  }
}

function totalsSaved(rows: readonly SavedTotals[]): CachedQuery<never> {
  return new CachedQuery(`${rows.length} totals`, rows.flatMap(Object.values), () =>
    query
      .insertInto('link_clicks')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('link_id').doUpdateSet(excluded('clicks', 'bots', 'previews', 'clicks_30d', 'last_clicked_ms')),
      ),
  )
}

/** Lets the next query that filters by status update the status of links with a click limit. */
export async function makeStatusDue(tx: Db, links: readonly number[]): Promise<void> {
  for (const some of parts(links)) {
    await tx.execute(
      query
        .updateTable('links')
        .set({ status_due_at: '' })
        .where('id', 'in', some)
        .where('clicks_limit', 'is not', null),
    )
  }
}

/** A position in an account's days, which are sorted by day, level and id. */
export interface RecentCursor {
  readonly day: number
  readonly level: number
  readonly id: number
}

/** By account, the cursor after which days are included in the clicks of the last 30 days: see `recent.ts`. */
export type RecentCursors = ReadonlyMap<number, RecentCursor>

/** Locks accounts with all their days. */
export async function lockAccounts(tx: Db, ids: Iterable<number>): Promise<RecentCursors> {
  const cursors = new Map<number, RecentCursor>()
  for (const some of parts([...new Set(ids)].sort((a, b) => a - b))) {
    const accounts = () =>
      query
        .selectFrom('accounts')
        .select(['id as account', 'recent_day as day', 'recent_scope as level', 'recent_id as id'])
        .where('id', 'in', some)
        .orderBy('id')
        .forNoKeyUpdate()
    const locked = new CachedQuery<RecentCursor & { readonly account: number }>(
      `${some.length} accounts`,
      some,
      accounts,
    )
    for (const { account, ...cursor } of await tx.execute(locked)) {
      cursors.set(account, cursor)
    }
  }
  return cursors
}

/** Returns whether the clicks of the last 30 days include the day. */
export function isRecent({ account, day, level, id }: DayKey, cursors: RecentCursors): boolean {
  const cursor = cursors.get(account)
  if (cursor === undefined) return false
  if (day !== cursor.day) return day > cursor.day
  return level > cursor.level || (level === cursor.level && id > cursor.id)
}

/** The tables for recent clicks on domains and spaces. */
export const groupTables = { [clickLevels.domain]: 'domain_clicks', [clickLevels.space]: 'space_clicks' } as const

/** Adds recent clicks to domains or spaces, by id. */
export async function addToRecent(tx: Db, level: 1 | 2, changes: ReadonlyMap<number, number>): Promise<void> {
  const table = groupTables[level]
  for (const [change, ids] of Map.groupBy(changes.keys(), (id) => changes.get(id) as number)) {
    for (const some of parts(ids.sort((a, b) => a - b))) {
      const clicks = query.updateTable(table).set(({ eb }) => ({ clicks_30d: eb('clicks_30d', '+', change) }))
      await tx.execute(clicks.where('id', 'in', some))
    }
  }
}

/** The memory of `DecodedDays` in bytes: about 2,000 usual days, or 80 full ones. */
const maxDecodedBytes = 8_000_000

interface DecodedDay extends DayJson {
  readonly facts: DayFacts
}

/**
 * Stored days in memory, decoded. A day is used only if the database has the same JSON, so it does not matter who has
 * changed it, or whether the transaction that stored it was committed.
 */
export class DecodedDays {
  readonly #days = new LruCache<string, DecodedDay>(maxDecodedBytes)

  /** Decodes a stored day. Removes it from memory, because the caller may change it. */
  take(name: string, row: DayJson): DayFacts {
    const known = this.#days.get(name)
    if (known === undefined) return decodeDay(row)
    this.#days.delete(name)
    return known.hours === row.hours && known.breakdowns === row.breakdowns ? known.facts : decodeDay(row)
  }

  /** Remembers the facts that were encoded as this JSON. The caller must not change them afterwards. */
  add(name: string, { hours, breakdowns }: DayJson, facts: DayFacts): void {
    this.#days.set(name, { hours, breakdowns, facts }, 3_000 + 5 * (hours.length + breakdowns.length))
  }
}

/** Days that one statement stores. */
const storedTogether = 64

/** The days that a transaction reads, changes and stores. */
export class Days {
  readonly #tx: Db
  readonly #decoded: DecodedDays | undefined
  readonly #days = new Map<string, Day>()
  /** The stored human clicks, by `formatKey` the day. */
  readonly #people = new Map<string, number>()

  /** `decoded` has days that later transactions of the caller are likely to change. */
  constructor(tx: Db, decoded?: DecodedDays) {
    this.#tx = tx
    this.#decoded = decoded
  }

  /** Returns the days with these keys, in their order. Days that are not stored are empty. */
  async read(keys: readonly DayKey[]): Promise<Day[]> {
    const unread = keys.filter((key) => !this.#days.has(formatKey(key)))
    for (const group of Map.groupBy(unread, ({ level, day }) => `${level} ${day}`).values()) {
      const unique = [...new Map(group.map((key) => [key.id, key])).values()]
      for (const some of parts(unique.sort((a, b) => a.id - b.id))) await this.#readSome(some)
    }
    const emptyOne = (key: DayKey): Day => ({ ...key, domain: null, space: null, facts: emptyDay() })
    return keys.map((key) => this.#days.getOrInsertComputed(formatKey(key), () => emptyOne(key)))
  }

  /**
   * Stores all days. Deletes the empty ones. Adds the differences to the recent clicks on domains and spaces, and on
   * `links`, which the caller stores.
   */
  async save(cursors: RecentCursors, links: Pick<ReadonlyMap<number, LinkTotals>, 'get'>): Promise<void> {
    const days = [...this.#days.values()]
    await this.#addToRecent(days, cursors, links)
    const filled = days.filter(({ facts }) => facts.hours.size > 0)
    for (const some of parts(filled, storedTogether)) {
      const rows: Row<'click_days'>[] = []
      for (const { level, day, id, domain, space, facts } of some) {
        limitValues(facts)
        const json = encodeDay(facts)
        rows.push({ scope: level, day, id, domain_id: domain, space_id: space, ...json })
        const name = formatKey({ level, day, id })
        // Most days with few clicks are not changed again.
        if (this.#people.has(name)) this.#decoded?.add(name, json, facts)
      }
      await this.#tx.execute(daysSaved(rows))
    }
    for (const { level, day, id, facts } of days) {
      if (facts.hours.size === 0) await deleteDays(this.#tx, level, [day], [id])
    }
  }

  async #addToRecent(
    days: readonly Day[],
    cursors: RecentCursors,
    links: Pick<ReadonlyMap<number, LinkTotals>, 'get'>,
  ): Promise<void> {
    const groups = { [clickLevels.domain]: new Map<number, number>(), [clickLevels.space]: new Map<number, number>() }
    for (const day of days) {
      if (day.level === clickLevels.account || !isRecent(day, cursors)) continue
      const change = countPeople(day.facts) - (this.#people.get(formatKey(day)) ?? 0)
      if (change === 0) continue
      if (day.level === clickLevels.link) {
        const link = links.get(day.id)
        if (link !== undefined) link.clicks_30d += change
      } else groups[day.level].set(day.id, (groups[day.level].get(day.id) ?? 0) + change)
    }
    await addToRecent(this.#tx, clickLevels.domain, groups[clickLevels.domain])
    await addToRecent(this.#tx, clickLevels.space, groups[clickLevels.space])
  }

  /** Reads days with the same level and day. */
  async #readSome(keys: readonly DayKey[]): Promise<void> {
    const { level, day } = keys[0] as DayKey
    const accounts = new Map(keys.map(({ id, account }) => [id, account]))
    for (const row of await this.#tx.execute(daysLocked(level, day, [...accounts.keys()]))) {
      const { id, domain_id: domain, space_id: space } = row
      const name = formatKey({ level, day, id })
      const facts = this.#decoded?.take(name, row) ?? decodeDay(row)
      this.#days.set(name, { account: accounts.get(id) as number, level, day, id, domain, space, facts })
      this.#people.set(name, row.clicks)
    }
  }
}

function daysLocked(level: ClickLevel, day: number, ids: readonly number[]): CachedQuery<Row<'click_days'>> {
  return new CachedQuery(`${ids.length} stored days`, [level, day, ...ids], () =>
    query
      .selectFrom('click_days')
      .selectAll()
      .where('scope', '=', level)
      .where('day', '=', day)
      .where('id', 'in', ids)
      .orderBy('id')
      .forUpdate(),
  )
}

function daysSaved(rows: readonly Row<'click_days'>[]): CachedQuery<never> {
  return new CachedQuery(`${rows.length} days`, rows.flatMap(Object.values), () =>
    query
      .insertInto('click_days')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['scope', 'day', 'id']).doUpdateSet(excluded(...changedColumns))),
  )
}

const changedColumns = ['domain_id', 'space_id', 'clicks', 'unique_clicks', 'bots', 'previews', 'hours', 'breakdowns']

/** Returns a text that identifies a day. */
export function formatKey({ level, day, id }: Omit<DayKey, 'account'>): string {
  return `${level} ${day} ${id}`
}

export async function deleteDays(
  tx: Db,
  level: ClickLevel,
  days: readonly number[],
  ids: readonly number[],
): Promise<void> {
  await tx.execute(
    query.deleteFrom('click_days').where('scope', '=', level).where('day', 'in', days).where('id', 'in', ids),
  )
}

/** Returns the keys of the group days that count the clicks of a link's day. */
export function groupKeys({ account_id: account }: LinkTotals, own: Pick<Day, 'day' | 'domain' | 'space'>): DayKey[] {
  const { day, domain, space } = own
  if (domain === null) return []
  const ofSpace = space === null ? [] : [{ account, level: clickLevels.space, day, id: space }]
  return [
    { account, level: clickLevels.domain, day, id: domain },
    ...ofSpace,
    { account, level: clickLevels.account, day, id: account },
  ]
}

/** Returns the stored days of a level, the oldest first. Searches once per day, regardless of the number of rows. */
export async function daysOfLevel(tx: Db, level: ClickLevel): Promise<number[]> {
  const steps = query
    .withRecursive('step(day)', (db) =>
      db
        .selectFrom('click_days')
        .where('scope', '=', level)
        .select(({ fn }) => fn.min<number | null>('day').as('day'))
        .unionAll(
          db
            .selectFrom('step')
            .where('step.day', 'is not', null)
            .select(({ selectFrom }) =>
              selectFrom('click_days')
                .where('scope', '=', level)
                .whereRef('click_days.day', '>', 'step.day')
                .select(({ fn }) => fn.min('click_days.day').as('day'))
                .as('day'),
            ),
        ),
    )
    .selectFrom('step')
    .select('day')
    .orderBy('day')
  // The last step finds no day.
  return (await tx.execute(steps)).flatMap(({ day }) => (day === null ? [] : [day]))
}

/** Returns a link's stored days, the oldest first, without their clicks. */
export async function daysOfLink(tx: Db, link: number): Promise<Pick<Day, 'day' | 'domain' | 'space'>[]> {
  const found: Pick<Day, 'day' | 'domain' | 'space'>[] = []
  for (const some of parts(await daysOfLevel(tx, clickLevels.link))) {
    const days = query
      .selectFrom('click_days')
      .select(['day', 'domain_id as domain', 'space_id as space'])
      .where('scope', '=', clickLevels.link)
      .where('day', 'in', some)
      .where('id', '=', link)
    found.push(...(await tx.execute(days.orderBy('day'))))
  }
  return found
}
