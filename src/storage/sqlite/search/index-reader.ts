import type { DatabaseSync } from 'node:sqlite'
import type { AnyListing } from '../../listing.ts'
import { query } from '../prepared.ts'
import type { RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import { type IndexedTables, isUnusable, openSearchFile, removeSearchFile } from './index-file.ts'
import { advance, changeLog, type Position, positionOf, stepSize, tidy } from './indexing.ts'
import type { FromReader, ReaderOptions } from './lane.ts'
import { Searches } from './searched-page.ts'

/** How often the index looks for what was written; a search looks for itself what was written in between. */
const pollMs = 100
/** How often what is indexed is made durable. */
const checkpointMs = 2_000
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
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #reported = new Set<string>()
  #open: OpenIndex | undefined
  #next: NodeJS.Immediate | undefined
  #isUntidy = true
  #durable = 0
  #discardedAt = Number.NEGATIVE_INFINITY

  constructor({ databasePath, tables }: ReaderOptions, say: (message: FromReader) => void) {
    this.#databasePath = databasePath
    this.#tables = tables
    this.#say = say
    this.#timers = [setInterval(() => this.#follow(), pollMs), setInterval(() => this.#checkpoint(), checkpointMs)]
    this.#follow()
  }

  /** Null when the index is too far behind, when it cannot be used, or when the page takes a scan. */
  answer(listing: AnyListing): RawPage | null {
    return this.#attempt((index) => this.#answerFrom(index, listing)) ?? null
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    clearImmediate(this.#next)
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

  /** Brings the index to the present, in steps between which questions are answered. Then it has time to be tidied. */
  #follow(): void {
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      const isBehind = this.#attempt(({ db }) => {
        if (positionOf(db).lag === 0) {
          this.#isUntidy &&= tidy(db, this.#tables)
          return false
        }
        this.#isUntidy = true
        return transact(db, 'immediate', () => advance(db, this.#tables).lag > 0)
      })
      if (isBehind) this.#follow()
    })
  }

  #checkpoint(): void {
    this.#attempt(({ db }) => {
      const seq = positionOf(db).last[changeLog] as number
      if (seq === this.#durable) return
      const [[busy, inLog, copied] = []] = query(db, 'pragma main.wal_checkpoint(passive)')
      if (busy !== 0 || inLog !== copied) return
      this.#durable = seq
      this.#say({ kind: 'indexed', seq })
    })
  }
}
