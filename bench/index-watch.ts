import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 20

/** Watches how many records of a database its search index lacks, from outside of the process that indexes them. */
export class IndexWatch {
  readonly #db: DatabaseSync

  /** `path` is a database that has been migrated. */
  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true })
  }

  /** Resolves once the index has every record. Throws after `patienceMs`, which is time without any progress. */
  async caughtUp(patienceMs = 30_000, onLag: (lag: number) => void = () => undefined): Promise<void> {
    const count = this.#db.prepare('select count(*) as lag from search_changes')
    let least = Number.POSITIVE_INFINITY
    let since = performance.now()
    for (;;) {
      const lag = Number(count.get()?.lag)
      if (lag === 0) return
      onLag(lag)
      if (lag < least) since = performance.now()
      least = Math.min(least, lag)
      if (performance.now() - since > patienceMs) throw new Error(`The search index still lacks ${lag} records.`)
      await sleep(pollMs)
    }
  }

  close(): void {
    this.#db.close()
  }
}
