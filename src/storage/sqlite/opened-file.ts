import { rmSync, type Stats, statSync } from 'node:fs'
import { databaseUnavailable } from '../../errors.ts'
import { refuseFolder } from '../../lib/whole-file.ts'

/**
 * The file that is at a path when this object is made. SQLite goes on with a file that was deleted, and loses what it
 * writes when it closes.
 */
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

/** Throws `StartupFailure` when there is a folder at the path of the database. */
export function refuseDatabaseFolder(path: string): void {
  refuseFolder(path, 'Point DATABASE_URL at a file in it.', 'The database')
}

/** Removes the files that SQLite makes beside a database and leaves there after an error. */
export function removeBeside(path: string): void {
  for (const suffix of ['-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
