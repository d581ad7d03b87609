/**
 * The tables of clicks. Transactions lock in one order: links with a click limit, totals by link, visitors, accounts. The
 * account's lock covers all its days. Transactions that delete or move several links may lock their totals in another
 * order. Then one of them is repeated.
 */
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, type ClickLevel, clickLevels, excluded, query, type Row } from '../storage/schema.ts'
import { countPeople, type DayFacts, decodeDay, emptyDay, encodeDay, limitValues } from './day.ts'

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

const linksWithLimit = query.selectFrom('links').select(['id', 'clicks_limit']).where('clicks_limit', 'is not', null)

const linkTotals = query
  .selectFrom('link_clicks')
  .select(['link_id', 'account_id', 'domain_id', 'space_id', 'clicks', 'bots', 'previews'])
  .select(['clicks_30d', 'last_clicked_ms', 'forgotten_ms'])
  .select(({ selectFrom }) =>
    selectFrom('accounts')
      .whereRef('accounts.id', '=', 'link_clicks.account_id')
      .select('accounts.time_zones')
      .as('time_zones'),
  )

/** Locks the account's links with these ids. */
export function lockTotals(tx: Db, account: number, ids: Iterable<number>): Promise<Map<number, LinkTotals>> {
  const limited = linksWithLimit.where('account_id', '=', account)
  return lockThese(tx, ids, limited, linkTotals.where('account_id', '=', account))
}

/** Locks the links with these ids, for visits and maintenance. Use `lockTotals` if a caller provides the ids. */
export function lockTotalsOfAnyAccount(tx: Db, ids: Iterable<number>): Promise<Map<number, LinkTotals>> {
  return lockThese(tx, ids, linksWithLimit, linkTotals)
}

async function lockThese(
  tx: Db,
  ids: Iterable<number>,
  limited: typeof linksWithLimit,
  totals: typeof linkTotals,
): Promise<Map<number, LinkTotals>> {
  const sorted = [...new Set(ids)].sort((a, b) => a - b)
  const limits = new Map<number, number>()
  for (const some of parts(sorted)) {
    const locked = limited.where('id', 'in', some).orderBy('id').forUpdate()
    for (const { id, clicks_limit } of await tx.execute(locked)) limits.set(id, Number(clicks_limit))
  }
  const links = new Map<number, LinkTotals>()
  for (const some of parts(sorted)) {
    const locked = totals.where('link_id', 'in', some).orderBy('link_id').forUpdate()
    for (const row of await tx.execute(locked)) {
      const clicks_limit = limits.get(row.link_id) ?? null
      links.set(row.link_id, { ...row, time_zones: row.time_zones as string, clicks_limit })
    }
  }
  return links
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
    const accounts = query
      .selectFrom('accounts')
      .select(['id as account', 'recent_day as day', 'recent_scope as level', 'recent_id as id'])
      .where('id', 'in', some)
    for (const { account, ...cursor } of await tx.execute(accounts.orderBy('id').forNoKeyUpdate())) {
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

/** Days that one statement stores. */
const storedTogether = 64

/** The days that a transaction reads, changes and stores. */
export class Days {
  readonly #tx: Db
  readonly #days = new Map<string, Day>()
  /** The stored human clicks, by `formatKey` the day. */
  readonly #people = new Map<string, number>()

  constructor(tx: Db) {
    this.#tx = tx
  }

  /** Returns the days with these keys, in their order. Days that are not stored are empty. */
  async read(keys: readonly DayKey[]): Promise<Day[]> {
    // Days without a row stay as they are created here: empty.
    const unread = keys.filter((key) => !this.#days.has(formatKey(key)))
    for (const key of unread) this.#days.set(formatKey(key), { ...key, domain: null, space: null, facts: emptyDay() })
    for (const group of Map.groupBy(unread, ({ level, day }) => `${level} ${day}`).values()) {
      const ids = [...new Set(group.map(({ id }) => id))].sort((a, b) => a - b)
      for (const some of parts(ids)) await this.#readSome(group[0] as DayKey, some)
    }
    return keys.map((key) => this.#days.get(formatKey(key)) as Day)
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
        rows.push({ scope: level, day, id, domain_id: domain, space_id: space, ...encodeDay(facts) })
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

  async #readSome({ level, day }: DayKey, ids: readonly number[]): Promise<void> {
    const stored = query
      .selectFrom('click_days')
      .selectAll()
      .where('scope', '=', level)
      .where('day', '=', day)
      .where('id', 'in', ids)
    for (const row of await this.#tx.execute(stored.orderBy('id').forUpdate())) {
      const name = formatKey({ level, day, id: row.id })
      const found = this.#days.get(name) as Day
      found.domain = row.domain_id
      found.space = row.space_id
      decodeDay(row, found.facts)
      this.#people.set(name, row.clicks)
    }
  }
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

function formatKey({ level, day, id }: Omit<DayKey, 'account'>): string {
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
