import { aliasTaken, notFound } from '../../errors.ts'
import type { Db } from '../../storage/port.ts'
import { restorableSince } from '../../storage/restoring.ts'
import { type Precondition, type Versioned, versionOf } from '../../storage/version.ts'
import { findLink, type LinkRow } from '../store.ts'
import {
  deleteDeleted,
  deleteLink,
  insertAgain,
  insertDeleted,
  insertMove,
  keepDays,
  selectDeleted,
  selectDeletedToChange,
  selectDomain,
  selectDomainToChange,
  selectSpaceToChange,
  selectWholeToChange,
  setWholeTotals,
  type WholeLink,
} from './statements.ts'

/**
 * Deletes the account's link, and keeps all of it for `restoreLink`. `now` is in Unix milliseconds. Throws `not_found`, and
 * what `precondition` throws at the present version.
 */
export async function removeLinkForNow(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
  now: number,
): Promise<void> {
  const own = { account, id }
  await db.write(async (tx) => {
    const [link] = await tx.all(selectWholeToChange, own)
    if (link === undefined) throw notFound('link')
    precondition?.check(versionOf(link.revision, link.updated_at))
    const clicks = link.clicks + link.bots + link.previews
    const deleted_at = new Date(now).toISOString()
    await tx.all(insertDeleted, { ...own, deleted_at, clicks, link: JSON.stringify(link) })
    await tx.all(deleteLink, own)
    await tx.all(keepDays, { id })
  })
}

/**
 * The address of the account's link that can be restored at `now`, in Unix milliseconds; undefined if there is none, or its
 * domain is gone.
 */
export async function findRemovedLink(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Pick<LinkRow, 'alias' | 'domain_name'> | undefined> {
  const [deleted] = await db.all(selectDeleted, { account, id, since: restorableSince(now) })
  if (deleted === undefined) return undefined
  const { alias, domain_id } = JSON.parse(deleted.link) as WholeLink
  const [domain] = await db.all(selectDomain, { account, id: domain_id })
  return domain && { alias, domain_name: domain.name }
}

/**
 * Brings back the account's link as it was, without its space if that is gone. `now` is in Unix milliseconds. The link as it is
 * if it is there; undefined if it was deleted too long ago, or never was there, or its domain is gone. Throws `alias_taken` if
 * another link has the alias by now.
 */
export async function restoreLink(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Versioned<LinkRow> | undefined> {
  const own = { account, id }
  return db.write(async (tx) => {
    const [deleted] = await tx.all(selectDeletedToChange, { ...own, since: restorableSince(now) })
    if (deleted !== undefined) {
      const link = JSON.parse(deleted.link) as WholeLink
      // Locked, so that it does not go before the link is there.
      const [domain] = await tx.all(selectDomainToChange, { account, id: link.domain_id })
      if (domain === undefined) return undefined
      await insertWhole(tx, own, await inItsSpace(tx, account, link, now))
      await tx.all(deleteDeleted, own)
    }
    return findLink(tx, account, id)
  })
}

/** The link without its space, and in a new version, if that is gone. */
async function inItsSpace(tx: Db, account: number, link: WholeLink, now: number): Promise<WholeLink> {
  if (link.space_id === null) return link
  const [space] = await tx.all(selectSpaceToChange, { account, id: link.space_id })
  if (space !== undefined) return link
  const time = new Date(now).toISOString()
  // Never moved back.
  const updated_at = link.updated_at < time ? time : link.updated_at
  return { ...link, space_id: null, revision: link.revision + 1, updated_at }
}

async function insertWhole(tx: Db, own: { account: number; id: number }, link: WholeLink): Promise<void> {
  const inserted = await tx.all(insertAgain, { ...own, ...link })
  if (inserted.length === 0) throw aliasTaken(link.alias)
  await tx.all(setWholeTotals, { ...own, ...link })
  const isOnTheWay = link.counted_space_id !== link.space_id || link.former_before > 0
  if (isOnTheWay) await tx.all(insertMove, { id: own.id })
}
