import type { Kysely } from 'kysely'
import type { Db, Listing, Meter, Page, Storage } from '../port.ts'
import { type Statement, statement } from '../statement.ts'
import { Connection, openDatabase } from './connection.ts'
import { GroupCommit } from './group-commit.ts'
import { listOn } from './lists.ts'
import { OpenedFile } from './opened-file.ts'
import { Readers } from './search/readers.ts'
import { TurnReader } from './turn-reader.ts'

interface InternalTables {
  instance: { database_id: string }
  search_changes: { seq: number }
}

/**
 * The embedded engine. Two connections on the event loop: one only reads, and so cannot see what is not committed;
 * one writes, many transactions to a commit. Searches and scans run on threads of their own.
 */
export class SqliteStorage implements Storage {
  readonly #file: OpenedFile
  readonly #reader: TurnReader
  readonly #writer: Connection
  readonly #commits: GroupCommit
  readonly #readers: Readers
  #onProblem: (error: unknown) => void = () => undefined
  #closed: Promise<void> | undefined

  /** `path` is a file that has been migrated. */
  constructor(path: string) {
    // First the one that does not wait for locks: when it throws, nothing is left open.
    this.#writer = new Connection(openDatabase(path, 0, writerPragmas))
    this.#reader = new TurnReader(path)
    this.#file = new OpenedFile(path)
    this.#readers = new Readers(path, {
      onIndexed: (seq) => void this.#prune(seq),
      onProblem: (error) => this.#onProblem(error),
    })
    const transaction = new SqliteTransaction(this.#writer, this.#readers)
    this.#commits = new GroupCommit(this.#writer, transaction)
  }

  all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.#reader.read((connection) => connection.all(statement, params))
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  writeOne<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.#commits.writeOne(() => this.#writer.all(statement, params))
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    return listOn((work) => this.#reader.read((connection) => connection.run(work)), this.#readers, listing)
  }

  start(onProblem: (error: unknown) => void): void {
    this.#onProblem = onProblem
    this.#readers.start()
  }

  async ping(): Promise<void> {
    this.#file.check()
    await this.all(anything, {})
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

  /** Forgets the changes that the search index holds by now. A failure is no loss: the next one prunes more. */
  async #prune(seq: number): Promise<void> {
    let gone = prunedAtOnce
    while (gone === prunedAtOnce && this.#closed === undefined) {
      gone = await this.#commits
        .write((db) => db.all(pruned, { seq }))
        .then(
          ({ length }) => length,
          () => 0,
        )
    }
  }
}

/** A transaction is a database too, one that reads its own writes. */
class SqliteTransaction implements Db {
  readonly #connection: Connection
  readonly #readers: Readers

  constructor(connection: Connection, readers: Readers) {
    this.#connection = connection
    this.#readers = readers
  }

  async all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.#connection.all(statement, params)
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return work(this)
  }

  writeOne<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.all(statement, params)
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    return listOn((work) => this.#connection.run(work), this.#readers, listing)
  }
}

/**
 * The cache holds the index pages that random names touch at a million records. The WAL is copied back every 16 MB,
 * since a page that was changed many times is then copied once, and is cut afterwards. While readers overlap without a
 * gap it cannot be begun anew, and grows.
 */
const writerPragmas =
  'pragma cache_size = -12000; pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 33554432'

const anything = statement((db: Kysely<InternalTables>) => db.selectFrom('instance').select('database_id'))

/** So few that no request waits for it. */
const prunedAtOnce = 200

const pruned = statement((db: Kysely<InternalTables>, { seq }: { seq: number }) =>
  db
    .deleteFrom('search_changes')
    .where('seq', 'in', (changes) =>
      changes.selectFrom('search_changes').select('seq').where('seq', '<=', seq).orderBy('seq').limit(prunedAtOnce),
    )
    .returning('seq'),
)
