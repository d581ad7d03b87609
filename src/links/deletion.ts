/** Deleted links, which their events can restore for 30 days with their ids, tags and clicks. */
import type { Actor } from '../access/actor.ts'
import { queueClickMoves } from '../analytics/deleted-links.ts'
import { ensureErasure, eraseEvents, erasing, erasingEvents, removeClicks } from '../events/erasure.ts'
import { deletedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { type Db, parts } from '../storage/port.ts'
import { Records } from '../storage/records.ts'
import { CachedQuery, clickLevels, query, type Row } from '../storage/schema.ts'
import { describeAddresses, findAllAddresses, type StoredAddress } from './addresses.ts'
import { type LinkRow, linkColumns, linkEvents } from './schema.ts'
import { computed, lockLinks } from './store.ts'

/** A link with everything that a restoration needs. */
export type WholeLink = LinkRow &
  LockedTotals & {
    readonly revision: number
    /** Its tags, as JSON. */
    readonly tag_ids: string
    /** The row of its main address. Earlier versions didn't keep it. */
    readonly main_address?: Pick<StoredAddress, 'id' | 'clicks'>
    /** Its further addresses, as JSON. */
    readonly addresses: string | null
    /** Whether its clicks have not yet followed it to its domain and space. */
    readonly is_moving: number
    /** Whether no totals count its clicks as long as it is deleted. */
    readonly is_uncounted?: boolean
  }

const wholeLinks = new Records<
  Omit<WholeLink, 'bots' | 'previews' | 'forgotten_ms' | 'main_address' | 'addresses' | 'is_uncounted'>
>('links', [...(linkColumns as readonly Exclude<keyof LinkRow, 'addresses'>[]), 'tag_ids', 'is_moving'], {
  ...computed,
  tag_ids: `(select '[' || coalesce(string_agg(cast(tag_id as text), ','), '') || ']' from link_tags where link_id = links.id)`,
  is_moving: '(select count(*) from click_moves where link_id = links.id)',
})

/** Links that one statement deletes. */
const deletedTogether = 256

interface LinkDeletion {
  readonly isPermanent: boolean
  /** The name of the links' domain if it is being removed; null if their domain is there. */
  readonly removedDomain: string | null
  /** Links whose clicks leave all totals, in the background. */
  readonly uncounted?: ReadonlySet<number>
}

/**
 * Deletes the actor's links with these ids, in a transaction. Returns the deleted ids. Clicks stay as long as the event can
 * restore the link, unless the deletion is permanent.
 */
export async function deleteLinks(
  tx: Db,
  actor: Actor,
  ids: readonly number[],
  { isPermanent, removedDomain, uncounted = new Set() }: LinkDeletion,
): Promise<ReadonlySet<number>> {
  const { account } = actor
  const deleted = new Set<number>()
  for (const some of parts(ids, deletedTogether)) {
    const found = await wholeLinks.findAll(tx, account, await lockLinks(tx, account, some))
    // Locked after the links, so that no click is counted before they are gone.
    const totals = await lockTotals(tx, account, some)
    const all = await findAllAddresses(tx, account, some)
    const links = [...found.values()].flatMap(({ record, version }) => {
      const domain_name = removedDomain ?? record.domain_name
      // The domain of a link without its name is being removed, and takes the link along.
      if (domain_name === null) return []
      const own = all.get(record.id) ?? []
      const [main_address] = own.filter(({ main }) => main).map(({ id, clicks }) => ({ id, clicks }))
      const addresses = describeAddresses(
        own.filter(({ main }) => !main),
        [],
      ).before
      const revision = Number.parseInt(version, 10)
      const mark = uncounted.has(record.id) && { is_uncounted: true }
      return [
        { ...record, ...totals.get(record.id), ...mark, domain_name, revision, main_address, addresses } as WholeLink,
      ]
    })
    if (links.length === 0) continue
    const gone = links.map(({ id }) => id)
    const deletion = () => query.deleteFrom('links').where('account_id', '=', account).where('id', 'in', gone)
    await tx.execute(new CachedQuery(`delete ${gone.length} links`, [account, ...gone], deletion))
    const leaving = links.filter((link) => link.is_uncounted).map(({ id }) => id)
    await queueClickMoves(tx, leaving)
    if (isPermanent) await removeClicks(tx, clickLevels.link, gone)
    const isErased = !isPermanent || (await eraseEvents(tx, account, 'link', gone))
    const events = links.map((link) => deletedEvent(linkEvents, link, isPermanent ? null : link))
    const mark = removedDomain === null ? isPermanent && { kept: erasing } : !isErased && { kept: erasingEvents }
    await recordEvents(
      tx,
      actor,
      events.map((event) => ({ ...event, ...mark })),
    )
    if (mark) await ensureErasure(tx, account)
    for (const id of gone) deleted.add(id)
  }
  return deleted
}

type LockedTotals = Pick<Row<'link_clicks'>, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms' | 'forgotten_ms'>

/** Returns the click totals of the account's links, by id, and locks them. */
async function lockTotals(tx: Db, account: number, ids: readonly number[]): Promise<ReadonlyMap<number, LockedTotals>> {
  const build = () =>
    query
      .selectFrom('link_clicks')
      .select(['link_id', 'clicks', 'bots', 'previews', 'last_clicked_ms', 'forgotten_ms'])
      .where('account_id', '=', account)
      .where('link_id', 'in', ids)
      .orderBy('link_id')
      .forUpdate()
  type Found = LockedTotals & { readonly link_id: number }
  const rows = await tx.execute(new CachedQuery<Found>(`lock ${ids.length} totals`, [account, ...ids], build))
  return new Map(rows.map(({ link_id, ...totals }) => [link_id, totals]))
}
