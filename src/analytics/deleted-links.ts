/** The totals of deleted links. The event of a deletion keeps them until the link returns. */
import { openLinkDeletions } from '../events/log.ts'
import { type Db, parts } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'
import type { LinkTotals } from './tables.ts'

/** Totals that the event of a deletion keeps. */
export interface DeletedTotals extends LinkTotals {
  readonly deletion: { readonly event: number; readonly kept: Kept }
}

type Kept = Pick<Row<'links'>, 'id' | 'domain_id' | 'space_id' | 'clicks_limit'> &
  Pick<LinkTotals, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms' | 'forgotten_ms'> & {
    /** Whether no totals count its clicks as long as it is deleted. */
    readonly is_uncounted?: boolean
  }

/** Returns which of these links exist or can return. One statement, so that it sees both at the same time. */
export async function findReturning(tx: Db, ids: readonly number[]): Promise<number[]> {
  const found: number[] = []
  for (const some of parts(ids)) {
    const present = query.selectFrom('link_clicks').select('link_id as id').where('link_id', 'in', some)
    const deleted = openLinkDeletions.select('record_id as id').where('record_id', 'in', some)
    for (const { id } of await tx.execute(present.unionAll(deleted))) found.push(Number(id))
  }
  return found
}

/** Locks the deletions of links that can return, and returns their totals. Transactions lock events before links. */
export async function lockDeletedTotals(tx: Db, ids: Iterable<number>): Promise<Map<number, DeletedTotals>> {
  const links = new Map<number, DeletedTotals>()
  for (const some of parts([...ids].sort((a, b) => b - a))) {
    const own = openLinkDeletions
      .select(['id', 'account_id', 'kept'])
      .select(({ selectFrom }) =>
        selectFrom('accounts').whereRef('id', '=', 'events.account_id').select('time_zones').as('time_zones'),
      )
      .where('record_id', 'in', some)
    for (const { id: event, account_id, ...row } of await tx.execute(own.orderBy('id', 'desc').forUpdate())) {
      const kept: Kept = JSON.parse(row.kept as string)
      const { id: link_id, domain_id, space_id, clicks_limit, clicks, bots, previews } = kept
      const { last_clicked_ms, forgotten_ms } = kept
      const totals = { clicks, bots, previews, clicks_30d: 0, last_clicked_ms, forgotten_ms }
      const groups = { account_id, domain_id, space_id, time_zones: row.time_zones as string }
      links.set(link_id, { link_id, clicks_limit, ...groups, ...totals, deletion: { event, kept } })
    }
  }
  return links
}

/** Stores totals in their locked events. */
export async function saveDeletedTotals(tx: Db, links: readonly DeletedTotals[]): Promise<void> {
  for (const { deletion, clicks, bots, previews, last_clicked_ms } of links) {
    const kept = JSON.stringify({ ...deletion.kept, clicks, bots, previews, last_clicked_ms })
    await tx.execute(query.updateTable('events').set({ kept }).where('id', '=', deletion.event))
  }
}

/** Takes the clicks of deleted links out of all totals, in the background, until the links return. */
export async function uncountDeleted(tx: Db, ids: readonly number[]): Promise<void> {
  const deleted = await lockDeletedTotals(tx, ids)
  const uncounted = [...deleted.values()].map(({ deletion: { event, kept }, ...totals }) => {
    return { ...totals, deletion: { event, kept: { ...kept, is_uncounted: true } } }
  })
  await saveDeletedTotals(tx, uncounted)
  await queueClickMoves(tx, [...deleted.keys()])
}

/** Makes the background move link clicks into or out of totals. */
export async function queueClickMoves(tx: Db, links: readonly number[]): Promise<void> {
  for (const some of parts(links)) {
    const insertion = query.insertInto('click_moves').values(some.map((link_id) => ({ link_id })))
    await tx.execute(insertion.onConflict((conflict) => conflict.doNothing()))
  }
}
