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
 * The count of changes tells two within a millisecond apart; the time, those of a database that was put back from a backup
 * and counts the same numbers anew. It stands there as it is kept: putting it shorter would take longer than all the rest.
 */
export function versionOf(revision: number, updatedAt: string): string {
  return `${revision}-${updatedAt}`
}
