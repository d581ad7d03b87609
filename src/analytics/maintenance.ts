import { setTimeout as wait } from 'node:timers/promises'
import { toUtcDay } from '../accounts/calendar.ts'
import { Failure } from '../errors.ts'
import type { NewEvent } from '../events/event.ts'
import { type Author, recordEvents } from '../events/log.ts'
import { type BatchWriter, type Db, parts } from '../storage/port.ts'
import { type ClickLevel, clickLevels, query } from '../storage/schema.ts'
import { addDay, type DayFacts, emptyDay, shareForGroups, subtractDay, sumHours } from './day.ts'
import { lockDeletedTotals } from './deleted-links.ts'
import { accountsDue, subtractOldDays } from './recent-totals.ts'
import {
  type Day,
  type DayKey,
  Days,
  daysOfLevel,
  daysOfLink,
  deleteDays,
  groupKeys,
  type LinkTotals,
  lockAccounts,
  lockTotals,
  lockTotalsOfAnyAccount,
  makeStatusDue,
  saveTotals,
} from './tables.ts'

/** Days that one transaction moves or subtracts. Full ones take some milliseconds each. */
const dayBatchSize = 8
/** Rows that one transaction deletes. */
const rowBatchSize = 1_000
/** Records whose days are moved or deleted together, and days per transaction. */
const [recordBatchSize, removedDays] = [512, 16]
/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 5

/** What to retain. `daysBefore` is the first day. */
export interface Bounds {
  /** Visitors and salts of days that started by this time are deleted. Unix milliseconds. */
  readonly visitorsUntilMs: number
  /** For daily aggregates. */
  readonly daysBefore: number
  readonly nowMs: number
}

/** Returns whether there is work for `ClickMaintenance.run`. Only reads. */
export async function isMaintenanceDue(db: Db, { visitorsUntilMs, daysBefore, nowMs }: Bounds): Promise<boolean> {
  const [row] = await db.execute(
    query.selectNoFrom(({ exists, or }) =>
      or([
        exists(query.selectFrom('click_salts').select('day_start_ms').where('day_start_ms', '<=', visitorsUntilMs)),
        exists(query.selectFrom('click_visitors').select('day_start_ms').where('day_start_ms', '<=', visitorsUntilMs)),
        ...Object.values(clickLevels).map((level) => exists(oldDays(level, daysBefore))),
        exists(accountsDue({ nowMs, daysBefore })),
        exists(query.selectFrom('click_moves').select('link_id')),
        exists(query.selectFrom('click_removals').select('id')),
      ]).as('isDue'),
    ),
  )
  // SQLite returns 0 or 1.
  return Boolean(row?.isDue)
}

function oldDays(level: ClickLevel, before: number) {
  return query.selectFrom('click_days').select(['day', 'id']).where('scope', '=', level).where('day', '<', before)
}

/** Runs all steps in order, even if some fail, until the database fails. Throws an `AggregateError` if several fail. */
export async function runAll(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) {
    await step().catch((error) => errors.push(error))
    if (errors.at(-1) instanceof Failure) break
  }
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, 'Several steps of the maintenance failed.')
}

/** Deletes and moves stored clicks in short transactions, and after a restart. Throws `database_unavailable`. */
export class ClickMaintenance {
  readonly #database: BatchWriter

  constructor(database: BatchWriter) {
    this.#database = database
  }

  /** Does all due maintenance, the salts first: they must not wait for a slow step. See `runAll`. */
  async run({ visitorsUntilMs, ...recent }: Bounds): Promise<void> {
    await runAll([
      () => this.#deleteSaltsUntil(visitorsUntilMs),
      () => this.#deleteVisitorsUntil(visitorsUntilMs),
      () => this.moveClicks(),
      () => this.deleteRemoved(),
      async () => {
        // First, so that deleted days are no longer included in the clicks of the last 30 days.
        await this.#repeat((tx) => subtractOldDays(tx, recent))
        await this.deleteDaysBefore(recent.daysBefore)
      },
    ])
  }

  /** Deletes a link's clicks and its share of group days in steps that agree. Returns false if the account lacks it. */
  async deleteClicks(author: Author, link: number): Promise<boolean> {
    const step = async (tx: Db, isFirst: boolean) => {
      const own = await lockOwnLink(tx, author.account, link)
      if (own === undefined) return 'gone'
      if (isFirst) await recordEvents(tx, author, [deletionEvent(own)])
      return (await deleteSomeClicks(tx, own.totals)) ? 'more' : 'done'
    }
    let result = await this.#database.write((tx) => step(tx, true))
    if (result === 'gone') return false
    while (result === 'more') {
      await wait(pauseMs)
      result = await this.#database.write((tx) => step(tx, false))
    }
    // If this fails, the rows are deleted nevertheless.
    await this.#database.scrub('click_days').catch(() => undefined)
    return true
  }

  /** Deletes clicks whose records nothing can restore, and overwrites deleted rows. */
  async erase(): Promise<void> {
    await this.deleteRemoved()
    // If this fails, the rows are deleted nevertheless.
    await this.#database.scrub('click_days').catch(() => undefined)
  }

  /** Moves clicks to the domain and the space of their links. See `runAll`. */
  async moveClicks(): Promise<void> {
    const next = query.selectFrom('click_moves').select('link_id').orderBy('link_id').limit(recordBatchSize)
    for (;;) {
      const links = await this.#database.write((tx) => tx.execute(next))
      if (links.length === 0) return
      // The next run repeats failed links, together with others.
      const moves = (link: number) => () => this.#repeat((tx) => moveSomeClicks(tx, link))
      await runAll(links.map(({ link_id }) => moves(link_id)))
    }
  }

  /** Deletes the days of deleted links, domains and spaces. */
  async deleteRemoved(): Promise<void> {
    for (const level of Object.values(clickLevels)) {
      const next = query.selectFrom('click_removals').select('id').where('scope', '=', level).limit(recordBatchSize)
      for (;;) {
        const ids = (await this.#database.write((tx) => tx.execute(next))).map(({ id }) => id)
        if (ids.length === 0) break
        // All links have left a deleted domain or space, but some of their clicks may not have followed yet.
        if (level !== clickLevels.link) await this.moveClicks()
        await this.#deleteAllDays(level, ids)
      }
    }
  }

  /** Deletes the daily aggregates of days before `day`. Totals stay. */
  async deleteDaysBefore(day: number): Promise<void> {
    for (const level of Object.values(clickLevels)) {
      await this.#repeat(async (tx) => {
        const rows = await tx.execute(oldDays(level, day).orderBy('day').orderBy('id').limit(rowBatchSize))
        for (const each of new Set(rows.map((row) => row.day))) {
          const ids = rows.filter((row) => row.day === each).map(({ id }) => id)
          for (const some of parts(ids)) await deleteDays(tx, level, [each], some)
        }
        return rows.length === rowBatchSize
      })
    }
  }

  /** Deletes salts, and overwrites them where the engine still stores them. */
  async #deleteSaltsUntil(untilMs: number): Promise<void> {
    // Rows are deleted last: as long as they exist, the next run repeats failed steps.
    const emptied = query
      .updateTable('click_salts')
      .set({ salt: new Uint8Array() })
      .where('day_start_ms', '<=', untilMs)
    const isDue = (await this.#database.write((tx) => tx.execute(emptied.returning('day_start_ms')))).length > 0
    try {
      if (isDue) await this.#database.scrub('click_salts')
    } catch (cause) {
      // Readers, such as a backup, can prevent this for hours. Unlike an outage, they must not stop the other steps.
      throw new Error('Deleted salts could not be overwritten.', { cause })
    }
    await this.#database.write(async (tx) => {
      await tx.execute(query.deleteFrom('click_batches').where('day', '<=', toUtcDay(untilMs)))
      await tx.execute(query.deleteFrom('click_salts').where('day_start_ms', '<=', untilMs))
    })
  }

  async #deleteVisitorsUntil(untilMs: number): Promise<void> {
    await this.#repeat(async (tx) => {
      const visitors = query
        .deleteFrom('click_visitors')
        .where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple('day_start_ms', 'link_id', 'visitor'),
            'in',
            selectFrom('click_visitors')
              .select(['day_start_ms', 'link_id', 'visitor'])
              .where('day_start_ms', '<=', untilMs)
              .limit(rowBatchSize)
              .$asTuple('day_start_ms', 'link_id', 'visitor'),
          ),
        )
      return (await tx.execute(visitors.returning('day_start_ms'))).length === rowBatchSize
    })
  }

  /** Deletes all days of removed records, and then the list of their ids. */
  async #deleteAllDays(level: ClickLevel, ids: readonly number[]): Promise<void> {
    const days = await this.#database.write((tx) => daysOfLevel(tx, level))
    for (const some of parts(days, removedDays)) {
      await this.#database.write((tx) => deleteDays(tx, level, some, ids))
      await wait(pauseMs)
    }
    await this.#database.write((tx) =>
      tx.execute(query.deleteFrom('click_removals').where('scope', '=', level).where('id', 'in', ids)),
    )
  }

  /** Runs a step in transactions until it returns false. */
  async #repeat(step: (tx: Db) => Promise<boolean>): Promise<void> {
    while (await this.#database.write(step)) await wait(pauseMs)
  }
}

/** A link that is locked, and its host name and alias. */
interface OwnLink {
  readonly totals: LinkTotals
  readonly name: string
}

/** Locks the account's link. Links of a domain that is being removed are gone. */
async function lockOwnLink(tx: Db, account: number, link: number): Promise<OwnLink | undefined> {
  const totals = (await lockTotals(tx, account, [link])).get(link)
  // Isolation must not depend on one condition of a query.
  if (totals?.account_id !== account) return undefined
  const domain = query.selectFrom('domains').innerJoin('links', 'links.domain_id', 'domains.id')
  const own = domain.where('links.id', '=', link).where('domains.account_id', '=', account)
  const [row] = await tx.execute(own.select(['domains.name', 'links.alias']))
  return row && { totals, name: `${row.name}/${row.alias}` }
}

/** Returns the event of a link whose clicks are deleted; null if it has none. */
function deletionEvent({ totals: { link_id: id, clicks, bots, previews }, name }: OwnLink): NewEvent | null {
  if (clicks + bots + previews === 0) return null
  return { record: 'link', action: 'clicks_deleted', id, name, changes: { clicks: [clicks, 0] } }
}

/** Returns whether there are more. */
async function deleteSomeClicks(tx: Db, totals: LinkTotals): Promise<boolean> {
  const all = await daysOfLink(tx, totals.link_id)
  const some = all.slice(0, dayBatchSize)
  const moves = some.map((own): Move => ({ day: own.day, from: groupKeys(totals, own), to: 'nowhere' }))
  for (const facts of await regroup(tx, totals, toGroups(totals), moves)) {
    const { people, bots, previews } = sumHours(facts)
    totals.clicks = Math.max(0, totals.clicks - people)
    totals.bots = Math.max(0, totals.bots - bots)
    totals.previews = Math.max(0, totals.previews - previews)
  }
  if (all.length <= dayBatchSize) await clearTotals(tx, totals.link_id)
  else await saveTotals(tx, [totals])
  return all.length > dayBatchSize
}

/** Clears the totals and visitors of a link. A link that reached its click limit works again. */
async function clearTotals(tx: Db, link: number): Promise<void> {
  const none = { clicks: 0, bots: 0, previews: 0, clicks_30d: 0, last_clicked_ms: null, forgotten_ms: Date.now() }
  await tx.execute(query.updateTable('link_clicks').set(none).where('link_id', '=', link))
  await tx.execute(query.updateTable('addresses').set({ clicks: 0 }).where('link_id', '=', link))
  const days = query.selectFrom('click_salts').select('day_start_ms')
  await tx.execute(query.deleteFrom('click_visitors').where('link_id', '=', link).where('day_start_ms', 'in', days))
  const limited = query.selectFrom('links').select('id').where('id', '=', link).where('clicks_limit', 'is not', null)
  if ((await tx.execute(limited)).length === 0) return
  await makeStatusDue(tx, [link])
  await tx.execute(query.insertInto('changes').values({ resource: 'links', record_id: link }))
}

/**
 * Moves some of the clicks that are on another domain or in another space than their link, or out of all totals if the link is
 * deleted and uncounted. Returns whether there are more.
 */
export async function moveSomeClicks(tx: Db, link: number): Promise<boolean> {
  // Before the links, because a transaction that has locked links must not wait for events.
  const deleted = (await lockDeletedTotals(tx, [link])).get(link)
  const totals = (await lockTotalsOfAnyAccount(tx, [link])).get(link)
  // A transaction that has just deleted the link may have queued it again.
  const isNew = totals === undefined && deleted === undefined && (await lockDeletedTotals(tx, [link])).size > 0
  if (isNew) return true
  const isMore =
    totals !== undefined
      ? await moveNewestDays(tx, totals, toGroups(totals))
      : deleted?.deletion.kept.is_uncounted === true && (await moveNewestDays(tx, deleted, noGroups))
  if (!isMore) await tx.execute(query.deleteFrom('click_moves').where('link_id', '=', link))
  return isMore
}

type Groups = Pick<Day, 'domain' | 'space'>
const noGroups: Groups = { domain: null, space: null }

function toGroups({ domain_id: domain, space_id: space }: LinkTotals): Groups {
  return { domain, space }
}

async function moveNewestDays(tx: Db, totals: LinkTotals, groups: Groups): Promise<boolean> {
  const isElsewhere = ({ domain, space }: Groups) => domain !== groups.domain || space !== groups.space
  const left = (await daysOfLink(tx, totals.link_id)).filter(isElsewhere)
  const moves = left.slice(-dayBatchSize).map((own) => {
    const [from, to] = [groupKeys(totals, own), groupKeys(totals, { day: own.day, ...groups })]
    return { day: own.day, from: without(to, from), to: without(from, to) }
  })
  await regroup(tx, totals, groups, moves)
  return left.length > dayBatchSize
}

/** Returns the keys that are not among the others. */
function without(others: readonly DayKey[], keys: readonly DayKey[]): DayKey[] {
  return keys.filter(({ level, id }) => !others.some((other) => other.level === level && other.id === id))
}

/** A day of a link whose clicks move from the days of some groups to the days of others. */
interface Move {
  readonly day: number
  readonly from: readonly DayKey[]
  /** `nowhere` deletes the day. */
  readonly to: readonly DayKey[] | 'nowhere'
}

/** Moves a link's clicks between groups, and its days to their last groups, or deletes them. Returns these days. */
async function regroup(tx: Db, totals: LinkTotals, groups: Groups, moves: readonly Move[]): Promise<DayFacts[]> {
  const { account_id: account, link_id: id } = totals
  const cursors = await lockAccounts(tx, [account])
  const days = new Days(tx)
  const own = await days.read(moves.map(({ day }): DayKey => ({ account, level: clickLevels.link, day, id })))
  const moved = own.map(({ facts }) => facts)
  for (const [at, { from, to }] of moves.entries()) {
    const day = own[at] as Day
    Object.assign(day, groups)
    const share = shareForGroups(day.facts, id)
    for (const { facts } of await days.read(from)) subtractDay(facts, share)
    if (to === 'nowhere') day.facts = emptyDay()
    else for (const { facts } of await days.read(to)) addDay(facts, share)
  }
  await days.save(cursors, new Map([[id, totals]]))
  return moved
}
