import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { databaseUnavailable } from '../../errors.ts'
import { resources } from '../../resources.ts'
import { type ChangeRow, changedOnSqlite, prunedBatchSize, prunedOnSqlite, toChanges } from '../changes.ts'
import { Condition } from '../condition.ts'
import { listPage } from '../list.ts'
import type { Cost } from '../list-sources.ts'
import type {
  ChangePosition,
  Changes,
  DatabaseCondition,
  Listing,
  Meter,
  Page,
  Storage,
  StorageLocation,
  Transaction,
  Values,
} from '../port.ts'
import { isRead, type Query, query } from '../schema.ts'
import { BatchReader } from './batch-reader.ts'
import { Connection, openDatabase, type SqlText } from './connection.ts'
import { compiledForSqlite, formatForSqlite, GroupCommit } from './group-commit.ts'
import { Readers } from './readers.ts'
import { SqliteLists } from './search.ts'
import type { IndexedTables } from './search-index.ts'

/** The embedded engine: a connection for reads, another for writes with group commit, and worker threads for searches. */
export class SqliteStorage implements Storage {
  readonly location: StorageLocation
  readonly #path: string
  readonly #fileId: string
  readonly #condition = new Condition()
  readonly #reader: BatchReader
  readonly #writer: Connection
  readonly #commits: GroupCommit
  readonly #readers: Readers
  #onProblem: (error: unknown) => void = () => undefined
  #closed: Promise<void> | undefined

  /** `path` is a migrated file. `tables` are the tables with a search index. */
  constructor(path: string, tables: IndexedTables = resources) {
    this.location = { engine: 'sqlite', path }
    // The writer does not wait for locks, so it is opened first: if it throws, nothing stays open.
    this.#writer = new Connection(openDatabase(path, 0, writerPragmas), this.#condition)
    this.#reader = new BatchReader(path, this.#condition)
    this.#path = path
    this.#fileId = fileId(path)
    this.#readers = new Readers(path, tables, (error) => this.#onProblem(error))
    this.#commits = new GroupCommit(this.#writer)
  }

  async execute<Row>(query: Query<Row>): Promise<Row[]> {
    const compiled = compiledForSqlite(query)
    if (isRead(compiled.query)) return this.#reader.read((connection) => connection.execute<Row>(compiled))
    return this.#commits.writeOne(() => this.#writer.execute<Row>(compiled))
  }

  write<T>(work: (db: Transaction) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    const lists = new SqliteLists((query, cost) => this.#select(formatForSqlite(query), cost, listing.account))
    return listPage(lists, listing)
  }

  scan(account: number, query: Query<unknown>): Promise<Values[]> {
    return this.#select(compiledForSqlite(query), 'scan', account)
  }

  start(onProblem: (error: unknown) => void): void {
    this.#onProblem = onProblem
    try {
      this.#readers.start()
    } catch (error) {
      // The next search starts the thread.
      onProblem(error)
    }
  }

  async condition(): Promise<DatabaseCondition> {
    this.#checkFile()
    await this.execute(anything)
    return this.#condition.check({ isReadOnly: async () => false, tryToWrite: () => this.#tryToWrite() })
  }

  changesAfter(position: ChangePosition | null): Promise<Changes> {
    return this.#reader.read((connection) => {
      // In a deleted file, no more changes would ever appear.
      this.#checkFile()
      const query = { sql: changedOnSqlite, parameters: [position?.seq ?? null] }
      return toChanges(connection.execute<ChangeRow>(query), position)
    })
  }

  async eventHorizon(): Promise<null> {
    return null
  }

  async pruneChanges(position: ChangePosition): Promise<void> {
    const query = { sql: prunedOnSqlite, parameters: [position.seq] }
    const prune = async () => (await this.#commits.writeOne(() => this.#writer.execute(query))).length
    while (this.#closed === undefined && (await prune()) === prunedBatchSize);
  }

  get meters(): readonly Meter[] {
    return [...this.#reader.meters, ...this.#commits.meters, ...this.#readers.meters]
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#readers.close()
    await this.#commits.drained()
    await this.#reader.close()
    this.#writer.database.close()
  }

  /** Writes as many pages as a request, because a failed write leaves free space for some pages in the WAL. */
  async #tryToWrite(): Promise<void> {
    const { bavail, bsize } = statfsSync(dirname(this.#path))
    if (bavail * bsize < enoughRoom) throw databaseUnavailable(new Error('The disk is full.'), 'disk_full')
    // An update that changes nothing would write nothing.
    const writePage = () => this.#writer.run((database) => database.exec('pragma user_version = 0'))
    for (let page = 0; page < trialPages; page++) await this.#commits.writeOne(writePage)
  }

  /** Throws if the file was deleted or replaced. SQLite would keep writing to it, and lose the data at the end. */
  #checkFile(): void {
    if (fileId(this.#path) === this.#fileId) return
    throw databaseUnavailable(new Error(`The database file ${this.#path} was deleted or replaced.`))
  }

  async #select(query: SqlText, cost: Cost, account: number): Promise<Values[]> {
    if (cost === 'page' || cost === 'count')
      return this.#reader.read((connection) => connection.executeForValues(query))
    try {
      return await this.#readers.select(cost, query, account)
    } catch (error) {
      // Errors of worker threads have not passed a connection of this thread.
      throw this.#condition.noted(error)
    }
  }
}

/**
 * The cache has room for the index pages that random names need at a million records. The scan thread checkpoints the
 * write-ahead log. A commit does so only if the log has 16 MB, when that thread is late or has died.
 */
const writerPragmas =
  'pragma cache_size = -12000; pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 33554432'

function fileId(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false })
  return `${file?.dev} ${file?.ino}`
}

const anything = query.selectFrom('instance').select('database_id')

/** More than a request can write. Bytes. */
const enoughRoom = 1_000_000
const trialPages = 16
