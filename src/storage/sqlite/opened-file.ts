import { rmSync, type Stats, statSync } from 'node:fs'
import { databaseUnavailable } from '../../errors.ts'
import { refuseFolder } from '../../lib/whole-file.ts'

/** Detects that an open database file was deleted or replaced. SQLite would keep writing to it, and lose the data at the end. */
export class OpenedFile {
  readonly #path: string
  readonly #opened: Stats

  constructor(path: string) {
    this.#path = path
    this.#opened = statSync(path)
  }

  /** Throws `database_unavailable` if the path has another file, or none. */
  check(): void {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    if (now?.ino === this.#opened.ino && now.dev === this.#opened.dev) return
    throw databaseUnavailable(new Error(`The database file ${this.#path} has been removed or replaced.`))
  }
}

/** Throws `StartupFailure` if the path of the database is a folder. */
export function refuseDatabaseFolder(path: string): void {
  refuseFolder(path, 'Point DATABASE_URL at a file in it.', 'The database')
}

/** Deletes the auxiliary files of a database, which SQLite leaves behind after an error. */
export function removeAuxiliaryFiles(path: string): void {
  for (const suffix of ['-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
