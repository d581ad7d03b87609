import { setTimeout as sleep } from 'node:timers/promises'
import { resources } from '../src/resources.ts'
import { openSearchFile } from '../src/storage/sqlite/search/index-file.ts'
import { positionOf, tidy } from '../src/storage/sqlite/search/indexing.ts'

const pollMs = 20

/** Watches how far the search index of a database is behind it, from outside of the process that keeps it. */
export class IndexWatch {
  readonly #db: ReturnType<typeof openSearchFile>

  /** `path` is a database that has been migrated. */
  constructor(path: string) {
    this.#db = openSearchFile(path)
  }

  /** Resolves once the index holds everything. Throws after `patienceMs`, which is time without any progress. */
  async caughtUp(patienceMs = 30_000, onLag: (lag: number) => void = () => undefined): Promise<void> {
    let least = Number.POSITIVE_INFINITY
    let since = performance.now()
    for (;;) {
      const { lag } = positionOf(this.#db)
      if (lag === 0) return
      onLag(lag)
      if (lag < least) since = performance.now()
      least = Math.min(least, lag)
      if (performance.now() - since > patienceMs) throw new Error(`The search index stays ${lag} records behind.`)
      await sleep(pollMs)
    }
  }

  /**
   * Puts the index in order, which takes a server minutes beside its other work and would be measured with it. For a
   * database that no server has open.
   */
  tidy(): void {
    let mayBeMore = true
    while (mayBeMore) mayBeMore = tidy(this.#db, resources)
  }

  close(): void {
    this.#db.close()
  }
}
