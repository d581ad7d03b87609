import type { DatabaseSync } from 'node:sqlite'
import { query } from '../prepared.ts'
import type { AnyListing, RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import { isUnusable, openSearchFile, removeSearchFile } from './index-file.ts'
import { advance, positionOf, stepSize, tidy } from './indexing.ts'
import type { FromReader } from './messages.ts'
import { SearchMemory, searchedPage } from './searched-page.ts'

/** How often the index looks for what other processes wrote. */
const pollMs = 2_000
/** How long an index is kept at least, however unusable it seems; doubled each time. */
const shortestLifeMs = 4_000
const longestLifeMs = 600_000

interface OpenIndex {
  readonly db: DatabaseSync
  readonly memory: SearchMemory
}

/**
 * Keeps the search index near the present and answers from it. Whatever is wrong with the index, the answer is left to
 * the other lane, and the index is tried again at the next question or poll.
 */
export class IndexReader {
  readonly #databasePath: string
  readonly #say: (message: FromReader) => void
  readonly #poll: NodeJS.Timeout
  readonly #reported = new Set<string>()
  #open: OpenIndex | undefined
  #next: NodeJS.Immediate | undefined
  #resting: NodeJS.Timeout | undefined
  #forgettable = 0
  #keptUntil = 0
  #lifeMs = shortestLifeMs

  constructor(databasePath: string, say: (message: FromReader) => void) {
    this.#databasePath = databasePath
    this.#say = say
    this.#poll = setInterval(() => {
      this.changed()
      this.#rest()
    }, pollMs)
    this.changed()
  }

  /** Null when the index is too far behind, when it cannot be used, or when the page takes a long walk. */
  answer(listing: AnyListing): RawPage | null {
    return this.#attempt((index) => answerFrom(index, listing)) ?? null
  }

  /** Brings the index to the present, in steps between which questions are answered. */
  changed(): void {
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      const isBehind = this.#attempt(({ db }) => transact(db, 'immediate', () => advance(db).lag > 0))
      if (isBehind) this.changed()
    })
  }

  close(): void {
    clearInterval(this.#poll)
    clearImmediate(this.#next)
    clearTimeout(this.#resting)
    this.#open?.db.close()
  }

  #attempt<T>(work: (index: OpenIndex) => T): T | undefined {
    try {
      this.#open ??= { db: openSearchFile(this.#databasePath), memory: new SearchMemory() }
      return work(this.#open)
    } catch (error) {
      this.#report(error)
      if (isUnusable(error)) this.#discard()
      return undefined
    }
  }

  /** Unless this was done just now: where the database itself is damaged, a new index is no better than the last. */
  #discard(): void {
    const now = performance.now()
    if (now < this.#keptUntil) return
    this.#keptUntil = now + this.#lifeMs
    this.#lifeMs = Math.min(this.#lifeMs * 2, longestLifeMs)
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
   * While the index is at the present: tidies it, in steps between which questions are answered. There is no hurry, and
   * on a small machine whatever else runs needs the processor more: it has two thirds of the time.
   */
  #rest(afterMs = 0): void {
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      const start = performance.now()
      const isUntidy = this.#attempt(({ db }) => {
        const { position, lag } = positionOf(db)
        this.#tellWhatIsDurable(db, position.changes)
        return lag === 0 && tidy(db)
      })
      if (isUntidy) this.#rest(2 * (performance.now() - start))
    }, afterMs)
  }

  #tellWhatIsDurable(db: DatabaseSync, seq: number): void {
    if (seq === this.#forgettable) return
    const [[busy, inLog, copied] = []] = query(db, 'pragma main.wal_checkpoint(passive)')
    if (busy !== 0 || inLog !== copied) return
    this.#forgettable = seq
    this.#say({ kind: 'indexed', seq })
  }
}

function answerFrom({ db, memory }: OpenIndex, listing: AnyListing): RawPage | null {
  const found = transact(db, 'deferred', () => {
    const { position, lag } = positionOf(db)
    if (lag > 0) return { lag }
    return { page: searchedPage(db, memory, listing, position) }
  })
  if ('page' in found) return found.page
  if (found.lag > stepSize) return null
  return transact(db, 'immediate', () => {
    const { position, lag } = advance(db)
    return lag === 0 ? searchedPage(db, memory, listing, position) : null
  })
}
