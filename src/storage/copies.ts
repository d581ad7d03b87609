export interface BackupOptions {
  /** Whether a file of that name may be replaced. */
  readonly mayReplace: boolean
  /** Hears how much is done, in units of the engine's choice. */
  readonly onProgress: (done: number, total: number) => void
}

export interface Restored {
  /** Where the database that was there before is kept; null when there was none. */
  readonly replaced: string | null
}

/** Whole copies of a database as a file, by the means of its engine. Both throw `UseOwnTool` where the engine has better. */
export interface Copies {
  /**
   * Writes a consistent copy of the database, in use or not, and checks it. It is as the database was at one moment, and
   * has its name once it is whole and on the disk. Throws `StartupFailure`.
   */
  backUp(file: string, options: BackupOptions): Promise<void>
  /**
   * Puts a backup in the place of the database, once it has been checked. Throws `StartupFailure` when the file is no
   * good or the database is in use, and leaves everything as it was. `isStopped`: the operator vouches that no server
   * runs, which cannot be seen when the database is damaged.
   */
  restore(file: string, isStopped: boolean): Promise<Restored>
  /** Whether a file is the database itself, by whatever name. */
  isItself(file: string): boolean
}
