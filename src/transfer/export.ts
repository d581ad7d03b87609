import { databaseId } from '../instance/store.ts'
import type { Db } from '../storage/port.ts'
import { formatVersion, lineOf, type Totals } from './format.ts'
import type { Detail, Members, Transferable } from './transferable.ts'

/** Records per query. */
const pageSize = 500

/**
 * Yields the lines of all records of the account, by kind and id. Returns the totals. Changes during the
 * export may or may not be included.
 */
export async function* exportRecords(
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
