import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** The name of a link in a list. */
export interface LinkName {
  readonly id: number
  readonly alias: string
  readonly domain: string
  readonly title: string | null
  /** False while the domain is deleted but can be restored: the link has no page. */
  readonly hasPage: boolean
}

/** Links that one query reads. */
const batchSize = 100

/** Returns the names of the account's links among these ids, by id. Deleted links are missing. */
export async function findLinkNames(
  db: Db,
  account: number,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LinkName>> {
  const names = new Map<number, LinkName>()
  for (let at = 0; at < ids.length; at += batchSize) {
    const found = query
      .selectFrom('links')
      .leftJoin('domains', (join) =>
        join.onRef('domains.id', '=', 'links.domain_id').on('domains.account_id', '=', account),
      )
      .leftJoin('deleted_domains', (join) =>
        join.onRef('deleted_domains.id', '=', 'links.domain_id').on('deleted_domains.account_id', '=', account),
      )
      .select(['links.id', 'alias', 'title', 'domains.name as domain', 'deleted_domains.name as deletedDomain'])
      .where('links.account_id', '=', account)
      .where('links.id', 'in', ids.slice(at, at + batchSize))
    for (const { deletedDomain, ...link } of await db.execute(found)) {
      const domain = link.domain ?? deletedDomain
      if (domain !== null) names.set(link.id, { ...link, domain, hasPage: link.domain !== null })
    }
  }
  return names
}
