import type { OperationNodeSource } from 'kysely'
import type { ClientBase } from 'pg'
import { tooManySearches } from '../../errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { resources } from '../../resources.ts'
import { Condition } from '../condition.ts'
import { type Cost, listPage } from '../list.ts'
import type { StorageLocation } from '../location.ts'
import type {
  ChangePosition,
  Changes,
  DatabaseCondition,
  Db,
  Isolation,
  Listing,
  Meter,
  Page,
  Storage,
} from '../port.ts'
import { compileQuery, isRead, type Query } from '../schema.ts'
import { changesAfter, pruneSome } from './changes.ts'
import { compiler } from './compiled.ts'
import { insufficientPrivilege, stateOf } from './errors.ts'
import { PostgresLists } from './lists.ts'
import { Pool } from './pool.ts'
import { ReadOnlyCheck } from './read-only-check.ts'
import { execute, executeOnce, runText } from './run.ts'
import { makeTextIndexes } from './text-indexes.ts'
import { retry, transact } from './transaction.ts'

/** PostgreSQL 14 or newer. Each query, transaction and list takes a connection of the pool. */
export class PostgresStorage implements Storage {
  readonly location: StorageLocation
  readonly #url: string
  readonly #pool: Pool
  readonly #readOnlyCheck: ReadOnlyCheck
  /** Limits slow lists, so that connections remain for all other work. */
  readonly #slowLists: Semaphore
  readonly #condition = new Condition()
  readonly #underWay = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  /** The database has been migrated. Opens at most `size` connections. */
  constructor(url: string, size: number) {
    this.#url = url
    this.location = { engine: 'postgres', url, pool: size }
    this.#pool = new Pool(url, size)
    this.#readOnlyCheck = new ReadOnlyCheck(this.#pool)
    this.#slowLists = new Semaphore({
      concurrency: Math.max(1, size - reservedConnections),
      maxQueue: 256,
      maxQueuePerKey: 32,
      maxWaitMs: 500,
      rejection: tooManySearches,
    })
  }

  async execute<Row>(query: Query<Row>): Promise<Row[]> {
    const compiled = compileQuery(compiler, query)
    const run = () => this.#pool.with((client) => execute<Row>(client, compiled))
    return this.#awaited(isRead(compiled.query) ? run() : retry(run))
  }

  write<T>(work: (db: Db) => Promise<T>, isolation: Isolation = 'default'): Promise<T> {
    return this.#awaited(transact(this.#pool, isolation, work))
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    const lists = new PostgresLists((query, cost) => this.#select(query, cost, listing.account))
    return this.#awaited(listPage(lists, listing))
  }

  start(onProblem: (error: unknown) => void): void {
    makeTextIndexes(this.#url, resources).catch(onProblem)
  }

  async condition(): Promise<DatabaseCondition> {
    const isReadOnly = await this.#awaited(this.#readOnlyCheck.isReadOnly())
    return this.#condition.told(() => this.#pool.with(allocateSpace), isReadOnly)
  }

  changesAfter(position: ChangePosition | null): Promise<Changes> {
    return this.#awaited(this.#pool.with((client) => changesAfter(client, position)))
  }

  async pruneChanges(position: ChangePosition): Promise<void> {
    const prune = () => this.#awaited(this.#pool.with((client) => pruneSome(client, position)))
    while (this.#closed === undefined && (await prune()));
  }

  get meters(): readonly Meter[] {
    return this.#pool.meters
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    await this.#pool.close()
  }

  /** The best plan of a long query depends on its values, so only short queries stay prepared. */
  #select(query: OperationNodeSource, cost: Cost, account: number): Promise<Readonly<Record<string, unknown>>[]> {
    const compiled = compileQuery(compiler, query)
    if (cost === 'page') return this.#pool.with((client) => execute(client, compiled))
    return this.#slowLists.run(() => this.#pool.with((client) => executeOnce(client, compiled)), String(account))
  }

  /** Returns the result of `work`. The storage does not close before. */
  async #awaited<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    try {
      return await work
    } catch (error) {
      throw this.#condition.noted(error)
    } finally {
      this.#underWay.delete(work)
    }
  }
}

/** Connections that slow lists leave free, if the pool has more. */
const reservedConnections = 3

/** Allocates a megabyte on disk and frees it: a small write may fit into space that was allocated earlier. */
async function allocateSpace(client: ClientBase): Promise<void> {
  const text = `create temp table waymark_room on commit drop as
    select repeat(md5(n::text), 32) from generate_series(1, 1000) as n`
  try {
    await runText(client, text, [])
  } catch (error) {
    // Without this right, only the next write can detect a full disk.
    if (stateOf(error) !== insufficientPrivilege) throw error
  }
}
