import { type DatabaseTrouble, databaseUnavailable, ForeignKeyViolation, UniqueViolation } from '../../errors.ts'

/** Primary result codes of SQLite that mean that the database is unavailable, not that the program is wrong. */
export const resultCodes = {
  permission: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  noLargeFiles: 22,
  notADatabase: 26,
} as const

const unavailable: ReadonlySet<number> = new Set(Object.values(resultCodes))

/** SQLITE_IOERR_WRITE: the system rejected a write, because of a quota or a file size limit. */
const writeError = 778
/** SQLITE_CONSTRAINT_UNIQUE. */
const notUnique = 2067

/** Converts an engine error to `database_unavailable`, `ForeignKeyViolation` or `UniqueViolation`, or returns it unchanged. */
export function translated(error: unknown): unknown {
  // The extended code is a different one for `on delete restrict`.
  if (error instanceof Error && error.message === 'FOREIGN KEY constraint failed') {
    return new ForeignKeyViolation(null, error)
  }
  if (extendedCode(error) === notUnique) return new UniqueViolation(error)
  return unavailable.has(resultCode(error)) ? databaseUnavailable(error, reasonOf(error)) : error
}

/** Returns what is wrong with the database file or its disk; undefined if the error is about something else. */
export function reasonOf(error: unknown): DatabaseTrouble | undefined {
  const code = resultCode(error)
  if (code === resultCodes.corrupt || code === resultCodes.notADatabase) return 'database_corrupt'
  return code === resultCodes.full || extendedCode(error) === writeError ? 'disk_full' : undefined
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** Returns the primary result code of an SQLite error; 0 for other errors. */
export function resultCode(error: unknown): number {
  return extendedCode(error) & 0xff
}

function extendedCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
}
