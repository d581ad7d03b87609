import type { DatabaseSync } from 'node:sqlite'
import { query } from '../prepared.ts'
import type { AnyListing, RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import { type IndexedTables, isUnusable, openSearchFile, removeSearchFile } from './index-file.ts'
import { advance, changeLog, type Position, positionOf, stepSize, tidy } from './indexing.ts'
import type { FromReader, ReaderOptions } from './messages.ts'
import { Searches } from './searched-page.ts'

/** How often the index looks for what other processes wrote, and is tidied. */
const pollMs = 2_000
/** An index is not rebuilt more often than this, however unusable it seems: the database itself may be damaged. */
const rebuildMs = 60_000

interface OpenIndex {
  readonly db: DatabaseSync
  readonly searches: Searches
}

/**
 * Keeps the search index near the present and answers from it. Whatever is wrong with the index, the answer is left to
 * the other lane, and the index is tried again at the next question or poll.
 */
export class IndexReader {
  readonly #databasePath: string
  readonly #tables: IndexedTables
  readonly #say: (message: FromReader) => void
  readonly #poll: NodeJS.Timeout
  readonly #reported = new Set<string>()
  #open: OpenIndex | undefined
  #next: NodeJS.Immediate | undefined
  #tidying: NodeJS.Timeout | undefined
  #durable = 0
  #discardedAt = Number.NEGATIVE_INFINITY

  constructor({ databasePath, tables }: ReaderOptions, say: (message: FromReader) => void) {
    this.#databasePath = databasePath
    this.#tables = tables
    this.#say = say
    this.#poll = setInterval(() => {
      this.changed()
      this.#tidy()
    }, pollMs)
    this.changed()
  }

  /** Null when the index is too far behind, when it cannot be used, or when the page takes a scan. */
  answer(listing: AnyListing): RawPage | null {
    return this.#attempt((index) => this.#answerFrom(index, listing)) ?? null
  }

  /** Brings the index to the present, in steps between which questions are answered. */
  changed(): void {
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      const isBehind = this.#attempt(({ db }) => transact(db, 'immediate', () => advance(db, this.#tables).lag > 0))
      if (isBehind) this.changed()
    })
  }

  close(): void {
    clearInterval(this.#poll)
    clearImmediate(this.#next)
    clearTimeout(this.#tidying)
    this.#open?.db.close()
  }

  #answerFrom({ db, searches }: OpenIndex, listing: AnyListing): RawPage | null {
    const page = (position: Position) => (position.lag > 0 ? null : searches.page(db, listing, position))
    const found = transact(db, 'deferred', () => {
      const position = positionOf(db)
      return { lag: position.lag, page: page(position) }
    })
    if (found.lag === 0 || found.lag > stepSize) return found.page
    return transact(db, 'immediate', () => page(advance(db, this.#tables)))
  }

  #attempt<T>(work: (index: OpenIndex) => T): T | undefined {
    try {
      this.#open ??= { db: openSearchFile(this.#databasePath, this.#tables), searches: new Searches() }
      return work(this.#open)
    } catch (error) {
      this.#report(error)
      if (isUnusable(error)) this.#discard()
      return undefined
    }
  }

  #discard(): void {
    const now = performance.now()
    if (now < this.#discardedAt + rebuildMs) return
    this.#discardedAt = now
    this.#open?.db.close()
    this.#open = undefined
    try {
      removeSearchFile(this.#databasePath)
    } catch (error) {
      this.#report(error)
    }
  }

  #report(error: unknown): void {
    const problem = String(error)
    if (this.#reported.has(problem)) return
    this.#reported.add(problem)
    this.#say({ kind: 'problem', error })
  }

  /**
   * While the index is at the present: merges its segments, in steps between which questions are answered. This can
   * wait, so it takes a third of the time at most.
   */
  #tidy(afterMs = 0): void {
    this.#tidying ??= setTimeout(() => {
      this.#tidying = undefined
      const start = performance.now()
      const isUntidy = this.#attempt(({ db }) => {
        const { last, lag } = positionOf(db)
        this.#tellWhatIsDurable(db, last[changeLog] as number)
        return lag === 0 && tidy(db, this.#tables)
      })
      if (isUntidy) this.#tidy(2 * (performance.now() - start))
    }, afterMs)
  }

  #tellWhatIsDurable(db: DatabaseSync, seq: number): void {
    if (seq === this.#durable) return
    const [[busy, inLog, copied] = []] = query(db, 'pragma main.wal_checkpoint(passive)')
    if (busy !== 0 || inLog !== copied) return
    this.#durable = seq
    this.#say({ kind: 'indexed', seq })
  }
}
