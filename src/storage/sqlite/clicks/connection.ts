import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable } from '../../../errors.ts'
import {
  type AddedTotals,
  addedToIn,
  type ClickConnection,
  type ClickTables,
  type DayKey,
  ownerColumns,
  ownersIn,
  type Visitor,
} from '../../clicks/tables.ts'
import { openDatabase } from '../connection.ts'
import { isBusy, translated } from '../errors.ts'
import { query } from '../prepared.ts'
import { type Run, upkeepOf } from './upkeep.ts'

/** How long a batch waits for the lock of other writers, and how often it looks. Milliseconds. */
const lockTimeoutMs = 5_000
const lockPollMs = 2
/**
 * The log is copied back sooner than by the writer on the event loop, so that this thread does it and not that one. What has
 * been deleted is overwritten: salts must not be found in free pages.
 */
const pragmas =
  'pragma cache_size = -12000; pragma wal_autocheckpoint = 3500; pragma journal_size_limit = 33554432; pragma secure_delete = on'

/** Opens the tables of clicks of a file that has been migrated. */
export function openSqliteClicks(path: string): ClickConnection {
  const database = openDatabase(path, 0, pragmas)
  const tables = tablesOf(database)
  return {
    async write(work) {
      try {
        return await transact(database, () => work(tables))
      } catch (error) {
        throw translated(error)
      }
    },
    // Old pages are in the log until it is used from its start again.
    scrub: () => truncateLog(database),
    close: async () => database.close(),
  }
}

/** How often a log is tried to be cut off that others are reading. */
const truncations = 100

async function truncateLog(database: DatabaseSync): Promise<void> {
  for (let left = truncations; left > 0; left--) {
    const [[isBusy] = []] = query(database, 'pragma wal_checkpoint(truncate)')
    if (isBusy === 0) return
    await wait(lockPollMs)
  }
  throw databaseUnavailable(new Error('The log is being read, and could not be cut off.'))
}

async function transact<T>(database: DatabaseSync, work: () => Promise<T>): Promise<T> {
  await begin(database)
  try {
    const result = await work()
    database.exec('commit')
    return result
  } catch (error) {
    // Some errors have ended the transaction already.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Waits for the lock without holding the thread: a transaction has awaits, and another of this thread may have the lock. */
async function begin(database: DatabaseSync): Promise<void> {
  for (const deadline = performance.now() + lockTimeoutMs; ; ) {
    try {
      database.exec('begin immediate')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await wait(lockPollMs)
  }
}

/** By position: to bind values by name takes as long as the statement. */
const totalsAdded = `update link_clicks set
    clicks = max(0, clicks + ?2), bots = max(0, bots + ?3), previews = max(0, previews + ?4),
    last_clicked_ms = iif(?2 > 0 and ?6 > coalesce(forgotten_ms, -1), max(coalesce(last_clicked_ms, 0), ?5), last_clicked_ms)
  where link_id = ?1
  returning link_id, ${ownerColumns}, forgotten_ms`

const clickTaken = `update link_clicks set
    clicks = clicks + 1, last_clicked_ms = max(coalesce(last_clicked_ms, 0), :atMs)
  where link_id = :link and clicks < (select clicks_limit from links where id = :link)
  returning link_id, ${ownerColumns}`

/** Of the links of a batch few have a limit, and an index of their own. */
const limitsReached = `update links set status_due_at = ''
  where id in (select value from json_each(?)) and clicks_limit is not null and status <> 'expired'
    and clicks_limit <= (select clicks from link_clicks where link_id = links.id)`

const saltAdded = `insert into click_salts (day, salt) values (?, ?)
  on conflict (day) do update set salt = excluded.salt where length(salt) = 0`

const batchNoted = `insert into click_batches (writer, batch, day) values (?, ?, ?)
  on conflict (writer) do update set batch = excluded.batch, day = excluded.day where excluded.batch > batch
  returning batch`

const visitorAdded = `insert into click_visitors (day, link_id, visitor) values (?, ?, ?)
  on conflict do nothing`

const dayFacts = 'select facts from click_days where scope = ? and day = ? and id = ?'
const daySet = `insert into click_days (scope, day, id, facts) values (?, ?, ?, ?)
  on conflict (scope, day, id) do update set facts = excluded.facts`

const nothing = new Uint8Array()

function tablesOf(database: DatabaseSync): ClickTables {
  const all: Run = (sql, ...values) => query(database, sql, ...values)
  return {
    async salt(day, fresh) {
      all(saltAdded, day, fresh)
      return all('select salt from click_salts where day = ?', day)[0]?.[0] as Uint8Array
    },
    async noteBatch(writer, batch, day) {
      return all(batchNoted, writer, batch, day).length > 0
    },
    async addTotals(added: readonly AddedTotals[]) {
      const found = added.flatMap(({ link, people, bots, previews, lastMs, seenMs }) =>
        all(totalsAdded, link, people, bots, previews, lastMs, seenMs).map(addedToIn),
      )
      all(limitsReached, JSON.stringify(found.map(({ link }) => link)))
      return found
    },
    async takeClick(link, atMs) {
      const [taken] = all(clickTaken, { link, atMs }).map(ownersIn)
      if (taken !== undefined) all(limitsReached, JSON.stringify([link]))
      return taken
    },
    async addVisitors(visitors: readonly Visitor[]) {
      const added = database.prepare(visitorAdded)
      return visitors.map(({ day, link, visitor }) => added.run(day, link, visitor).changes === 1)
    },
    async days(keys: readonly DayKey[]) {
      return keys.map(({ scope, day, id }) => (all(dayFacts, scope, day, id)[0]?.[0] ?? nothing) as Uint8Array)
    },
    async setDays(keys: readonly DayKey[], facts) {
      const set = database.prepare(daySet)
      for (const [at, { scope, day, id }] of keys.entries()) set.run(scope, day, id, facts[at] as Uint8Array)
    },
    ...upkeepOf(all),
  }
}
