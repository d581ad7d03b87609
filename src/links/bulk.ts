/** Bulk actions: the links that match a list, their figures, and what prevents them from moving. */

import { setImmediate as nextTick } from 'node:timers/promises'
import { Ticks } from '../lib/ticks.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { type Db, type PageRequest, parts, type Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { Violation } from '../violations.ts'
import { type LinkRules, loopViolations } from './actions.ts'
import { AddressSet, furtherShortUrls, planAddressChanges } from './addresses.ts'
import { linkBatches } from './export.ts'
import { maxBulkLinks } from './link.ts'
import { type Replacement, replacedDestinations } from './replacement.ts'
import { destinationsIn, type LinkRow, type WithDestinations } from './schema.ts'
import type { LinkDomain } from './store.ts'

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

export interface BulkLink extends Movable {
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
        .select(['links.id', 'alias', 'exact', 'url', 'rules', 'clicks', 'clicks_30d as recentClicks'])
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

/** What decides whether a link can move. */
type Movable = Pick<LinkRow, 'id' | 'alias' | 'exact' | 'url' | 'rules' | 'domain_id'>

/** Why a link can't move. `repeated`: another of the links takes the address. `full`: it can't keep another address. */
type Obstacle = 'taken' | 'repeated' | 'loops' | 'full'

export interface MoveConflict {
  readonly link: BulkLink
  readonly reason: Obstacle
}

/** What happens to links that move to a domain. */
export interface MovePlan {
  readonly moving: readonly BulkLink[]
  readonly conflicts: readonly MoveConflict[]
  /** The number of links that are on the domain already. */
  readonly there: number
}

/**
 * Returns which of the account's links can move to its domain, as the batch engine decides. Nothing stops the domain from
 * changing meanwhile.
 */
export async function planMove(
  db: Db,
  account: number,
  links: readonly BulkLink[],
  { id: domain_id, name }: LinkDomain,
  keepsAddress: boolean,
  shortUrl: ShortUrl,
): Promise<MovePlan> {
  const leaving = links.filter((link) => link.domain_id !== domain_id)
  const ids = leaving.map(({ id }) => id)
  const further = await furtherShortUrls(db, account, ids, shortUrl)
  const conflicts: MoveConflict[] = []
  const others: BulkLink[] = []
  const ticks = new Ticks()
  for (const link of leaving) {
    const own = [shortUrl(name, link.alias), ...(further.get(link.id) ?? [])]
    if (loopViolations(link, own).length > 0) conflicts.push({ link, reason: 'loops' })
    else others.push(link)
    await ticks.next()
  }
  const { plans, take } = await planAddressChanges(db, account, others, { domain_id, keepsAddress })
  const moving: BulkLink[] = []
  const moved = new AddressSet()
  for (const plan of plans) {
    const { link, main } = plan
    const failure = take(plan)
    if (failure === null) {
      moving.push(link)
      moved.add(main)
    } else {
      const clash = moved.hasClash(main) ? 'repeated' : 'taken'
      conflicts.push({ link, reason: failure.code === 'alias_taken' ? clash : 'full' })
    }
    await ticks.next()
  }
  return { moving, conflicts, there: links.length - leaving.length }
}

/** What a replacement does to the destinations of links. */
export interface ReplacementPlan {
  /** With the changed destinations before and after. */
  readonly changes: readonly { readonly link: BulkLink; readonly urls: readonly (readonly [string, string])[] }[]
  readonly conflicts: readonly { readonly link: BulkLink; readonly violation: Violation }[]
  readonly unchanged: number
}

/** Returns what a replacement would do to the destinations of links. */
export async function planReplacement(
  db: Db,
  account: number,
  links: readonly BulkLink[],
  replacement: Replacement,
  rules: LinkRules,
): Promise<ReplacementPlan> {
  const changes: ReplacementPlan['changes'][number][] = []
  const conflicts: { link: BulkLink; violation: Violation }[] = []
  const ticks = new Ticks()
  const ids = links.map(({ id }) => id)
  const further = await furtherShortUrls(db, account, ids, rules.shortUrl)
  for (const link of links) {
    const after = replacedDestinations(link, replacement, rules, further.get(link.id))
    if (after !== undefined && 'code' in after) conflicts.push({ link, violation: after })
    else if (after !== undefined) changes.push({ link, urls: differencesOf(link, after) })
    await ticks.next()
  }
  return { changes, conflicts, unchanged: links.length - changes.length - conflicts.length }
}

function differencesOf(before: WithDestinations, after: WithDestinations): (readonly [string, string])[] {
  const now = destinationsIn(after)
  return destinationsIn(before).flatMap(({ url }, at) => {
    const changed = now[at]?.url ?? ''
    return changed === url ? [] : [[url, changed] as const]
  })
}
