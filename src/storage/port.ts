/**
 * The storage port: what the stores may ask of any engine. Engines live beside this file, one folder each.
 */
import type { Histogram } from '../lib/histogram.ts'
import type { Resource } from '../resources.ts'
import type { StorageLocation } from './location.ts'
import type { Query } from './schema.ts'

/** Where statements run: the storage itself, or a transaction of it. */
export interface Db {
  /**
   * Runs one query of the builder in `schema.ts`, and returns its rows. Outside a transaction, a `select` sees only what
   * is committed, and any other query is a transaction of its own, which is on the disk when this resolves.
   */
  execute<Row>(query: Query<Row>): Promise<Row[]>

  /**
   * Runs `work` in a transaction and returns its result once everything it wrote is on the disk; when `work` throws,
   * nothing of it is kept. Inside a transaction, `work` joins it. `work` may await only the `Db` it is given:
   * transactions that wait together share one commit. It may not catch the error of a statement: on PostgreSQL the
   * transaction has failed with it. It may run again when others were in its way, and whatever it reads in order to
   * change it, it reads with `.forUpdate()`.
   */
  write<T>(work: (db: Db) => Promise<T>, isolation?: Isolation): Promise<T>
}

/**
 * What transactions at the same time may see of each other. By default, what others commit between two statements;
 * `serializable`: nothing, as if they ran one after the other, for decisions that rest on what is not there.
 */
export type Isolation = 'default' | 'serializable'

/** A database that has been opened, and can be closed. */
export interface Storage extends Db {
  /** One page of an account's records in a stated order, with their number. Sees only what is committed. */
  list<Row>(listing: Listing<Row>): Promise<Page<Row>>
  /**
   * Begins the work that goes on beside the requests, such as indexing. `onProblem` hears of what goes wrong there and
   * harms no request. To be called once, when the server listens.
   */
  start(onProblem: (error: unknown) => void): void
  /**
   * Asks the database how it is. `disk_full`: it answers reads, but the last write found no room, and neither does a
   * trial write now. `read_only`: it answers reads, but rejects writes, as a standby does. Throws `database_unavailable`
   * when it does not answer, and with the reason `database_corrupt` once any statement has met damaged data, until the
   * storage is opened again.
   */
  condition(): Promise<DatabaseCondition>
  /**
   * What changed since `position`, among links and domains, that visitors can notice: committed edits and deletions, and
   * stored domains. An id may come twice. `null` asks for the present position. Throws `database_unavailable`.
   */
  changesAfter(position: ChangePosition | null): Promise<Changes>
  /** Forgets what changed before `position`, a few hundred changes to a transaction, but never the newest 10 000. */
  pruneChanges(position: ChangePosition): Promise<void>
  /** Where another connection finds the same records, such as that of a thread. */
  readonly location: StorageLocation
  /** Waits for the writes under way, then closes. Idempotent. */
  close(): Promise<void>
  /** What the engine measures of itself; other engines measure other things. */
  readonly meters: readonly Meter[]
}

/** One connection of its own, for a worker thread that writes batches. */
export interface BatchWriter {
  /**
   * See `Db.write`. Transactions run one after the other. After `database_unavailable` it is unknown whether the
   * transaction was committed.
   */
  write<T>(work: (db: Db) => Promise<T>): Promise<T>
  /**
   * Overwrites deleted rows of a table where the engine still stores them. PostgreSQL leaves the days to its own vacuum.
   * Throws `database_unavailable` if other connections prevent that.
   */
  scrub(table: 'click_salts' | 'click_days'): Promise<void>
  /** Waits for the transactions under way, then closes. Idempotent. */
  close(): Promise<void>
}

export type DatabaseCondition = 'ok' | 'disk_full' | 'read_only'

/**
 * Returns whether a node should get requests. All nodes share a full disk, so without them reads would end too. A
 * read-only database may be a standby that only this node reaches.
 */
export function isReady(condition: DatabaseCondition): boolean {
  return condition !== 'read_only'
}

/** Where a reader of changes stands. Only the storage that gave it can tell what it means. */
export interface ChangePosition {
  readonly database: string
  /** The newest number that was visible. */
  readonly seq: number
  /** Which transactions were visible; '' where numbers are given in the order of commits. */
  readonly snapshot: string
}

/** What `changesAfter` answers. */
export interface Changes {
  readonly position: ChangePosition
  /** `unknown`: something may have been missed, because it is too much or too long ago, or the database is another. */
  readonly changes: readonly Change[] | 'unknown'
}

export interface Change {
  readonly resource: 'links' | 'domains'
  readonly id: number
}

/** The most that `changesAfter` returns: reading them takes the event loop a few milliseconds. */
export const changesAtOnce = 2_000
/** How many of the newest changes `pruneChanges` keeps. */
export const keptChanges = 10_000
/** So few that no request waits for it. */
export const prunedAtOnce = 300

/** A measurement that goes on for as long as the storage is open. */
export interface Meter {
  /** With its unit, as in `commit_seconds`: lower case, digits and underscores. */
  readonly name: string
  /** What is measured, in a sentence for the operator. */
  readonly help: string
  /** How often, and how much each time; or a function that says how much it is now. */
  readonly value: Histogram | (() => number)
}

/** What an engine must know of a table to list it: see `Resource` for the last three. */
export interface Listable<Row> {
  /** Also the key of the table's rows in `record_counts`, and the stem of its search index. */
  readonly table: string
  /** The columns of a row, in the order of the answer. */
  readonly columns: readonly (keyof Row & string)[]
  /** SQL over the table's columns for those of the columns that the table does not have. */
  readonly computed?: Readonly<Record<string, string>>
  readonly sorts: Resource['sorts']
  readonly searched: Resource['searched']
  readonly filters: Resource['filters']
}

/** A request for one page. Reads only the records of `account`. */
export interface Listing<Row> {
  readonly of: Listable<Row>
  readonly account: number
  /** Text, matched blind to case as a substring, every character literally; null for no search. */
  readonly search: string | null
  /** The columns to search, from `of.searched`; a match in any of them counts. */
  readonly searchIn: readonly string[]
  /** Columns of `of.filters`, and the value that each must have. */
  readonly filter: Readonly<Record<string, string | number | null>>
  /** `id`, or one of `of.sorts`. */
  readonly sortBy: string
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly offset: number
  /** Only records that come after this id in the direction asked for; with `sortBy: 'id'` and offset 0 alone. */
  readonly after: number | null
}

/** A page, without the list that it is of. */
export type PageRequest = Omit<Listing<never>, 'of' | 'account'>

export interface Page<Row> {
  readonly rows: Row[]
  /** The number of records that match, regardless of `after`; at most `countedMatches` when searching or filtering. */
  readonly total: number
  /** False when a search or a filter has more than `countedMatches` matches. */
  readonly totalIsExact: boolean
  /** Rows that the page had before a store left out some; absent if it left out none. */
  readonly rowsBefore?: number
}

/** A search or a filter counts no further than this; the page itself is always the right one. */
export const countedMatches = 10_000
