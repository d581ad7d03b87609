import { type DatabaseTrouble, databaseUnavailable, ForeignKeyViolation, UniqueViolation } from '../../errors.ts'

/** The primary result codes of SQLite that this program tells apart. */
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

/** All of them say "the database cannot do this now", not "the program is wrong". */
const unavailable: ReadonlySet<number> = new Set(Object.values(resultCodes))

/**
 * A write that the system refused: over a quota or a limit on the size of files (extended code, SQLITE_IOERR_WRITE).
 */
const writeRefused = 778

/** A value that must be unique was taken (extended code, SQLITE_CONSTRAINT_UNIQUE). */
const notUnique = 2067

/**
 * The domain's words for an engine error: `database_unavailable`, `ForeignKeyViolation` or `UniqueViolation` where that is what it means,
 * else the error itself.
 */
export function translated(error: unknown): unknown {
  // The extended code does not tell: it is another where the constraint says `on delete restrict`.
  if (error instanceof Error && error.message === 'FOREIGN KEY constraint failed') {
    return new ForeignKeyViolation(null, error)
  }
  if (extendedCode(error) === notUnique) return new UniqueViolation(error)
  return unavailable.has(resultCode(error)) ? databaseUnavailable(error, reasonOf(error)) : error
}

/** What an error says of the database file or its disk; undefined when it is about neither. */
export function reasonOf(error: unknown): DatabaseTrouble | undefined {
  const code = resultCode(error)
  if (code === resultCodes.corrupt || code === resultCodes.notADatabase) return 'database_corrupt'
  return code === resultCodes.full || extendedCode(error) === writeRefused ? 'disk_full' : undefined
}

/** Whether another connection holds the write lock. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** The primary result code of an error of SQLite; 0 for any other error. */
export function resultCode(error: unknown): number {
  return extendedCode(error) & 0xff
}

function extendedCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
}
