import { rmSync, type Stats, statSync } from 'node:fs'
import { databaseUnavailable } from '../../errors.ts'

/** The file that is at a path when this object is made. SQLite goes on with a file that was deleted, and what it writes is lost at the end. */
export class OpenedFile {
  readonly #path: string
  readonly #opened: Stats

  constructor(path: string) {
    this.#path = path
    this.#opened = statSync(path)
  }

  /** Throws `database_unavailable` when the file at the path is another one, or missing. */
  check(): void {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    if (now?.ino === this.#opened.ino && now.dev === this.#opened.dev) return
    throw databaseUnavailable(new Error(`The database file ${this.#path} has been removed or replaced.`))
  }
}

/** Removes the files that SQLite makes beside a database and leaves there after an error. */
export function removeBeside(path: string): void {
  for (const suffix of ['-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
