import { DatabaseSync } from 'node:sqlite'

/** Frames that the log may hold before they are copied into the database: 4 MB. */
const copiedFrames = 1_000
/** Frames from which on the log is begun anew: 64 MB. */
export const mostFrames = 16_000
/** How long beginning anew waits for those who read. Writers wait as long: with a timer, not on their event loop. */
const longestWaitMs = 250

type Mode = 'noop' | 'passive' | 'truncate'

/**
 * Copies what the write-ahead log holds into the database, so that no commit has to, and begins the log anew when it
 * has grown long: under steady reading the engine itself never finds a moment for that, and the log grows for ever.
 */
export class WalKeeper {
  readonly #db: DatabaseSync

  /** `databasePath` is a file that has been migrated. */
  constructor(databasePath: string) {
    this.#db = new DatabaseSync(databasePath, { timeout: longestWaitMs })
    // Not even of what this copies may the disk forget a part.
    this.#db.exec('pragma synchronous = full')
  }

  /** To be called now and then. Never throws: what cannot be copied now stays in the log, where it is safe. */
  tend(): void {
    try {
      if (this.#checkpoint('noop').pending < copiedFrames) return
      if (this.#checkpoint('passive').frames >= mostFrames) this.#checkpoint('truncate')
    } catch {
      // Those who read and write meet what is wrong with the disk, and say it.
    }
  }

  close(): void {
    this.#db.close()
  }

  #checkpoint(mode: Mode): { frames: number; pending: number } {
    const row = this.#db.prepare(`pragma wal_checkpoint(${mode})`).get()
    const frames = Number(row?.log)
    return { frames, pending: frames - Number(row?.checkpointed) }
  }
}
