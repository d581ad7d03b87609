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

/** Returns the version for entity tags. The time distinguishes revisions of a restored database. */
export function versionOf(revision: number, updatedAt: string): string {
  return `${revision}-${updatedAt}`
}
