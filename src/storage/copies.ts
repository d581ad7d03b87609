/** Hears how far a step has come: a share from 0 to 1. */
export type OnProgress = (step: 'copied' | 'checked', share: number) => void

export interface BackupOptions {
  /** Whether the backup may replace a file of that name. */
  readonly mayReplace: boolean
  readonly onProgress: OnProgress
}

export interface RestoreOptions {
  /** The operator vouches that no server runs; a damaged database cannot tell. */
  readonly isStopped: boolean
  readonly onProgress: OnProgress
}

export interface Restored {
  /** Where the previous database is kept; null when there was none. */
  readonly replaced: string | null
  /** Whether the backup had a checksum, which was right. Backups of older versions have none. */
  readonly isVerified: boolean
}

/**
 * Whole copies of a database as a file, by the means of its engine. `backUp` and `restore` throw `UseOwnTool` where the
 * engine has better.
 */
export interface Copies {
  /**
   * Writes a consistent copy of the database, in use or not, and checks it. The copy is the database of one moment,
   * ends with a checksum, and gets its name once it is complete and on the disk. Throws `StartupFailure`.
   */
  backUp(file: string, options: BackupOptions): Promise<void>
  /**
   * Replaces the database with a backup, after checking it. Throws `StartupFailure` when the backup is unusable or the
   * database is in use, and then changes nothing.
   */
  restore(file: string, options: RestoreOptions): Promise<Restored>
  /** Whether a file is the database itself, under any name. */
  isItself(file: string): boolean
}
