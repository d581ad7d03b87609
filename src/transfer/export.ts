import { domainsAfter } from '../domains/store.ts'
import { spacesAfter } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { formatVersion, lineOf } from './format.ts'
import { databaseId } from './store.ts'

/** Records that are read, and kept in memory, at once. */
const pageSize = 500

/**
 * The account's domains, then its spaces, each in the order of their ids, as texts of many lines. What is stored, changed or
 * deleted meanwhile is in it or not, record by record.
 */
export async function* exported(db: Db, account: number): AsyncGenerator<string> {
  const totals = { domains: 0, spaces: 0 }
  const exported_at = new Date().toISOString()
  yield lineOf.header({ waymark_export: formatVersion, source: await databaseId(db), account, exported_at })
  for await (const domains of pages((after) => domainsAfter(db, account, after, pageSize))) {
    totals.domains += domains.length
    yield domains.map(lineOf.domain).join('')
  }
  for await (const spaces of pages((after) => spacesAfter(db, account, after, pageSize))) {
    totals.spaces += spaces.length
    yield spaces.map(lineOf.space).join('')
  }
  yield lineOf.end(totals)
}

async function* pages<Row extends { id: number }>(read: (after: number) => Promise<Row[]>): AsyncGenerator<Row[]> {
  let page = await read(0)
  while (page.length > 0) {
    yield page
    page = await read(page.at(-1)?.id ?? 0)
  }
}
