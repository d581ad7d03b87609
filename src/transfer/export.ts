import type { Db } from '../storage/port.ts'
import { formatVersion, lineOf, type Totals } from './format.ts'
import { databaseId } from './store.ts'
import type { Detail, Members, Transferable } from './transferable.ts'

/** Records that are read, and kept in memory, at once. */
const pageSize = 500

/**
 * The account's records and their details, kind by kind and in the order of their ids, as texts of many lines. Returns how
 * many there were. A record that is stored, changed or deleted meanwhile may or may not be included.
 */
export async function* exported(
  db: Db,
  account: number,
  transferables: readonly (Transferable | Detail)[],
): AsyncGenerator<string, Totals> {
  const totals: Record<string, number> = {}
  const last: Record<string, number> = {}
  const exported_at = new Date().toISOString()
  yield lineOf({ waymark_export: formatVersion, source: await databaseId(db), account, exported_at })
  for (const kind of transferables) {
    const { plural, singular } = kind
    totals[plural] = 0
    for await (const page of 'after' in kind ? pagesOf(db, account, kind, last) : kind.pages(db, account, last)) {
      totals[plural] += page.length
      yield page.map((line) => lineOf({ [singular]: line })).join('')
    }
  }
  yield lineOf({ end: totals })
  return totals
}

/** The records of a kind; notes in `last` which the last one was. */
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
