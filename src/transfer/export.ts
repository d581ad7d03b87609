/** Exports are JSON Lines: a header, a line for each record with its API fields, and a last line with totals. */
import type { TimeZones } from '../accounts/time-zones.ts'
import { databaseId } from '../instance/store.ts'
import type { Db } from '../storage/port.ts'
import type { Detail, Members, Transferable } from './transferable.ts'

/** Increase this if older versions would misread a file. */
export const formatVersion = 1

/** Counts of records by plural name. */
export type RecordCounts = Readonly<Record<string, number>>

/** Settings of the account in the header of a complete export. */
interface Settings {
  readonly time_zones?: TimeZones
}

/** Records per query. */
const pageSize = 500

/** Yields the account's records as lines, by kind and id. Returns the totals. Concurrent changes may be missing. */
export async function* exportRecords(
  db: Db,
  account: number,
  transferables: readonly (Transferable | Detail)[],
  settings: Settings = {},
): AsyncGenerator<string, RecordCounts> {
  const totals: Record<string, number> = {}
  const last: Record<string, number> = {}
  const exported_at = new Date().toISOString()
  yield formatLine({ waymark_export: formatVersion, source: await databaseId(db), account, exported_at, ...settings })
  for (const kind of transferables) {
    const { plural, singular } = kind
    totals[plural] = 0
    for await (const page of 'after' in kind ? pagesOf(db, account, kind, last) : kind.pages(db, account, last)) {
      totals[plural] += page.length
      yield page.map((line) => formatLine({ [singular]: line })).join('')
    }
  }
  yield formatLine({ end: totals })
  return totals
}

/** Yields the records of one kind. Stores the last id in `last`. */
async function* pagesOf(
  db: Db,
  account: number,
  { plural, after }: Transferable,
  last: Record<string, number>,
): AsyncGenerator<readonly Members[]> {
  last[plural] = 0
  for (;;) {
    const page = await after(db, account, last[plural], pageSize)
    if (page.length === 0) return
    last[plural] = page.at(-1)?.id ?? 0
    yield page
  }
}

/** Formats a line. */
function formatLine(members: object): string {
  return `${JSON.stringify(members)}\n`
}
