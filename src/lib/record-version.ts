/** Versions of records. An entity tag quotes the version, and conditions of changes compare its editable part. */

/** Adds the state of fields that cannot be edited, such as clicks, to a version. `shown` must not contain a tilde. */
export function shownVersion(version: string, shown: string): string {
  return `${version}~${shown}`
}

/** Returns the part of a version that changes only when a person changes the record. */
export function editableVersionIn(version: string): string {
  return version.split('~', 1)[0] as string
}
