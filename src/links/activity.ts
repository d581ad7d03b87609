/** Links by their activity, for the dashboard: idle links, and links that end soon or ended recently. */

import { dayMs } from '../accounts/calendar.ts'
import { optional } from '../forms/form.ts'
import { createListQuery, type ListQuery, toPageRequest } from '../forms/list-query.ts'
import { oneOf } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import type { Db, PageRequest, ValueRange } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { linkFilters } from './filters.ts'
import { endingDays, idleDays, type Status, statuses } from './link.ts'
import type { LinkRow } from './schema.ts'
import { findLink, hasDomain, settleStatuses } from './store.ts'

interface LinkListQuery extends ListQuery {
  /**
   * A status, or `idle`: without a click in the last `idleDays`, and older than that, or `ending`: enabled, and ends within
   * `endingDays`.
   */
  readonly status?: Status | 'idle' | 'ending'
}

/** The query of the dashboard's list. */
export const linkListQuery = createListQuery(resources.links, {
  ...linkFilters,
  status: optional(oneOf([...statuses, 'idle', 'ending'], 'The status or the activity.'), undefined),
})

/** Returns the page to read now for a checked `linkListQuery`. */
export function linkPageRequest(query: LinkListQuery): PageRequest {
  const { status } = query
  if (status !== 'idle' && status !== 'ending') return toPageRequest(query, resources.links)
  const now = Date.now()
  const idleSince = now - idleDays * dayMs
  const ranges: LinkRanges =
    status === 'idle'
      ? { last_clicked_at: { before: idleSince }, created_at: { before: rfc3339(idleSince) } }
      : { end: { from: rfc3339(now), before: rfc3339(now + endingDays * dayMs) } }
  const { status: _, ...others } = query
  return { ...toPageRequest(others, resources.links), ranges }
}

type LinkRanges = Partial<Record<keyof typeof resources.links.ranges, ValueRange>>

/** Enabled links and when they end or ended, the links next to now first. */
interface EndingLinks {
  readonly links: readonly EndingLink[]
  /** Up to `maxEndingLinks`, which means this number or more. */
  readonly total: number
}

interface EndingLink {
  readonly link: LinkRow
  /** In Unix milliseconds. */
  readonly end: number
}

export const maxEndingLinks = 1_000

/**
 * Finds the account's enabled links that end within `endingDays` or ended in the last `endingDays`, `limit` of each. A reached
 * click limit ends a link at its last click, and is found among the newest `maxUsedUpLinks` expired links. `dismissedAt` is
 * the time of the last dismissal, which leaves out the links of its notice; 0 for none. Times are in Unix milliseconds.
 */
export async function findEndingLinks(
  db: Db,
  account: number,
  { now, dismissedAt, limit }: Readonly<Record<'now' | 'dismissedAt' | 'limit', number>>,
): Promise<{ readonly ending: EndingLinks; readonly ended: EndingLinks }> {
  const days = endingDays * dayMs
  await settleStatuses(db, account)
  const read = async (range: ReturnType<typeof endsBetween>, order: 'asc' | 'desc') => {
    const rows = await db.execute(range.orderBy('end', order).orderBy('id', order).limit(maxEndingLinks))
    return rows.map(({ id, end }) => ({ id, end: Date.parse(end as string) }))
  }
  const nearest = async (found: readonly { id: number; end: number }[]): Promise<EndingLinks> => {
    const links = await Promise.all(
      found.slice(0, limit).map(async ({ id, end }) => {
        const link = (await findLink(db, account, id))?.record
        return link === undefined ? [] : { link, end }
      }),
    )
    return { links: links.flat(), total: Math.min(found.length, maxEndingLinks) }
  }
  const [ending, over, usedUp] = await Promise.all([
    read(endsBetween(account, now, now + days, dismissedAt).where('status', '!=', 'expired'), 'asc'),
    read(endsBetween(account, now - days, now, dismissedAt), 'desc'),
    findUsedUp(db, account, Math.max(now - days, dismissedAt), rfc3339(now)),
  ])
  const ended = [...over, ...usedUp].sort((one, other) => other.end - one.end)
  return { ending: await nearest(ending), ended: await nearest(ended) }
}

/** Selects the account's enabled links that end from `from` on and before `before`, without dismissed links. */
function endsBetween(account: number, from: number, before: number, dismissedAt: number) {
  return (
    query
      .selectFrom('links')
      .select(['id', 'active_period_end_at as end'])
      .where('account_id', '=', account)
      // A parameter would keep SQLite from using the index of enabled links.
      .where(({ eb, lit }) => eb('disabled', '=', lit(0)))
      .where('active_period_end_at', '>=', rfc3339(from))
      .where('active_period_end_at', '<', rfc3339(before))
      .where(({ or, eb }) =>
        or([
          eb('active_period_end_at', '>=', rfc3339(dismissedAt + endingDays * dayMs)),
          // A link of the same millisecond may not have been in the notice.
          eb('updated_at', '>=', rfc3339(dismissedAt)),
        ]),
      )
      .where(hasDomain)
  )
}

/** How many expired links are searched for used-up click limits, so that the search takes at most a millisecond. */
const maxUsedUpLinks = 500

/** Finds links whose click limit was reached after `since` and before their end. `end` is the time of their last click. */
async function findUsedUp(db: Db, account: number, since: number, now: string): Promise<{ id: number; end: number }[]> {
  const expired = query
    .selectFrom('links')
    .select(['id', 'clicks_limit', 'active_period_end_at'])
    .where('account_id', '=', account)
    .where('status', '=', 'expired')
    .where(hasDomain)
    .orderBy('id', 'desc')
    .limit(maxUsedUpLinks)
  const usedUp = query
    .selectFrom(expired.as('expired'))
    .innerJoin('link_clicks', 'link_clicks.link_id', 'expired.id')
    .select(['expired.id', 'link_clicks.last_clicked_ms as end'])
    .whereRef('link_clicks.clicks', '>=', 'expired.clicks_limit')
    .where('link_clicks.last_clicked_ms', '>', since)
    .where(({ or, eb }) => or([eb('active_period_end_at', 'is', null), eb('active_period_end_at', '>', now)]))
  const rows = await db.execute(usedUp)
  return rows.map(({ id, end }) => ({ id, end: Number(end) }))
}

/** Returns the time of the last human click on any of these links of the account, in Unix milliseconds; null for never. */
export async function lastClickOn(db: Db, account: number, ids: readonly number[]): Promise<number | null> {
  if (ids.length === 0) return null
  const clicked = query.selectFrom('link_clicks').where('link_id', 'in', ids).where('account_id', '=', account)
  const [row] = await db.execute(clicked.select(({ fn }) => fn.max('last_clicked_ms').as('last')))
  return row?.last == null ? null : Number(row.last)
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString()
}
