/** Fingerprints distinguish instances of Waymark over HTTP. All nodes of an instance have the same one. */
import { createHash } from 'node:crypto'

/** The path of the fingerprint on every domain of the instance. */
export const fingerprintPath = '.well-known/waymark'

/** Returns the fingerprint for a database id: 22 base64url characters that do not reveal the id. */
export function fingerprintOf(databaseId: string): string {
  return createHash('sha256').update(`waymark instance ${databaseId}`).digest('base64url').slice(0, 22)
}
