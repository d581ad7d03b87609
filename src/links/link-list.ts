/** What the dashboard lists in addition to the API: idle links, and links that end soon or ended recently. */
import { optional } from '../forms/form.ts'
import { type ListQuery, listQueryOf } from '../forms/list-query.ts'
import { oneOf } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import type { Db, ValueRange } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { type LinkRow, linkFilters } from './schema.ts'
import { findLink } from './store.ts'

/** After how many days without a click a link is idle, and how many days before its end it ends soon. */
export const [idleDays, endingDays] = [90, 7]

const dayMs = 86_400_000

interface LinkListQuery extends ListQuery {
  /** `idle`: without a click in the last `idleDays`, and older than that. */
  readonly activity?: 'idle'
  /** `soon`: enabled, and ends within `endingDays`. */
  readonly ends?: 'soon'
}

/** The query of the dashboard's list. */
export const linkListQuery = listQueryOf(resources.links, {
  ...linkFilters,
  activity: optional(oneOf(['idle'], `Only links without clicks in the last ${idleDays} days.`), undefined),
  ends: optional(oneOf(['soon'], `Only links that end within ${endingDays} days.`), undefined),
})

export type LinkRanges = Partial<Record<keyof typeof resources.links.ranges, ValueRange>>

/** Returns the ranges of a checked `linkListQuery` at `now`, in Unix milliseconds. */
export function linkRangesOf({ activity, ends }: LinkListQuery, now = Date.now()): LinkRanges {
  const idleSince = now - idleDays * dayMs
  return {
    ...(activity === 'idle' && { last_clicked_at: { before: idleSince }, created_at: { before: rfc3339(idleSince) } }),
    ...(ends === 'soon' && { end: { from: rfc3339(now), before: rfc3339(now + endingDays * dayMs) } }),
  }
}

/** Enabled links with an end, the links next to now first. */
interface EndingLinks {
  readonly links: readonly LinkRow[]
  /** Up to `maxEndingLinks`, which means this number or more. */
  readonly total: number
}

export const maxEndingLinks = 1_000

/**
 * Finds the account's enabled links that end within `endingDays` after `now`, and those that ended within as many days before
 * it. Returns up to `limit` of each. `now` is in Unix milliseconds.
 */
export async function findEndingLinks(
  db: Db,
  account: number,
  now: number,
  limit: number,
): Promise<{ readonly ending: EndingLinks; readonly ended: EndingLinks }> {
  const find = async (from: number, before: number, order: 'asc' | 'desc') => {
    const range = endsBetween(account, from, before)
    const found = await db.execute(
      range.orderBy('active_period_end_at', order).orderBy('id', order).limit(maxEndingLinks),
    )
    const links = await Promise.all(found.slice(0, limit).map(({ id }) => findLink(db, account, id)))
    return { links: links.flatMap((link) => (link === undefined ? [] : [link.record])), total: found.length }
  }
  const days = endingDays * dayMs
  const [ending, ended] = await Promise.all([find(now, now + days, 'asc'), find(now - days, now, 'desc')])
  return { ending, ended }
}

/** Selects the account's enabled links that end from `from` on and before `before`, in Unix milliseconds. */
function endsBetween(account: number, from: number, before: number) {
  return (
    query
      .selectFrom('links')
      .select('id')
      .where('account_id', '=', account)
      // A parameter would keep SQLite from using the index of enabled links.
      .where(({ eb, lit }) => eb('disabled', '=', lit(0)))
      .where('active_period_end_at', '>=', rfc3339(from))
      .where('active_period_end_at', '<', rfc3339(before))
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('domains')
            .select('domains.id')
            .whereRef('domains.id', '=', 'links.domain_id')
            .where('domains.account_id', '=', account),
        ),
      )
  )
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString()
}
