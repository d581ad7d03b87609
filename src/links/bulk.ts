/** Bulk actions: the links that match a list, their figures, and what prevents them from moving. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { Ticks } from '../lib/periodic.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { type Db, type PageRequest, parts, type Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { loopViolations } from './actions.ts'
import { takenAliases } from './batch-store.ts'
import { linkBatches } from './link-list.ts'
import type { LinkDomain } from './store.ts'

/** The links that one action may change, so that a request takes seconds at most. */
export const maxBulkLinks = 5_000
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

export interface BulkLink {
  readonly id: number
  readonly alias: string
  readonly aliasFolded: string
  readonly url: string
  readonly domainId: number
  readonly domainName: string
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
        .select(['links.id', 'alias', 'alias_folded as aliasFolded', 'url', 'clicks', 'clicks_30d as recentClicks'])
        .select(['links.domain_id as domainId', 'domains.name as domainName'])
        .where('links.id', 'in', some)
        .where('links.account_id', '=', account)
        .where('domains.account_id', '=', account),
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    found.push(...some.flatMap((id) => byId.get(id) ?? []))
  }
  return found
}

export interface MoveConflict {
  readonly link: BulkLink
  /** `repeated`: another of the links has the same alias. */
  readonly reason: 'taken' | 'repeated' | 'loops'
}

/** What happens to links that move to a domain. */
export interface MovePlan {
  readonly moving: readonly BulkLink[]
  readonly conflicts: readonly MoveConflict[]
  /** The number of links that are on the domain already. */
  readonly there: number
}

/** Returns which of the account's links can move to its domain. Nothing stops the domain from changing meanwhile. */
export async function planMove(
  db: Db,
  account: number,
  links: readonly BulkLink[],
  domain: LinkDomain,
  shortUrl: ShortUrl,
): Promise<MovePlan> {
  const leaving = links.filter(({ domainId }) => domainId !== domain.id)
  const moving = new Map<string, BulkLink>()
  const conflicts: MoveConflict[] = []
  const aliases = leaving.map(({ aliasFolded }) => aliasFolded)
  const taken = await takenAliases(db, account, aliases, domain.id)
  const ticks = new Ticks()
  for (const link of leaving) {
    const { alias, aliasFolded, url } = link
    if (taken.has(aliasFolded)) conflicts.push({ link, reason: 'taken' })
    else if (moving.has(aliasFolded)) conflicts.push({ link, reason: 'repeated' })
    else if (loopViolations(url, shortUrl(domain.name, alias)).length > 0) conflicts.push({ link, reason: 'loops' })
    else moving.set(aliasFolded, link)
    await ticks.next()
  }
  return { moving: [...moving.values()], conflicts, there: links.length - leaving.length }
}
