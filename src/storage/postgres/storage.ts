import type { ClientBase } from 'pg'
import pg from 'pg'
import { databaseUnavailable, tooManySearches } from '../../errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { type Resource, resources } from '../../resources.ts'
import { type ChangeRow, changedOnPostgres, prunedBatchSize, prunedOnPostgres, toChanges } from '../changes.ts'
import { Condition } from '../condition.ts'
import { countQuery, listPage } from '../list.ts'
import type { AnyListing } from '../list-filters.ts'
import { type Cost, filtered, type ListEngine, type Plan } from '../list-sources.ts'
import { letters } from '../migrations/letters.ts'
import type {
  ChangePosition,
  Changes,
  DatabaseCondition,
  Isolation,
  Listing,
  Meter,
  Page,
  Storage,
  StorageLocation,
  Transaction,
  Values,
} from '../port.ts'
import { isRead, type Query } from '../schema.ts'
import { formatSql, sqlPart } from '../sql-text.ts'
import { insufficientPrivilege, isReadOnly, readSqlState } from './errors.ts'
import { Pool, parseSettings, unlimited } from './pool.ts'
import { compiledForPostgres, execute, executeForValues, retry, type SqlText, transact } from './queries.ts'
import { buildShortTerms } from './short-terms.ts'

/** PostgreSQL 14 or newer. Each query, transaction and list takes a connection of the pool. */
export class PostgresStorage implements Storage {
  readonly location: StorageLocation
  readonly #url: string
  readonly #pool: Pool
  /** Limits slow lists, so that connections remain for all other work. */
  readonly #slowLists: Semaphore
  readonly #condition = new Condition()
  readonly #underWay = new Set<Promise<unknown>>()
  /** By `performance.now()`. */
  #readOnlyUntil = Number.NEGATIVE_INFINITY
  #closed: Promise<void> | undefined

  /** The database has been migrated. Opens at most `size` connections. */
  constructor(url: string, size: number) {
    this.#url = url
    this.location = { engine: 'postgres', url, pool: size }
    this.#pool = new Pool(url, size)
    const concurrency = Math.max(1, size - reservedConnections)
    this.#slowLists = new Semaphore({
      concurrency,
      // One account leaves a connection to the others.
      concurrencyPerKey: Math.max(1, concurrency - 1),
      maxQueue: 256,
      maxQueuePerKey: 32,
      maxWaitMs: 500,
      rejection: tooManySearches,
    })
  }

  async execute<Row>(query: Query<Row>): Promise<Row[]> {
    const compiled = compiledForPostgres(query)
    const run = () => this.#pool.with((client) => execute<Row>(client, compiled))
    return this.#awaited(isRead(compiled.query) ? run() : retry(run))
  }

  write<T>(work: (db: Transaction) => Promise<T>, isolation: Isolation = 'default'): Promise<T> {
    return this.#awaited(transact(this.#pool, isolation, work))
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    const engine = listEngine((query, cost) =>
      this.#select(
        formatSql(query, (number) => `$${number}`),
        cost,
        listing.account,
      ),
    )
    return this.#awaited(listPage(engine, listing))
  }

  scan(account: number, query: Query<unknown>): Promise<Values[]> {
    return this.#awaited(this.#select(compiledForPostgres(query), 'scan', account))
  }

  start(onProblem: (error: unknown) => void): void {
    makeTextIndexes(this.#url, resources).catch(onProblem)
  }

  condition(): Promise<DatabaseCondition> {
    const isReadOnly = () => this.#isReadOnly()
    const tryToWrite = () => this.#pool.with(allocateSpace)
    return this.#awaited(this.#condition.check({ isReadOnly, tryToWrite }))
  }

  async changesAfter(position: ChangePosition | null): Promise<Changes> {
    const query = { sql: changedOnPostgres, parameters: [position?.snapshot ?? null] }
    const rows = await this.#awaited(this.#pool.with((client) => execute<ChangeRow>(client, query)))
    return toChanges(rows, position)
  }

  async eventHorizon(): Promise<number> {
    const query = { sql: 'select events_horizon() as id', parameters: [] }
    const [row] = await this.#awaited(this.#pool.with((client) => execute<{ id: number }>(client, query)))
    return Number(row?.id)
  }

  async pruneChanges({ snapshot }: ChangePosition): Promise<void> {
    const query = { sql: prunedOnPostgres, parameters: [snapshot] }
    const prune = async () => (await this.#awaited(this.#pool.with((client) => execute(client, query)))).length
    while (this.#closed === undefined && (await prune()) === prunedBatchSize);
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
  #select(query: SqlText, cost: Cost, account: number): Promise<Values[]> {
    const isPrepared = cost === 'page'
    const run = () => this.#pool.with((client) => executeForValues(client, query, isPrepared))
    return isPrepared ? run() : this.#slowLists.run(run, String(account))
  }

  /**
   * Returns whether the database rejects writes, because it is a standby or its transactions are read-only by default.
   * A positive result is valid for a second: it costs the server a new connection, and health checks need no key.
   */
  async #isReadOnly(): Promise<boolean> {
    if (performance.now() < this.#readOnlyUntil) return true
    try {
      await this.#pool.with(checkWritable)
      return false
    } catch (error) {
      if (!isReadOnly(error)) throw error
      this.#readOnlyUntil = performance.now() + readOnlyMs
      return true
    }
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

const readOnlyMs = 1_000

/** PostgreSQL chooses indexes itself. Those of `pg_trgm` make searches fast. */
function listEngine(select: ListEngine['select']): ListEngine {
  const engine: ListEngine = {
    select,
    indexHint: () => sqlPart``,
    joinInOrder: sqlPart`join`,
    contains: (text, term) => sqlPart`${text} like ${escapePattern(term)}`,
    plan: (listing) => planned(engine, listing),
    // All queries have the same connections.
    archivesMany: async () => false,
  }
  return engine
}

/** Uses indexes for short terms if few of the newest records match. Otherwise reading the records is faster. */
async function planned(engine: ListEngine, listing: AnyListing): Promise<Plan> {
  const source = (each: AnyListing) => filtered(engine, each)
  const plain: Plan = { source, isSorted: true, cost: 'search' }
  if (buildShortTerms(listing).length === 0) return plain
  const { of, account } = listing
  const table = sqlPart.ref(of.table)
  const newest = sqlPart`(select * from ${table} where account_id = ${account} order by id desc limit ${sqlPart.lit(sampled)})`
  const { where } = source({ ...listing, after: null })
  const [row = []] = await engine.select(
    countQuery({ from: sqlPart`${newest} as ${table}`, where }, minCommon),
    'search',
  )
  if (Number(row[0]) === minCommon) return plain
  return { ...plain, source: (each) => ({ ...source(each), where: [...source(each).where, ...buildShortTerms(each)] }) }
}

/** The newest records. If `minCommon` of them match, a listing has many matches. */
const sampled = 2_000
const minCommon = 100

/** Returns a pattern for `like` in which every character is literal. */
function escapePattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** Throws the error of a write on a read-only database. The pool then replaces the connection: see `isBroken`. */
async function checkWritable(client: ClientBase): Promise<void> {
  const text = `select current_setting('transaction_read_only')::boolean as yes`
  const [row] = await execute<{ yes: boolean }>(client, { sql: text, parameters: [] }, { isPrepared: false })
  if (row?.yes === true) throw databaseUnavailable(undefined, 'read_only')
}

/** Allocates a megabyte on disk and frees it: a small write may fit into space that was allocated earlier. */
async function allocateSpace(client: ClientBase): Promise<void> {
  const text = `create temp table waymark_room on commit drop as
    select repeat(md5(n::text), 32) from generate_series(1, 1000) as n`
  try {
    await execute(client, { sql: text, parameters: [] }, { isPrepared: false })
  } catch (error) {
    // Without this right, only the next write can detect a full disk.
    if (readSqlState(error) !== insufficientPrivilege) throw error
  }
}

const indexingLock = 0x7761_796d_726c

/** Creates missing and invalid search indexes if the database has pg_trgm. Does not block writes. */
export async function makeTextIndexes(url: string, resources: Readonly<Record<string, Resource>>): Promise<void> {
  const wanted = new Map(Object.entries(resources).flatMap(defineIndexes))
  await withClient(url, async (locker) => {
    // `create index concurrently` can't run in a transaction, and a session's lock would stay on a pooler's connection.
    await locker.query('begin; set local idle_in_transaction_session_timeout = 0')
    const { rows: extensions } = await locker.query<{ schema: string }>(
      `select extnamespace::regnamespace::text as schema from pg_extension
       where extname = 'pg_trgm' and pg_try_advisory_xact_lock(${indexingLock})`,
    )
    // With parameters, the transaction would keep a snapshot, and creating an index waits for all older snapshots.
    const { rows: missing } = await locker.query<{ name: string }>(
      `select name from unnest('{${[...wanted.keys()]}}'::text[]) as name
       where not exists (select from pg_index where indexrelid = to_regclass(name) and indisvalid)`,
    )
    for (const { schema } of missing.length > 0 ? extensions : []) {
      await withClient(url, async (maker) => {
        for (const { name } of missing) {
          await maker.query(`drop index concurrently if exists ${name}`)
          await maker.query(`create index concurrently ${name} on ${wanted.get(name)?.(schema)}`)
        }
      })
    }
    await locker.query('commit')
  })
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...parseSettings(url), ...unlimited })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Returns the name, the table and the expression of an index for each searched text, and for the letters of all texts.
 * Migrations that change a text drop its indexes.
 */
function defineIndexes([table, { searched }]: [string, Resource]): [name: string, on: (schema: string) => string][] {
  const texts = Object.entries(searched)
  if (texts.length === 0) return []
  return [
    ...texts.map(([name, text], at): [string, (schema: string) => string] => [
      at === 0 ? `${table}_by_text` : `${table}_by_${name}_text`,
      (schema) => `${table} using gin ((${text}) ${schema}.gin_trgm_ops)`,
    ]),
    [`${table}_by_letters`, () => `${table} using gin (${letters(Object.values(searched))})`],
  ]
}
