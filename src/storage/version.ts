/** A record and its version, which differs after every change. */
export interface Versioned<Row> {
  readonly record: Row
  readonly version: string
}

/** The revision of an unchanged record. */
export const firstRevision = 1

/** A condition for a change of a record. */
export interface Precondition {
  /** Gets the current version, in the transaction that is about to change it. Throws `precondition_failed`. */
  check(version: string): void
}

/**
 * Returns the version of a record, for entity tags. The revision distinguishes changes within a millisecond. The time
 * distinguishes the changes of a restored database, which counts the same revisions again.
 */
export function versionOf(revision: number, updatedAt: string): string {
  return `${revision}-${updatedAt}`
}
