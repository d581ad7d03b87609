/** The storage port: what stores may ask of any engine. */
import type { Histogram } from '../lib/histogram.ts'
import type { Resource } from '../resources.ts'
import type { Query } from './schema.ts'

/** Runs queries: the storage itself, or one of its transactions. */
export interface Db {
  /**
   * Runs one query of the builder in `schema.ts`, and returns its rows. Outside a transaction, a `select` sees only
   * committed data, and any other query is its own transaction, which is on disk when this resolves.
   */
  execute<Row>(query: Query<Row>): Promise<Row[]>

  /**
   * Runs `work` in a transaction and returns its result once all changes are on disk. If `work` throws, the transaction is
   * rolled back. Inside a transaction, `work` joins it. Rules for `work`:
   *
   * - It awaits only the `Db` that it gets, or the next event-loop tick, because pending transactions share one commit.
   * - It does not catch the error of a statement, because the transaction on PostgreSQL has failed with it.
   * - It may run again after a conflict. Before it changes a record, it reads it with `.forUpdate()`.
   */
  write<T>(work: (db: Transaction) => Promise<T>, isolation?: Isolation): Promise<T>
}

export interface Transaction extends Db {
  /** Returns ids for records that the transaction will store in a table, in ascending order. No other transaction gets them. */
  newIds(table: 'links', count: number): Promise<readonly number[]>
}

/** `serializable` is for decisions that depend on missing records. By default, commits of others become visible. */
export type Isolation = 'default' | 'serializable'

/** Returns a transaction, which writes join. `execute` runs a query in it. */
export function createTransaction(execute: Db['execute'], newIds: Transaction['newIds']): Transaction {
  const transaction: Transaction = { execute, newIds, write: (work) => work(transaction) }
  return transaction
}

export interface Storage extends Db {
  /** Returns one page with an account's records, and the total. Sees only committed data. */
  list<Row>(listing: Listing<Row>): Promise<Page<Row>>
  /**
   * Runs a long `select` for an account outside of the event loop, and returns the rows' values. Sees only committed
   * data. Accounts take turns. Throws `overloaded` if too many such queries wait.
   */
  scan(account: number, query: Query<unknown>): Promise<readonly (readonly unknown[])[]>
  /** Starts background work, such as indexing, when the server listens. `onProblem` gets its errors. */
  start(onProblem: (error: unknown) => void): void
  /**
   * Checks the database. `disk_full`: it responds to reads, but the last write found no space, and a trial write now fails
   * too. `read_only`: it responds to reads, but rejects writes, like a standby. Throws `database_unavailable` if it does
   * not respond, and with the reason `database_corrupt` after any statement has found damaged data, until a restart.
   */
  condition(): Promise<DatabaseCondition>
  /**
   * Returns the committed changes since `position` that visitors can notice: edited and deleted links and domains, and
   * stored domains. Ids may repeat. For `null`, returns only the current position. Throws `database_unavailable`.
   */
  changesAfter(position: ChangePosition | null): Promise<Changes>
  /**
   * Returns the id up to which all events are visible that ever will be; null if that holds for all visible events. On
   * PostgreSQL, transactions commit in another order than their ids.
   */
  eventHorizon(): Promise<number | null>
  /** Deletes the changes before `position` in small batches, except the newest 10,000. */
  pruneChanges(position: ChangePosition): Promise<void>
  /** Lets a thread open its own connection to the database. */
  readonly location: StorageLocation
  /** Waits for the writes under way, then closes. Idempotent. */
  close(): Promise<void>
  /** Metrics, which differ between engines. */
  readonly meters: readonly Meter[]
}

export interface BatchWriterOptions {
  /** Whether batches store records, whose search index may then be late. */
  readonly storesRecords?: boolean
}

/** A separate connection, for a worker thread that writes batches. After `database_unavailable`, it is unknown whether a write was committed. */
export interface BatchWriter extends Db {
  /** Overwrites deleted rows of a table in the file. Throws `database_unavailable` if readers prevent it. */
  scrub(table: 'click_salts' | 'click_days' | 'events'): Promise<void>
  /** Waits for the transactions under way, then closes. Idempotent. */
  close(): Promise<void>
}

export type DatabaseCondition = 'ok' | 'disk_full' | 'read_only'

/** Returns whether a node should get requests. It may serve reads on a full disk, but not from a standby. */
export function isReady(condition: DatabaseCondition): boolean {
  return condition !== 'read_only'
}

/** A position in the log of changes. Only the storage that returned it can read it. */
export interface ChangePosition {
  readonly database: string
  /** The highest visible number. */
  readonly seq: number
  /** The visible transactions; '' if numbers are in the order of commits. */
  readonly snapshot: string
}

export interface Changes {
  readonly position: ChangePosition
  /** `unknown` if changes may be missing: there are too many, the log was pruned, or it is another database. */
  readonly changes: readonly Change[] | 'unknown'
}

export interface Change {
  readonly resource: 'links' | 'domains' | 'accounts'
  readonly id: number
}

/** A metric of an open storage. */
export interface Meter {
  /** With its unit, as in `commit_seconds`: lower case, digits and underscores. Only names of counters end in `_total`. */
  readonly name: string
  /** A sentence for the operator. */
  readonly help: string
  /** The distribution of measured values, or a function that returns the current value. */
  readonly value: Histogram | (() => number)
}

/** A table that can be listed. */
export interface Listable<Row> extends Omit<Resource, 'singular' | 'searchesWords'> {
  /** Also its key in `record_counts`, and the prefix of its indexes. */
  readonly table: string
  /** More filter columns, which have no index. With only such filters, a list reads all records of the account. */
  readonly unindexedFilters?: readonly string[]
  /** In the order of the response. */
  readonly columns: readonly (keyof Row & string)[]
  /** SQL expressions for columns that the table does not have. */
  readonly computed?: Readonly<Record<string, string>>
}

/** Values from `from` on and before `before`. At least one is given. */
export interface ValueRange {
  readonly from?: string | number
  readonly before?: string | number
}

/** The id of a group; several if they count as one. */
export type GroupIds = readonly [number, ...number[]]

/** A request for one page with an account's records. */
export interface Listing<Row> {
  readonly of: Listable<Row>
  readonly account: number
  /** Case-insensitive literal substrings, all of which must match; empty for no search. */
  readonly search: readonly string[]
  /** The columns to search, from `of.searched`. Each substring may match in any of them. */
  readonly searchIn: readonly string[]
  /** Columns of `of.filters` or `of.unindexedFilters`, and the value that each must have. */
  readonly filter: Readonly<Record<string, string | number | null>>
  /** Names of `of.ranges`, and the range that includes the value of each. */
  readonly ranges?: Readonly<Record<string, ValueRange>>
  /**
   * Names of `of.groups`, and groups that all must have the record. Each is a list of ids, of which one is enough: tags that
   * are being merged count as one.
   */
  readonly groups?: Readonly<Record<string, readonly GroupIds[]>>
  /** `id`, or one of `of.sorts`. */
  readonly sortBy: string
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly offset: number
  /** Only records that follow this id in the direction. Requires `sortBy: 'id'` and offset 0. */
  readonly after: number | null
  /** Only records up to this id. Records above should be few, because lists read past them. Totals are those of a filter. */
  readonly upTo?: number | null
  /** Returns no rows if a search or several filters would need a scan, for example while the search index is behind. */
  readonly withoutScan?: boolean
}

/** The values of a row, in the order of the columns. */
export type Values = readonly unknown[]

/** The part of a listing that a client chooses. */
export type PageRequest = Omit<Listing<never>, 'of' | 'account'> & {
  /** An alias or a short URL. Only the list of links has it. */
  readonly alias?: string
}

export interface Page<Row> {
  readonly rows: Row[]
  /** The number of records that match, regardless of `after`; at most `countedMatches` if they are counted for the list. */
  readonly total: number
  /** False if the list counts, as for a search or a filter, and more than `countedMatches` records match. */
  readonly totalIsExact: boolean
  /** The number of rows before a store removed some; absent if it removed none. */
  readonly rowsBefore?: number
}

/** A search or a filter counts no more matches than this. The page itself is always right. */
export const countedMatches = 10_000

/** A configured database. */
export type StorageLocation = { readonly engine: 'sqlite'; readonly path: string } | PostgresLocation

export interface PostgresLocation {
  readonly engine: 'postgres'
  /** A `postgres://` URL as libpq accepts it, which may contain a password. */
  readonly url: string
  readonly pool: number
}

/** Returns the host and database name of a URL, for messages. */
export function describePostgres(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host || 'localhost'}${pathname}`
}

/** Splits a list into parts whose lengths are powers of two, so that engines prepare few statements. `maxLength` is one. */
export function* parts<T>(list: readonly T[], maxLength = 1_024): Generator<readonly T[]> {
  for (let at = 0, length = maxLength; at < list.length; at += length) {
    while (length > list.length - at) length /= 2
    yield list.slice(at, at + length)
  }
}
