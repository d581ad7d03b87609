/**
 * How one instance of Waymark, all of its nodes, tells itself from every other one over HTTP.
 */
import { createHash } from 'node:crypto'

/** The path, on any domain of the instance, at which it gives its fingerprint to visitors. */
export const fingerprintPath = '.well-known/waymark'

/** The fingerprint of the instance whose database has this id, which it does not reveal: 22 characters of base64url. */
export function fingerprintOf(databaseId: string): string {
  return createHash('sha256').update(`waymark instance ${databaseId}`).digest('base64url').slice(0, 22)
}
