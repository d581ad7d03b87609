/** How events of links are reversed. */

import type { Actor } from '../access/actor.ts'
import { queueClickMoves } from '../analytics/deleted-links.ts'
import { recountRecent } from '../analytics/recent-totals.ts'
import { aliasTaken, Failure, irreversible } from '../errors.ts'
import { type GroupKind, markImported, restoredEvent, type Values } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Reversal } from '../events/reversal.ts'
import { findDeletion } from '../events/store.ts'
import { foldCase } from '../lib/text.ts'
import { addressKey } from '../names/alias.ts'
import { type RedirectRule, storedRules } from '../rules/rule.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import type { LinkActions } from './actions.ts'
import { describeAddresses, findAddresses, type NewAddress, orderAddress } from './addresses.ts'
import { changeLink } from './batch-changes.ts'
import { insertLinks, lockDomains, lockSpaces } from './batch-store.ts'
import { deleteLinks, type WholeLink } from './deletion.ts'
import { maxTags } from './link.ts'
import { foldedOf } from './link-rows.ts'
import { addTags, findUnknownTags } from './link-tags.ts'
import { conflictsIn, type LinkChange, type LinkRow, linkColumns, linkEvents } from './schema.ts'
import { computed, findLink, linkRecords, lockLinks } from './store.ts'

/** Returns the functions that reverse events of links. `actions` inform the redirect server. */
export function linkReversal(actions: LinkActions): Reversal {
  return {
    valuesOf: async (tx, account, wanted) => {
      const ids = await lockLinks(tx, account, wanted)
      const links = await linkRecords.findAll(tx, account, ids)
      const further = await findAddresses(tx, account, ids)
      const values = new Map<number, Values>()
      for (const [id, { record }] of links) {
        const own = further.get(id) ?? []
        const addresses = describeAddresses(own, own).after
        // The domain of a link without its name is being removed, and takes the link along.
        if (record.domain_name !== null) values.set(id, linkEvents.valuesOf({ ...record, addresses }))
      }
      return values
    },
    change: async (tx, actor, id, values, at) => {
      const { account } = actor
      const change = changeTo(values)
      const link = await findLink(tx, account, id)
      if (link === undefined) throw irreversible('The link is gone.')
      // Only its hash could be restored, which is no longer stored.
      if (change.redirect_password === 'secret') throw irreversible('The previous password is no longer stored.')
      const addresses = await withoutForgotten(tx, id, at, addressesIn(id, values.addresses))
      await requireRelated(tx, account, { ...change, addresses })
      requireTemporary({ ...link.record, ...change })
      const { tags = [] } = change
      // A link that has got other tags since would keep them.
      if (tags.length > maxTags) throw irreversible(`The link has ${maxTags} tags by now.`)
      const [unknown] = await findUnknownTags(tx, account, tags)
      if (unknown !== undefined) throw irreversible(`The tag ${unknown} is gone. ${restoreFirst}`)
      const changed = await changeBack(tx, actor, id, { values: change, addresses }, actions.rules)
      return () => {
        actions.onStored(changed.record)
        for (const address of addresses ?? []) actions.onStored({ ...address, id })
      }
    },
    readOrder: ({ domain_id, alias }) => orderAddress(Number(domain_id), foldCase(String(alias))),
    remove: async (tx, actor, ids, imported) => {
      await deleteLinks(tx, actor, ids, { isPermanent: false, removedDomain: null, uncounted: imported })
      return () => {
        for (const id of ids) actions.onRemoved(id)
      }
    },
    restore: async (tx, actor, kept) => {
      const links = kept as readonly WholeLink[]
      const restored = await restoreLinks(tx, actor, links)
      return () => {
        for (const { record } of restored) actions.onStored(record)
        for (const address of links.flatMap(addressesOf)) actions.onStored({ ...address, id: address.link_id })
      }
    },
  }
}

/** Changes a link as `changeLink` does. Throws `not_undoable` instead of `validation_failed`. */
async function changeBack(...change: Parameters<typeof changeLink>): Promise<Versioned<LinkRow>> {
  try {
    return await changeLink(...change)
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'validation_failed')) throw error
    throw irreversible(error.facts.violations?.[0]?.message ?? error.message)
  }
}

/** Returns the change that sets values of an event. Events have lists of rules. */
function changeTo({ rules, addresses: _, ...values }: Values): LinkChange & { readonly domain_id?: number } {
  return rules === undefined ? values : { ...values, rules: storedRules(rules as readonly RedirectRule[]) }
}

/** Returns the further addresses of a link as its event has them; undefined if the event didn't change them. */
function addressesIn(link_id: number, described: unknown): NewAddress[] | undefined {
  if (described === undefined) return undefined
  return ((described ?? []) as readonly NewAddress[]).map((address) => ({ ...address, link_id }))
}

/** Returns the addresses without their clicks if those of the link were deleted after the time `at`. */
async function withoutForgotten(tx: Db, link: number, at: string, addresses: NewAddress[] | undefined) {
  if (addresses === undefined) return undefined
  const totals = query.selectFrom('link_clicks').select('forgotten_ms').where('link_id', '=', link)
  const [{ forgotten_ms } = { forgotten_ms: null }] = await tx.execute(totals)
  const isForgotten = forgotten_ms !== null && forgotten_ms >= Date.parse(at)
  return isForgotten ? addresses.map((address) => ({ ...address, clicks: 0 })) : addresses
}

/** Returns the further addresses of a deleted link. */
function addressesOf({ id, addresses }: WholeLink): NewAddress[] {
  return addressesIn(id, addresses && JSON.parse(addresses)) ?? []
}

/** Throws `not_undoable` if a domain or the space of previous values is gone. */
async function requireRelated(
  tx: Db,
  account: number,
  {
    domain_id,
    space_id,
    addresses = [],
  }: ReturnType<typeof changeTo> & { readonly addresses: NewAddress[] | undefined },
): Promise<void> {
  const needed = new Set([...(domain_id === undefined ? [] : [domain_id]), ...addresses.map((each) => each.domain_id)])
  const domains = await lockDomains(tx, account, needed)
  for (const id of needed) if (!domains.has(id)) throw await isGone(tx, 'domain', id)
  const space = space_id ?? null
  if (space !== null && !(await lockSpaces(tx, account, [space])).has(space)) throw await isGone(tx, 'space', space)
}

/** Throws `not_undoable` for a permanent redirect with rules, of which only one was changed by the event. */
function requireTemporary({ redirect_status, rules }: Parameters<typeof conflictsIn>[0]): void {
  if (conflictsIn({ redirect_status, rules }).length > 0)
    throw irreversible('A link with rules can’t have a permanent redirect.')
}

/** Returns the error for a domain or space that a link had before. Names it, unless it was gone before there were events. */
async function isGone(tx: Db, record: GroupKind, id: number): Promise<Failure> {
  const deletion = await findDeletion(tx, record, id)
  if (deletion === undefined) return irreversible(`The previous ${record} is gone.`)
  const advice = deletion.changes === null ? '' : ` ${restoreFirst}`
  return irreversible(`The ${record} ${deletion.name} is gone.${advice}`)
}

const restoreFirst = 'Restore it first.'

/** The table's columns that a link shows. */
const ownColumns = linkColumns.filter((column) => column === 'space_id' || !(column in computed))

/**
 * Stores deleted links again, in new versions, with those of their tags and without their spaces if they are gone. Returns the
 * links. Throws if a domain is gone, and `alias_taken`.
 */
export async function restoreLinks(tx: Db, actor: Actor, links: readonly WholeLink[]): Promise<Versioned<LinkRow>[]> {
  const { account } = actor
  const further = links.flatMap(addressesOf)
  const needed = new Set([...links, ...further].map(({ domain_id }) => domain_id))
  const domains = await lockDomains(tx, account, needed)
  const gone = links.find(({ domain_id }) => !domains.has(domain_id))
  if (gone !== undefined) throw await isGone(tx, 'domain', gone.domain_id)
  const spaces = await lockSpaces(
    tx,
    account,
    links.flatMap(({ space_id }) => space_id ?? []),
  )
  const kept = Map.groupBy(
    further.filter(({ domain_id }) => domains.has(domain_id)),
    ({ link_id }) => link_id,
  )
  const rows = links.map((link) => {
    const { id, ...row } = restoredRow(account, link, spaces)
    const main = { domain_id: link.domain_id, alias: link.alias, exact: row.exact === 1, legacy: row.legacy === 1 }
    return {
      id,
      row,
      addresses: [{ ...main, ...findMainAddress(link), created_at: link.created_at }, ...(kept.get(id) ?? [])],
    }
  })
  const { stored, taken } = await insertLinks(tx, account, rows)
  const [clashing] = taken.values()
  if (clashing !== undefined) throw aliasTaken(clashing)
  await restoreClicks(tx, account, links, spaces)
  await addTags(tx, account, new Map(links.map(({ id, tag_ids }) => [id, JSON.parse(tag_ids) as readonly number[]])))
  const found = await linkRecords.findAll(
    tx,
    account,
    links.map(({ id }) => id),
  )
  const restored = links.map(({ id }) => found.get(id) as Versioned<LinkRow>)
  await recordEvents(
    tx,
    actor,
    restored.map(({ record }, at) => {
      const { further = [] } = stored.get(rows[at] as (typeof rows)[number]) ?? {}
      const event = restoredEvent(linkEvents, { ...record, addresses: describeAddresses([], further).after })
      return links[at]?.is_uncounted ? markImported(event) : event
    }),
  )
  return restored
}

/** Returns the id and the clicks of a main address. Events of earlier versions have no id: it had the rest of the clicks. */
function findMainAddress(link: WholeLink): WholeLink['main_address'] | { readonly clicks: number } {
  const further = addressesOf(link).reduce((sum, { clicks = 0 }) => sum + clicks, 0)
  return link.main_address ?? { clicks: Math.max(0, link.clicks - further) }
}

/** Returns a link's row. `spaces` are there. */
function restoredRow(account: number, link: WholeLink, spaces: ReadonlySet<number>): Row<'links'> {
  const now = new Date().toISOString()
  const row = {
    ...Object.fromEntries(ownColumns.map((column) => [column, link[column]])),
    // Another version may have folded them.
    ...foldedOf(link),
    alias_folded: addressKey(link.alias, link.exact === 1),
    ...{
      // Earlier versions had no exact addresses.
      exact: link.exact ?? 0,
      legacy: link.legacy ?? 0,
      account_id: account,
      space_id: existing(link.space_id, spaces),
      status: 'active',
      revision: link.revision + 1,
    },
    updated_at: link.updated_at < now ? now : link.updated_at,
    // Sorts before every time, so that the status is updated before it is next used as a filter.
    status_due_at: '',
  }
  return row as unknown as Row<'links'>
}

function existing(space: number | null, spaces: ReadonlySet<number>): number | null {
  return space !== null && spaces.has(space) ? space : null
}

/** Gives stored links their clicks, which totals count again. The clicks of a link whose space is gone leave it. */
async function restoreClicks(
  tx: Db,
  account: number,
  links: readonly WholeLink[],
  spaces: ReadonlySet<number>,
): Promise<void> {
  const isClicked = ({ clicks, bots, previews, last_clicked_ms, forgotten_ms }: WholeLink) =>
    clicks + bots + previews > 0 || last_clicked_ms !== null || forgotten_ms !== null
  for (const { id, clicks, bots, previews, last_clicked_ms, forgotten_ms } of links.filter(isClicked)) {
    const totals = { clicks, bots, previews, last_clicked_ms, forgotten_ms }
    await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', id))
  }
  const moving = links.filter(
    ({ is_moving, is_uncounted, space_id }) =>
      Number(is_moving) > 0 || is_uncounted || space_id !== existing(space_id, spaces),
  )
  const movingIds = moving.map(({ id }) => id)
  await queueClickMoves(tx, movingIds)
  const clicked = links.filter(({ clicks }) => clicks > 0).map(({ id }) => id)
  await recountRecent(tx, account, clickLevels.link, clicked)
}
