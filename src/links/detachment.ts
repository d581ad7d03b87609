/** What happens to the links of removed domains, spaces and tags, in steps: see `events/removal.ts`. */

import type { Actor } from '../access/actor.ts'
import { recordEvents } from '../events/log.ts'
import { type Deletion, type DetachLinks, detachBatchSize } from '../events/removal.ts'
import { foldCase } from '../lib/text.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { deleteAddresses, describeAddresses, findAddresses, type StoredAddress } from './addresses.ts'
import { deleteLinks } from './deletion.ts'
import { addressesEvent, linkEvents, tagsOf } from './schema.ts'
import { linkRecords, lockLinks } from './store.ts'

/** Deletes links of a removed domain, and then the further addresses there of other links. */
export const deleteLinksOfDomain: DetachLinks = async (tx, id, deletion) => {
  const { actor, name, isPermanent } = deletion
  // In the order of an index, because PostgreSQL would otherwise read past all rows that were deleted before.
  const links = query.selectFrom('links').select(['id', 'account_id']).where('domain_id', '=', id)
  const some = await tx.execute(links.orderBy('id').limit(detachBatchSize))
  const ids = some.map((link) => link.id)
  const account = some[0]?.account_id ?? actor.account
  if (ids.length === 0) return clearAddresses(tx, id, actor)
  await deleteLinks(tx, { ...actor, account }, ids, { isPermanent, removedDomain: name })
  return ids.length
}

/** Deletes further addresses on a removed domain. Their links stay. Returns the number of links. */
async function clearAddresses(tx: Db, domain: number, actor: Actor): Promise<number> {
  const addresses = query.selectFrom('addresses').select(['link_id', 'account_id']).where('domain_id', '=', domain)
  const some = await tx.execute(addresses.where('main', '=', 0).orderBy('alias').limit(detachBatchSize))
  const ids = [...new Set(some.map(({ link_id }) => link_id))]
  const account = some[0]?.account_id ?? actor.account
  const locked = await lockLinks(tx, account, ids)
  const links = await linkRecords.findAll(tx, account, locked)
  const all = await findAddresses(tx, account, locked)
  const isGone = (address: StoredAddress) => address.domain_id === domain
  const gone = [...all.values()].flatMap((own) => own.filter(isGone))
  await deleteAddresses(
    tx,
    account,
    gone.map(({ id }) => id),
  )
  const events = [...links.values()].map(({ record }) => {
    const own = all.get(record.id) ?? []
    const changed = describeAddresses(
      own,
      own.filter((address) => !isGone(address)),
    )
    // The domain of a link without its name is being removed, and takes the link along.
    return record.domain_name === null ? null : addressesEvent(record, changed)
  })
  await recordEvents(tx, { ...actor, account }, events)
  return ids.length
}

/** Takes links out of a removed space. */
export const clearSpace: DetachLinks = async (tx, id, deletion) => {
  const links = query.selectFrom('links').select(['id', 'account_id']).where('space_id', '=', id)
  const some = await tx.execute(links.orderBy('id').limit(detachBatchSize).forUpdate())
  const ids = some.map((link) => link.id)
  const account = some[0]?.account_id ?? deletion.actor.account
  await linkRecords.changeAll(tx, account, ids, { space_id: null })
  await recordLosses(tx, deletion, ids, () => ({ space_id: [id, null] }))
  return ids.length
}

/** Takes a removed tag from links, or gives them the tag that it was merged into. */
export const clearTag: DetachLinks = async (tx, id, deletion) => {
  const removed = query.selectFrom('tags').select('merged_into').where('id', '=', id)
  const batch = query.selectFrom('link_tags').select(['account_id', 'link_id']).where('tag_id', '=', id)
  const ids = (await tx.execute(batch.orderBy('link_id').limit(detachBatchSize))).map(({ link_id }) => link_id)
  const [before] = await tx.execute(removed)
  if (ids.length === 0 || before === undefined) return 0
  // Locks in the order of other transactions: links, tags of the account, removed tags.
  await tx.execute(query.selectFrom('links').select('id').where('id', 'in', ids).orderBy('id').forKeyShare())
  const { merged_into } = before
  if (merged_into !== null) {
    await tx.execute(query.selectFrom('tags').select('id').where('id', '=', merged_into).forKeyShare())
  }
  const [tag] = await tx.execute(removed.forUpdate())
  // The other tag has been removed meanwhile. The next batch follows it.
  if (tag?.merged_into !== merged_into) return ids.length
  const links = await tx.execute(batch.where('link_id', 'in', ids))
  if (merged_into !== null && links.length > 0) {
    const moved = links.map((link) => ({ ...link, tag_id: merged_into }))
    const insertion = query.insertInto('link_tags').values(moved)
    await tx.execute(insertion.onConflict((conflict) => conflict.doNothing()))
  }
  await tx.execute(query.deleteFrom('link_tags').where('tag_id', '=', id).where('link_id', 'in', ids))
  if (merged_into === null) {
    const lost = links.map(({ link_id }) => link_id)
    await recordLosses(tx, deletion, lost, (tags) => ({ tags: [withName(tags, deletion.name), tags] }))
  }
  return ids.length
}

/** Stores the events of links that have lost a space or a tag. `changesOf` gets the tags that are left. */
async function recordLosses(
  tx: Db,
  { actor, name, isPermanent }: Deletion,
  ids: readonly number[],
  changesOf: (tags: readonly string[]) => Readonly<Record<string, readonly [unknown, unknown]>>,
): Promise<void> {
  const links = await linkRecords.findAll(tx, actor.account, ids)
  const events = [...links.values()].flatMap(({ record }) => {
    // The domain of a link without its name is being removed, and takes the link along.
    if (record.domain_name === null) return []
    const changes = changesOf(tagsOf(record))
    const kept = changes.tags === undefined || isPermanent ? {} : { kept: { lostTag: name } }
    const event = {
      record: 'link',
      action: 'updated',
      id: record.id,
      name: linkEvents.nameOf(record),
      changes,
    } as const
    return [{ ...event, ...kept }]
  })
  await recordEvents(tx, actor, events)
}

/** Returns the names with another one, in the order of `sort_by=name`. */
function withName(tags: readonly string[], name: string): string[] {
  if (tags.includes(name)) return [...tags]
  return [...tags, name].sort((one, other) => (foldCase(one) < foldCase(other) ? -1 : 1))
}
