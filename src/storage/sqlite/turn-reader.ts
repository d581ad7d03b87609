import type { StatementSync } from 'node:sqlite'
import type { Statement } from '../statement.ts'
import { Connection, openDatabase, translated } from './connection.ts'

/** Reading never waits long: in WAL mode only a recovery after a crash holds readers up. */
const timeoutMs = 1_000

/**
 * The connection that reads on the event loop. It cannot write, and so cannot see what is not committed. The reads of
 * one turn of the event loop share a read transaction, since taking and giving back SQLite's locks costs twice as much
 * as finding a record. A turn sees everything that was acknowledged before its requests arrived: whatever commits in
 * this process must call `refresh`, and a request that knows of another process's commit comes in a later turn.
 */
export class TurnReader extends Connection {
  readonly #begin: StatementSync
  readonly #end: StatementSync
  #isReading = false

  constructor(path: string) {
    super(openDatabase(path, timeoutMs, 'pragma query_only = on; pragma cache_size = -8000'))
    this.#begin = this.database.prepare('begin')
    this.#end = this.database.prepare('commit')
  }

  override all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Row[] {
    this.share()
    return super.all(statement, params)
  }

  /** Lets what is read from now on, until the end of the turn, share a transaction. Throws as `all` does. */
  share(): void {
    if (this.#isReading) return
    try {
      this.#begin.run()
    } catch (error) {
      throw translated(error)
    }
    this.#isReading = true
    setImmediate(() => this.refresh())
  }

  /** What is read from now on sees everything that has been committed. Never throws. */
  refresh(): void {
    if (!this.#isReading) return
    this.#isReading = false
    // Some errors of a read have ended the transaction already.
    if (!this.database.isTransaction) return
    try {
      this.#end.run()
    } catch {
      // After an error of the disk a transaction cannot be committed. Whoever read has been told.
      if (this.database.isTransaction) this.database.exec('rollback')
    }
  }

  close(): void {
    this.refresh()
    this.database.close()
  }
}
