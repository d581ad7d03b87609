/**
 * The rows of clicks that a transaction locks, reads and writes. Transactions lock in one order: links with a limit, totals
 * by link, visitors, accounts. The account's lock covers the days of the account and of its domains, spaces and links. A
 * transaction that deletes or moves several links may lock their totals in another order: one of the two runs again then.
 */
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { type DayFacts, decodeDay, emptyDay, encodeDay, makeRoomIn } from './day.ts'

export const scopes = { link: 0, domain: 1, space: 2, account: 3 } as const
export type Scope = (typeof scopes)[keyof typeof scopes]

export interface DayKey {
  readonly scope: Scope
  readonly day: number
  readonly id: number
}

/** A stored day, or one to store. */
export interface Day extends DayKey {
  /** Of a link's day: the space whose day contains its clicks. Null for other scopes. */
  space: number | null
  facts: DayFacts
}

/** The totals of a link, and the records that it belongs to. */
export interface LinkTotals {
  readonly link: number
  readonly account: number
  readonly domain: number
  readonly space: number | null
  clicks: number
  bots: number
  previews: number
  lastClickedMs: number | null
  readonly forgottenMs: number | null
  /** Null for no limit. */
  readonly limit: number | null
}

/** Splits a list into parts whose lengths are powers of two, so that engines prepare few statements. */
export function* parts<T>(list: readonly T[], maxLength = 1_024): Generator<readonly T[]> {
  for (let at = 0, length = maxLength; at < list.length; at += length) {
    while (length > list.length - at) length /= 2
    yield list.slice(at, at + length)
  }
}

/** Locks the links with these ids that exist, of all accounts. */
export async function lockLinks(tx: Db, ids: Iterable<number>): Promise<Map<number, LinkTotals>> {
  const sorted = [...new Set(ids)].sort((a, b) => a - b)
  const limits = new Map<number, number>()
  for (const some of parts(sorted)) {
    const limited = query
      .selectFrom('links')
      .select(['id', 'clicks_limit'])
      .where('id', 'in', some)
      .where('clicks_limit', 'is not', null)
    for (const { id, clicks_limit } of await tx.execute(limited.orderBy('id').forUpdate())) {
      limits.set(id, Number(clicks_limit))
    }
  }
  const links = new Map<number, LinkTotals>()
  for (const some of parts(sorted)) {
    const totals = query.selectFrom('link_clicks').selectAll().where('link_id', 'in', some)
    for (const row of await tx.execute(totals.orderBy('link_id').forUpdate())) {
      links.set(row.link_id, {
        link: row.link_id,
        account: row.account_id,
        domain: row.domain_id,
        space: row.space_id,
        clicks: row.clicks,
        bots: row.bots,
        previews: row.previews,
        lastClickedMs: row.last_clicked_ms,
        forgottenMs: row.forgotten_ms,
        limit: limits.get(row.link_id) ?? null,
      })
    }
  }
  return links
}

/** Stores the totals of locked links. Makes the status of links with a limit due. */
export async function saveTotals(tx: Db, links: readonly LinkTotals[]): Promise<void> {
  for (const some of parts(links)) {
    const rows = some.map((totals) => ({
      link_id: totals.link,
      account_id: totals.account,
      domain_id: totals.domain,
      clicks: totals.clicks,
      bots: totals.bots,
      previews: totals.previews,
      last_clicked_ms: totals.lastClickedMs,
    }))
    await tx.execute(
      query
        .insertInto('link_clicks')
        .values(rows)
        .onConflict((conflict) =>
          conflict.column('link_id').doUpdateSet(({ ref }) => ({
            clicks: ref('excluded.clicks'),
            bots: ref('excluded.bots'),
            previews: ref('excluded.previews'),
            last_clicked_ms: ref('excluded.last_clicked_ms'),
          })),
        ),
    )
  }
}

/** Makes the status of links with a limit due, so that filters see the new one. */
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

/** Locks the days of accounts. */
export async function lockAccounts(tx: Db, ids: Iterable<number>): Promise<void> {
  for (const some of parts([...new Set(ids)].sort((a, b) => a - b))) {
    await tx.execute(query.selectFrom('accounts').select('id').where('id', 'in', some).orderBy('id').forNoKeyUpdate())
  }
}

/** The days that a transaction reads, changes and stores. */
export class Days {
  readonly #tx: Db
  readonly #days = new Map<string, Day>()

  constructor(tx: Db) {
    this.#tx = tx
  }

  /** Returns the days with these keys, in their order. Days that are not stored are empty. */
  async read(keys: readonly DayKey[]): Promise<Day[]> {
    const groups = new Map<string, Day[]>()
    const days = keys.map(({ scope, day, id }) => {
      const name = `${scope} ${day} ${id}`
      const known = this.#days.get(name)
      if (known !== undefined) return known
      const fresh: Day = { scope, day, id, space: null, facts: emptyDay() }
      this.#days.set(name, fresh)
      const group = groups.get(`${scope} ${day}`)
      if (group === undefined) groups.set(`${scope} ${day}`, [fresh])
      else group.push(fresh)
      return fresh
    })
    for (const group of groups.values()) {
      group.sort((a, b) => a.id - b.id)
      for (const some of parts(group)) await this.#readSome(some)
    }
    return days
  }

  /** Stores all days. Deletes the empty ones. */
  async save(): Promise<void> {
    const days = [...this.#days.values()]
    for (const some of parts(days.filter(({ facts }) => facts.hours.size > 0))) {
      const rows = some.map(({ scope, day, id, space, facts }) => {
        makeRoomIn(facts)
        const { hours, breakdowns } = encodeDay(facts)
        return { scope, day, id, space_id: space, hours, breakdowns }
      })
      await this.#tx.execute(
        query
          .insertInto('click_days')
          .values(rows)
          .onConflict((conflict) =>
            conflict.columns(['scope', 'day', 'id']).doUpdateSet(({ ref }) => ({
              space_id: ref('excluded.space_id'),
              hours: ref('excluded.hours'),
              breakdowns: ref('excluded.breakdowns'),
            })),
          ),
      )
    }
    for (const { scope, day, id } of days.filter(({ facts }) => facts.hours.size === 0)) {
      await deleteDays(this.#tx, scope, [day], [id])
    }
  }

  /** Reads days of one scope and day into `days`, which are sorted by id. */
  async #readSome(days: readonly Day[]): Promise<void> {
    const [{ scope, day }] = days as [Day]
    const ids = days.map(({ id }) => id)
    const stored = query
      .selectFrom('click_days')
      .select(['id', 'space_id', 'hours', 'breakdowns'])
      .where('scope', '=', scope)
      .where('day', '=', day)
      .where('id', 'in', ids)
    const rows = await this.#tx.execute(stored.orderBy('id').forUpdate())
    let at = 0
    for (const row of rows) {
      while (days[at]?.id !== row.id) at += 1
      const found = days[at] as Day
      found.space = row.space_id
      found.facts = decodeDay(row)
    }
  }
}

/** Deletes days of some ids of a scope. */
export async function deleteDays(tx: Db, scope: Scope, days: readonly number[], ids: readonly number[]): Promise<void> {
  await tx.execute(
    query.deleteFrom('click_days').where('scope', '=', scope).where('day', 'in', days).where('id', 'in', ids),
  )
}

/** Returns the keys of the domain, the space and the account whose days contain the clicks of a link's day. */
export function groupKeys({ account, domain }: LinkTotals, { day, space }: Pick<Day, 'day' | 'space'>): DayKey[] {
  const keys: DayKey[] = [
    { scope: scopes.domain, day, id: domain },
    { scope: scopes.account, day, id: account },
  ]
  return space === null ? keys : [...keys, { scope: scopes.space, day, id: space }]
}

/** Returns the stored days of a scope, the oldest first: one search for each, however many rows it has. */
export async function daysOfScope(tx: Db, scope: Scope): Promise<number[]> {
  const steps = query
    .withRecursive('step(day)', (db) =>
      db
        .selectFrom('click_days')
        .where('scope', '=', scope)
        .select(({ fn }) => fn.min<number | null>('day').as('day'))
        .unionAll(
          db
            .selectFrom('step')
            .where('step.day', 'is not', null)
            .select(({ selectFrom }) =>
              selectFrom('click_days')
                .where('scope', '=', scope)
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

/** Returns the stored days of a link, the oldest first, without their clicks. */
export async function daysOfLink(tx: Db, link: number): Promise<{ day: number; space_id: number | null }[]> {
  const found: { day: number; space_id: number | null }[] = []
  for (const some of parts(await daysOfScope(tx, scopes.link))) {
    const days = query
      .selectFrom('click_days')
      .select(['day', 'space_id'])
      .where('scope', '=', scopes.link)
      .where('day', 'in', some)
      .where('id', '=', link)
    found.push(...(await tx.execute(days.orderBy('day'))))
  }
  return found
}
