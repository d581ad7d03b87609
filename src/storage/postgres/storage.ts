import type { ClientBase } from 'pg'
import { tooManySearches } from '../../errors.ts'
import { resources } from '../../resources.ts'
import { Condition } from '../condition.ts'
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
import { isRead, type Query } from '../schema.ts'
import { compileQuery, type Statement } from '../statement.ts'
import { changesAfter, pruneSome } from './changes.ts'
import { compiler } from './compiled.ts'
import { insufficientPrivilege, stateOf } from './errors.ts'
import { Gate } from './gate.ts'
import { listOn, mayTakeLong } from './lists.ts'
import { Pool } from './pool.ts'
import { RareParts } from './rare-parts.ts'
import { ReadOnlyCheck } from './read-only-check.ts'
import { retry } from './retry.ts'
import { execute, run, runText } from './run.ts'
import { makeTextIndexes } from './text-indexes.ts'
import { transact } from './transaction.ts'
import { TurnReader } from './turn-reader.ts'
import { TurnWriter } from './turn-writer.ts'

/**
 * PostgreSQL, 14 or newer. Transactions and slow lists have a connection each; short reads and writes share one per
 * turn.
 */
export class PostgresStorage implements Storage {
  readonly location: StorageLocation
  readonly #url: string
  readonly #pool: Pool
  readonly #reader: TurnReader
  readonly #writer: TurnWriter
  readonly #readOnlyCheck: ReadOnlyCheck
  /** Slow lists pass here, so that they leave connections to the rest. */
  readonly #gate: Gate
  readonly #rareParts = new RareParts()
  readonly #condition = new Condition()
  readonly #underWay = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  /** The database has been migrated. Opens at most `size` connections. */
  constructor(url: string, size: number) {
    this.#url = url
    this.location = { engine: 'postgres', url, pool: size }
    this.#pool = new Pool(url, size)
    this.#reader = new TurnReader(this.#pool)
    this.#readOnlyCheck = new ReadOnlyCheck(this.#reader)
    this.#writer = new TurnWriter(this.#pool, Math.ceil(size / 2))
    this.#gate = new Gate(Math.max(1, size - reserved), maxSlowWaitMs, tooManySearches)
  }

  async execute<Row>(query: Query<Row>): Promise<Row[]> {
    const compiled = compileQuery(compiler, query)
    if (isRead(compiled.query)) return this.#awaited(this.#reader.read((client) => execute<Row>(client, compiled)))
    return this.#awaited(retry(() => this.#pool.with((client) => execute<Row>(client, compiled))))
  }

  all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.#awaited(this.#reader.read((client) => run(client, statement, params)))
  }

  write<T>(work: (db: Db) => Promise<T>, isolation: Isolation = 'default'): Promise<T> {
    return this.#awaited(transact(this.#pool, isolation, work))
  }

  writeOne<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.#awaited(this.#writer.write(statement, params))
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    const read = (client: ClientBase) => listOn(client, listing, this.#rareParts)
    const isSlow = mayTakeLong(listing)
    return this.#awaited(isSlow ? this.#gate.through(() => this.#pool.with(read)) : this.#reader.read(read))
  }

  start(onProblem: (error: unknown) => void): void {
    makeTextIndexes(this.#url, resources).catch(onProblem)
  }

  async condition(): Promise<DatabaseCondition> {
    const isReadOnly = await this.#awaited(this.#readOnlyCheck.isReadOnly())
    return this.#condition.told(() => this.#pool.with(takeRoom), isReadOnly)
  }

  changesAfter(position: ChangePosition | null): Promise<Changes> {
    return this.#awaited(this.#reader.read((client) => changesAfter(client, position)))
  }

  async pruneChanges(position: ChangePosition): Promise<void> {
    const prune = () => this.#awaited(this.#pool.with((client) => pruneSome(client, position)))
    while (this.#closed === undefined && (await prune()));
  }

  get meters(): readonly Meter[] {
    return [...this.#pool.meters, ...this.#writer.meters]
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    await this.#pool.close()
  }

  /** What `work` resolves to. The storage does not close before. */
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

/**
 * Connections that slow lists leave to the rest, if there are more: the reads of a turn take one, its writes another.
 */
const reserved = 3
/** A search takes a few milliseconds. */
const maxSlowWaitMs = 500

/** Takes a megabyte of the disk and gives it back: a small write may fit into what was taken earlier. */
async function takeRoom(client: ClientBase): Promise<void> {
  const text = `create temp table waymark_room on commit drop as
    select repeat(md5(n::text), 32) from generate_series(1, 1000) as n`
  try {
    await runText(client, text, [])
  } catch (error) {
    // A user who may not do this learns of a full disk from the next write.
    if (stateOf(error) !== insufficientPrivilege) throw error
  }
}
