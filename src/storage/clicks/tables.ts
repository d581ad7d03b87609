/**
 * What each engine does with the tables of clicks. `book.ts` knows in which order. Those who write clicks lock rows in one order:
 * links with a limit, totals by link, then visitors, then days by scope, day and id, so they do not wait for each other in a
 * circle, nor for those who delete or change a link. A transaction that deletes several links may lock their totals in another
 * order: one of the two runs again then.
 */

/** Whose days they are. */
export const scopes = { link: 0, domain: 1, space: 2, account: 3 } as const
export type Scope = (typeof scopes)[keyof typeof scopes]

export interface DayKey {
  readonly scope: Scope
  /** Days since 1970-01-01 in UTC. */
  readonly day: number
  readonly id: number
}

/**
 * Clicks of a link, by class, and the time of a person's last one in Unix milliseconds, as it is kept and when it was: 0 if there
 * are none of people.
 */
export interface AddedTotals {
  readonly link: number
  readonly people: number
  readonly bots: number
  readonly previews: number
  readonly lastMs: number
  readonly seenMs: number
}

/** To whom the clicks of a link belong. */
export interface Owners {
  readonly link: number
  readonly account: number
  readonly domain: number
  readonly space: number | null
  /** While clicks follow their link out of this space: those of days before `formerBefore`, which is 0 at other times. */
  readonly formerSpace: number | null
  readonly formerBefore: number
}

/** The columns of owners, after that of the link. */
export const ownerColumns = 'account_id, domain_id, space_id, former_space_id, former_before'

/** Reads the columns `link_id` and `ownerColumns`. */
export function ownersIn([link, account, domain, space, formerSpace, formerBefore]: readonly unknown[]): Owners {
  return {
    ...{ link: Number(link), account: Number(account), domain: Number(domain), space: space as number | null },
    ...{ formerSpace: formerSpace as number | null, formerBefore: Number(formerBefore) },
  }
}

/** The same of a link whose totals were added to. */
export interface AddedTo extends Owners {
  /** When its clicks were last forgotten, in Unix milliseconds; null if they never were. */
  readonly forgottenMs: number | null
}

/** Reads the columns `link_id`, `ownerColumns` and `forgotten_ms`. */
export function addedToIn(row: readonly unknown[]): AddedTo {
  return { ...ownersIn(row), forgottenMs: row[6] as number | null }
}

export interface Visitor {
  readonly day: number
  readonly link: number
  /** A hash: see `analytics/capture/visitor.ts`. */
  readonly visitor: number
}

/** The tables within one transaction. Lists are sorted by their keys, and have each key once. */
export interface ClickTables extends Recording, Upkeep {}

/** What a click writes. */
export interface Recording {
  /** The day's salt, which is `fresh` if there was none, or it has been emptied. */
  salt(day: number, fresh: Uint8Array): Promise<Uint8Array>
  /** Notes that the writer's batch is in this transaction; false if it was in an earlier one. */
  noteBatch(writer: string, batch: number, day: number): Promise<boolean>
  /**
   * Adds to totals, which stay locked, and makes the state of links due whose limit is reached. The time of a last click from
   * before the clicks were forgotten is left out. Returns the links that there are.
   */
  addTotals(added: readonly AddedTotals[]): Promise<AddedTo[]>
  /** Takes a person's click at `atMs` of those that the link's limit leaves; undefined if there is none, or no limit. */
  takeClick(link: number, atMs: number): Promise<Owners | undefined>
  /** Notes who came. Returns of each whether it was not there yet. */
  addVisitors(visitors: readonly Visitor[]): Promise<boolean[]>
  /** The facts of days, which stay locked; empty where there are none yet. */
  days(keys: readonly DayKey[]): Promise<Uint8Array[]>
  setDays(keys: readonly DayKey[], facts: readonly Uint8Array[]): Promise<void>
}

/** What is put right and cleared away later. */
export interface Upkeep {
  /** Locks the totals of the account's link. Undefined if there is no such link. */
  owners(account: number, link: number): Promise<Owners | undefined>
  /**
   * Sets the totals of a link without days to nothing, forgets who visited it, and notes the time in Unix milliseconds. A link
   * whose limit was used up works again. No clicks are on their way out of another space any more.
   */
  clearTotals(link: number, atMs: number): Promise<void>
  /** The days that there are of a scope, or of one of its ids, ascending. */
  daysOf(scope: Scope, id?: number): Promise<number[]>
  /** Deletes a day of some ids of a scope. */
  deleteDays(scope: Scope, day: number, ids: readonly number[]): Promise<void>
  /** A link whose clicks may have yet to follow it to another space, and that space. Locks its totals. */
  nextMove(): Promise<{ readonly owners: Owners; readonly to: number | null } | undefined>
  /** Sets in whose days the clicks of a link are. */
  setSpaces(owners: Owners): Promise<void>
  /** The clicks of the link are where it is. */
  endMove(link: number): Promise<void>
  /**
   * Records that are gone, and whose days have yet to be deleted; a few of one scope. Spaces are not among them before the
   * clicks of all links have moved out: they are written to until then.
   */
  nextRemovals(): Promise<{ readonly scope: Scope; readonly ids: readonly number[] } | undefined>
  endRemovals(scope: Scope, ids: readonly number[]): Promise<void>
  /** Deletes some visitors of days before `day`. Returns whether any are left. */
  deleteVisitors(day: number): Promise<boolean>
  /** Empties the salts of days before `day`. Returns whether there were any: `deleteSalts` ends what this begins. */
  blankSalts(day: number): Promise<boolean>
  /** Deletes the salts of days before `day`, and the notes on their batches. */
  deleteSalts(day: number): Promise<void>
  /** Deletes some facts of days before `day`. Returns whether any are left. */
  deleteDaysBefore(day: number): Promise<boolean>
}

/** A connection of its own to the tables of clicks, for one transaction at a time. */
export interface ClickConnection {
  /**
   * Runs `work` in a transaction, again if others were in its way. Throws `database_unavailable`, after which it is unknown
   * whether the transaction was committed: `noteBatch` tells the next one.
   */
  write<T>(work: (tables: ClickTables) => Promise<T>): Promise<T>
  /**
   * Overwrites what was deleted, as far as the engine keeps it: on SQLite the log, on PostgreSQL the salts. Throws
   * `database_unavailable` if others keep it from that.
   */
  scrub(): Promise<void>
  close(): Promise<void>
}
