import type { Db } from '../storage/port.ts'
import { formatVersion, lineOf, type Totals } from './format.ts'
import { databaseId } from './store.ts'
import type { Transferable } from './transferable.ts'

/** Records that are read, and kept in memory, at once. */
const pageSize = 500

/**
 * The account's records, kind by kind and in the order of their ids, as texts of many lines. Returns how many there were.
 * A record that is stored, changed or deleted meanwhile may or may not be included.
 */
export async function* exported(
  db: Db,
  account: number,
  transferables: readonly Transferable[],
): AsyncGenerator<string, Totals> {
  const totals: Record<string, number> = {}
  const exported_at = new Date().toISOString()
  yield lineOf({ waymark_export: formatVersion, source: await databaseId(db), account, exported_at })
  for (const { plural, singular, after } of transferables) {
    let count = 0
    let page = await after(db, account, 0, pageSize)
    while (page.length > 0) {
      count += page.length
      yield page.map((line) => lineOf({ [singular]: line })).join('')
      page = await after(db, account, page.at(-1)?.id ?? 0, pageSize)
    }
    totals[plural] = count
  }
  yield lineOf({ end: totals })
  return totals
}
