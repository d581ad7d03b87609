/**
 * Keeps the human clicks of the last 30 days: the columns `clicks_30d`, by which lists are sorted. They are sums of stored
 * days, and change in the transactions that change these days. When a day ends in an account's time zone, the oldest day is
 * subtracted, some records at a time. An account's cursor says how far that is: days after it are included.
 */
import { isDeepStrictEqual } from 'node:util'
import { calendarOf, hourMs, recentDays } from '../accounts/calendar.ts'
import { type Db, parts } from '../storage/port.ts'
import { type ClickLevel, clickLevels, query } from '../storage/schema.ts'
import {
  addToRecent,
  daysOfLevel,
  groupTables,
  isRecent,
  type LinkTotals,
  lockAccounts,
  lockTotals,
  type RecentCursor,
  saveTotals,
} from './tables.ts'

/** Records in one transaction. Looking up their days takes a few milliseconds. */
const maxBatch = 500

/** The tables of records with clicks in the last 30 days. */
const tables = { [clickLevels.link]: 'links', [clickLevels.domain]: 'domains', [clickLevels.space]: 'spaces' } as const

/** The time, and the first day that is retained. */
interface RecentBounds {
  readonly nowMs: number
  readonly daysBefore: number
}

/** Selects the accounts with a day that ended, or whose days are about to be deleted. */
export function accountsDue({ nowMs, daysBefore }: RecentBounds) {
  return query
    .selectFrom('accounts')
    .select('id')
    .where(({ eb, or }) => or([eb('recent_until_ms', '<=', nowMs), eb('recent_day', '<', daysBefore)]))
}

interface DueAccount {
  readonly account: number
  readonly time_zones: string
  readonly cursor: RecentCursor
  /** The first day to include. */
  readonly firstDay: number
  /** The next day with clicks to subtract. */
  readonly oldDay: number | undefined
}

/** Finds the first due account with an id above `after`. */
async function findDueAccount(db: Db, bounds: RecentBounds, after: number): Promise<DueAccount | undefined> {
  const columns = ['time_zones', 'recent_day', 'recent_scope', 'recent_id'] as const
  const due = accountsDue(bounds).select(columns).where('id', '>', after)
  const [found] = await db.execute(due.orderBy('id').limit(1))
  if (found === undefined) return undefined
  const { id: account, time_zones, recent_day: day, recent_scope: level, recent_id: id } = found
  const today = calendarOf(time_zones).dayAt(bounds.nowMs)
  const firstDay = Math.max(today - recentDays + 1, bounds.daysBefore)
  const oldDay = await nextDayWithClicks(db, account, day, firstDay)
  return { account, time_zones, cursor: { day, level, id }, firstDay, oldDay }
}

/** Returns the account's first day with clicks from `from` on and before `until`. */
async function nextDayWithClicks(db: Db, account: number, from: number, until: number): Promise<number | undefined> {
  const all = Array.from({ length: Math.max(0, until - from) }, (_, n) => from + n)
  // Each day is named, because the key has the day before the account.
  for (const some of parts(all)) {
    const days = query
      .selectFrom('click_days')
      .select('day')
      .where('scope', '=', clickLevels.account)
      .where('day', 'in', some)
    const [next] = await db.execute(days.where('id', '=', account).orderBy('day').limit(1))
    if (next !== undefined) return next.day
  }
  return undefined
}

/** Lets days without clicks end. Then only accounts are due that have days to subtract. */
export async function skipDaysWithoutClicks(db: Db, bounds: RecentBounds): Promise<void> {
  for (let after = -1; ; ) {
    const due = await findDueAccount(db, bounds, after)
    if (due === undefined) return
    if (due.oldDay === undefined) await finish(db, due, bounds.nowMs)
    after = due.account
  }
}

/** Subtracts days of one account that are no longer included. Returns whether there may be more. */
export async function subtractOldDays(tx: Db, bounds: RecentBounds, batchSize = maxBatch): Promise<boolean> {
  const due = await findDueAccount(tx, bounds, -1)
  if (due === undefined) return false
  const { cursor, oldDay } = due
  if (oldDay === undefined) await finish(tx, due, bounds.nowMs)
  else await subtractSome(tx, due, oldDay === cursor.day ? cursor : cursorBefore(oldDay), batchSize)
  return true
}

/** Returns the cursor before all records of a day. */
function cursorBefore(day: number): RecentCursor {
  return { day, level: clickLevels.link, id: 0 }
}

/** Moves the cursor of an account without days to subtract. It is due again when its next day starts. */
async function finish(db: Db, due: DueAccount, nowMs: number): Promise<void> {
  const cursor = due.firstDay > due.cursor.day ? cursorBefore(due.firstDay) : due.cursor
  const nextMs = calendarOf(due.time_zones).startOf(cursor.day + recentDays)
  // After a change to a zone in the west, a day that has started is there again.
  await move(db, due, cursor, nextMs > nowMs ? nextMs : nowMs + hourMs / 4)
}

/** Subtracts a day from the next records after a cursor of that day, unless another process has done that. */
async function subtractSome(
  tx: Db,
  due: DueAccount,
  { day, level, id: last }: RecentCursor,
  batchSize: number,
): Promise<void> {
  const { account } = due
  const records = query
    .selectFrom(tables[level as keyof typeof tables])
    .select('id')
    .where('account_id', '=', account)
  const ids = (await tx.execute(records.where('id', '>', last).orderBy('id').limit(batchSize))).map(({ id }) => id)
  // Links are locked before their account.
  const links =
    level === clickLevels.link ? await lockTotals(tx, account, (await peopleOn(tx, level, day, ids)).keys()) : undefined
  const cursor = (await lockAccounts(tx, [account])).get(account)
  if (cursor === undefined || !isDeepStrictEqual(cursor, due.cursor)) return
  const people = await peopleOn(tx, level as ClickLevel, day, ids)
  if (links === undefined) await addToRecent(tx, level as 1 | 2, new Map(people.entries().map(([id, n]) => [id, -n])))
  // A link was deleted, or an import has stored its day. The next attempt locks the right links.
  else if (people.keys().some((id) => !links.has(id))) return
  else {
    for (const [id, clicks] of people) (links.get(id) as LinkTotals).clicks_30d -= clicks
    await saveTotals(tx, [...links.values()])
  }
  if (ids.length === batchSize) await move(tx, due, { day, level, id: ids.at(-1) as number })
  else await move(tx, due, level === clickLevels.space ? cursorBefore(day + 1) : { day, level: level + 1, id: 0 })
}

/** Returns the stored human clicks on a day, by record id. Records without a stored day are missing. */
async function peopleOn(tx: Db, level: ClickLevel, day: number, ids: readonly number[]): Promise<Map<number, number>> {
  const people = new Map<number, number>()
  for (const some of parts(ids)) {
    const days = query
      .selectFrom('click_days')
      .select(['id', 'clicks'])
      .where('scope', '=', level)
      .where('day', '=', day)
    for (const { id, clicks } of await tx.execute(days.where('id', 'in', some))) people.set(id, clicks)
  }
  return people
}

/** Moves the cursor of an account, unless that or the time zone has changed. It is due again at `untilMs`. */
async function move(
  db: Db,
  { account, time_zones, cursor }: DueAccount,
  to: RecentCursor,
  untilMs?: number,
): Promise<void> {
  const until = untilMs === undefined ? {} : { recent_until_ms: untilMs }
  await db.execute(
    query
      .updateTable('accounts')
      .set({ recent_day: to.day, recent_scope: to.level, recent_id: to.id, ...until })
      .where('id', '=', account)
      .where('time_zones', '=', time_zones)
      .where('recent_day', '=', cursor.day)
      .where('recent_scope', '=', cursor.level)
      .where('recent_id', '=', cursor.id),
  )
}

/** Recounts the recent clicks of restored records, because days may have ended while they were deleted. */
export async function recountRecent(tx: Db, account: number, level: 0 | 1 | 2, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const cursors = await lockAccounts(tx, [account])
  const sums = new Map(ids.map((id) => [id, 0]))
  for (const day of await daysOfLevel(tx, level)) {
    const recent = ids.filter((id) => isRecent({ account, level, day, id }, cursors))
    for (const [id, people] of await peopleOn(tx, level, day, recent)) sums.set(id, (sums.get(id) ?? 0) + people)
  }
  for (const [sum, some] of Map.groupBy(ids, (id) => sums.get(id) ?? 0)) {
    const set =
      level === clickLevels.link
        ? query.updateTable('link_clicks').set({ clicks_30d: sum }).where('link_id', 'in', some)
        : query.updateTable(groupTables[level]).set({ clicks_30d: sum }).where('id', 'in', some)
    await tx.execute(set)
  }
}
