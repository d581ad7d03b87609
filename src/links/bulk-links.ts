/** The links of bulk actions, and their figures. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { type Db, type PageRequest, parts, type Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { linkBatches } from './export.ts'
import { maxBulkLinks } from './link.ts'
import type { LinkRow } from './schema.ts'

/** Links that one query reads. */
const batchSize = 256

/**
 * Returns the ids of the account's links that match a list, on all of its pages, in ascending order. Returns null if there
 * are more than `maxBulkLinks`.
 */
export async function matchingLinks(
  storage: Storage,
  account: number,
  list: PageRequest,
): Promise<readonly number[] | null> {
  const ids: number[] = []
  // Without pauses, because a person waits for the response.
  for await (const rows of linkBatches(storage, account, { ...list, direction: 'asc' }, 0)) {
    ids.push(...rows.map(({ id }) => id))
    if (ids.length > maxBulkLinks) return null
  }
  return ids
}

export interface BulkLink extends Pick<LinkRow, 'id' | 'alias' | 'url' | 'domain_id'> {
  readonly domain_name: string
  readonly clicks: number
  /** In the last 30 days. */
  readonly recentClicks: number
}

/** Finds the account's links with these ids, in their order. */
export async function findBulkLinks(db: Db, account: number, ids: readonly number[]): Promise<BulkLink[]> {
  const found: BulkLink[] = []
  for (const some of parts(ids, batchSize)) {
    await nextTick()
    const rows = await db.execute(
      query
        .selectFrom('links')
        .innerJoin('domains', 'domains.id', 'links.domain_id')
        .innerJoin('link_clicks', 'link_clicks.link_id', 'links.id')
        .select(['links.id', 'alias', 'url', 'clicks', 'clicks_30d as recentClicks'])
        .select(['links.domain_id', 'domains.name as domain_name'])
        .where('links.id', 'in', some)
        .where('links.account_id', '=', account)
        .where('domains.account_id', '=', account),
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    found.push(...some.flatMap((id) => byId.get(id) ?? []))
  }
  return found
}
