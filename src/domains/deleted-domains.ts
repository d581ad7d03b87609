/**
 * Domains that were deleted in the dashboard, and can be restored for a minute. They are in account 0 with all their links,
 * as during a removal in steps. The removal begins when the row in `deleted_domains` is deleted: see `deleteExpired`
 * and `storage/removal.ts`.
 */
import { recountRecent } from '../analytics/recent.ts'
import { nameTaken, UniqueViolation } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { undoableSince } from '../storage/undo.ts'
import type { Domain } from './schema.ts'
import { beginDomainRemoval, countLinks, domainRecords } from './store.ts'

/**
 * Hides the account's domain with its links, so that `restoreDomain` can restore it. Returns false if there is no such
 * domain. `now` is in Unix milliseconds.
 */
export function removeDomainWithUndo(db: Db, account: number, id: number, now: number): Promise<boolean> {
  return db.write(async (tx) => {
    const domain = query.selectFrom('domains').select('name').where('id', '=', id).where('account_id', '=', account)
    const [found] = await tx.execute(domain.forUpdate())
    if (found === undefined) return false
    const deleted_at = new Date(now).toISOString()
    // Lists subtract the counts from their totals. They stay right, because hidden links can't be stored or deleted.
    const { links, archived: archived_links } = await countLinks(tx, account, id)
    const hidden = { id, account_id: account, name: found.name, links, archived_links, deleted_at }
    await tx.execute(query.insertInto('deleted_domains').values(hidden))
    return beginDomainRemoval(tx, account, id, null)
  })
}

/** Finds the account's domain that can be restored at `now`, in Unix milliseconds. */
export async function findRemovedDomain(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Pick<Domain, 'name_unicode'> | undefined> {
  const [removed] = await db.execute(
    restorable(account, id, now).innerJoin('domains', 'domains.id', 'deleted_domains.id').select('name_unicode'),
  )
  return removed
}

/**
 * Restores the account's domain with its links. Nothing about them has changed, except that clicks of the last visitors
 * are counted. `now` is in Unix milliseconds. Returns the domain, even if it was restored before; undefined if it can't be
 * restored any more or never existed. Throws `name_taken` if any account has a domain of its name by now.
 */
export async function restoreDomain(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Versioned<Domain> | undefined> {
  let name = ''
  try {
    return await db.write(async (tx) => {
      const [deleted] = await tx.execute(restorable(account, id, now).select('deleted_domains.name').forUpdate())
      if (deleted !== undefined) {
        name = deleted.name
        const same = query.selectFrom('domains').select('id').where('name', '=', name)
        if ((await tx.execute(same)).length > 0) throw nameTaken(name)
        await tx.execute(
          query
            .updateTable('domains')
            .set({ account_id: account, name })
            .where('id', '=', id)
            .where('account_id', '=', 0),
        )
        await recountRecent(tx, account, clickLevels.domain, id)
        await tx.execute(query.deleteFrom('deleted_domains').where('id', '=', id).where('account_id', '=', account))
      }
      return domainRecords.find(tx, account, id)
    })
  } catch (error) {
    // The name was stored during the transaction.
    if (error instanceof UniqueViolation) throw nameTaken(name)
    throw error
  }
}

function restorable(account: number, id: number, now: number) {
  return query
    .selectFrom('deleted_domains')
    .where('deleted_domains.id', '=', id)
    .where('deleted_domains.account_id', '=', account)
    .where('deleted_at', '>', undoableSince(now))
}
