/** Small country databases, and files with them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AddressRange, encodeDatabase, encodeMap, encodeText } from '../scripts/mmdb.ts'
import { type Bench, newFolder } from './processes.ts'

/** A database of IPv4. */
export function databaseOf(ranges: readonly AddressRange[]): Buffer {
  return encodeDatabase(ranges, { ipVersion: 4, type: 'Test', description: 'Test', builtAt: new Date(0) })
}

/** A database that has the same record for all addresses. */
export function databaseWith(record: Buffer): Buffer {
  return databaseOf([{ first: 0n, last: 2n ** 32n - 1n, record }])
}

/** A database that has the same country for all addresses. */
export function countryDatabase(code: string): Buffer {
  return databaseWith(encodeMap({ country: encodeMap({ iso_code: encodeText(code) }) }))
}

/** A file with these bytes, in its own folder, which is removed after the test. Returns its path. */
export function fileWith(t: Pick<Bench, 'after'>, bytes: Buffer): string {
  const path = join(newFolder(t), 'value.mmdb')
  writeFileSync(path, bytes)
  return path
}
