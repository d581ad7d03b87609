/**
 * Versions of records: what tells one state of a record from every other that it had or will have.
 */

/** A record and its version, which is another one after every change. */
export interface Versioned<Row> {
  readonly record: Row
  readonly version: string
}

/** That of a record which has not been changed. */
export const firstRevision = 1

/** What must be true of a record before it is changed. */
export interface Precondition {
  /** Gets the present version, in the transaction that is about to change it. Throws `precondition_failed`. */
  check(version: string): void
}

/**
 * The version of a record, for entity tags. The count of changes tells apart two changes within a millisecond; the time
 * tells apart the changes of a database that was restored from a backup and counts the same numbers again.
 */
export function versionOf(revision: number, updatedAt: string): string {
  return `${revision}-${updatedAt}`
}
