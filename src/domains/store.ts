import { sql } from 'kysely'
import { domainInUse, ForeignKeyViolation, nameTaken } from '../errors.ts'
import { foldCase } from '../lib/text.ts'
import type { HostName } from '../names/host-name.ts'
import type { Db } from '../storage/port.ts'
import { firstRevision, newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import { detachBatchSize, type Removal } from '../storage/removal.ts'
import { query, sqlTemplate } from '../storage/schema.ts'
import { type Domain, domainSchema } from './schema.ts'

type Urls = Pick<Domain, 'homepage_url' | 'not_found_url'>

/** Lists, finds, changes and deletes domains. */
export const domainRecords = new Records<Domain>('domains', Object.keys(domainSchema.properties) as (keyof Domain)[])

/** Finds the account's domain with this name. */
export async function findDomainByName(db: Db, account: number, name: string): Promise<Domain | undefined> {
  const [domain] = await db.execute(
    query
      .selectFrom('domains')
      .select(domainRecords.columns)
      .where('name', '=', name)
      .where('account_id', '=', account),
  )
  return domain
}

/** Stores a domain; an imported one keeps its times. Throws `name_taken` if any account has the name. */
export async function insertDomain(
  db: Db,
  account: number,
  { name, nameUnicode }: HostName,
  { homepage_url, not_found_url }: Urls,
  times = newTimes(),
): Promise<Versioned<Domain>> {
  const stored = { name, name_unicode: nameUnicode, homepage_url, not_found_url, ...times }
  const search_text = name === nameUnicode ? null : `${name}\n${foldCase(nameUnicode)}`
  const isFree = sqlTemplate<boolean>`not exists (select 1 from domains where name = ${name})`
  const values = { account_id: account, search_text, ...stored }
  const id = await domainRecords.insertIf(db, values, isFree)
  if (id === undefined) throw nameTaken(name)
  return domainRecords.toVersioned({ id, ...stored, revision: firstRevision })
}

/** Deletes the account's domain, as `Records.remove` does. Throws `domain_in_use` with the number of its links. */
export async function removeDomain(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  try {
    return await domainRecords.remove(db, account, id, precondition)
  } catch (error) {
    if (!(error instanceof ForeignKeyViolation)) throw error
    const { links } = await countLinks(db, account, id)
    if (links > 0) throw domainInUse(links)
    // The last link has just been deleted, or something else refers to the domain.
    return domainRecords.remove(db, account, id, precondition)
  }
}

/** Links in one count, which takes about ten milliseconds. */
const countBatchSize = 20_000

/** Counts the links of the account's domain, and how many of them are archived, in batches. */
export async function countLinks(
  db: Db,
  account: number,
  domain: number,
): Promise<{ readonly links: number; readonly archived: number }> {
  let [links, archived, after, counted] = [0, 0, 0, countBatchSize]
  while (counted === countBatchSize) {
    const batch = query
      .selectFrom('links')
      .select(['id', 'archived'])
      .where('account_id', '=', account)
      .where('domain_id', '=', domain)
      .where('id', '>', after)
      .orderBy('id')
      .limit(countBatchSize)
    const [next] = await db.execute(
      query
        .selectFrom(batch.as('batch'))
        .select(({ fn }) => [
          fn.countAll<number>().as('counted'),
          fn.sum<number>('archived').as('archived'),
          fn.max('id').as('last'),
        ]),
    )
    counted = Number(next?.counted)
    after = Number(next?.last)
    links += counted
    archived += Number(next?.archived)
  }
  return { links, archived }
}

/**
 * Moves the domain and its links out of the account, so that they are gone for all clients. Returns false if there is no
 * such domain. Call `finishRemoval` afterwards. Throws what `precondition` throws for the current version.
 */
export async function beginDomainRemoval(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  // A slash frees the name, and no visitor can request a name with a slash.
  const detachment = query
    .updateTable('domains')
    .set({ account_id: 0, name: sql`name || '/' || cast(id as text)` })
    .where('id', '=', id)
    .where('account_id', '=', account)
    .returning('id')
  return (await domainRecords.executeIf(db, account, id, precondition, detachment)).length > 0
}

/** Domains that the dashboard can still restore are not being removed yet. */
const removed = query
  .selectFrom('domains')
  .select('id')
  .where('account_id', '=', 0)
  .where(({ exists, not, selectFrom }) =>
    not(exists(selectFrom('deleted_domains').select('id').whereRef('deleted_domains.id', '=', 'domains.id'))),
  )

/** Removes a domain together with its links. */
export const domainRemoval: Removal = {
  // In the order of an index, because PostgreSQL would otherwise read past all rows that were deleted before.
  detachLinks: async (db, id) => {
    const links = query.selectFrom('links').select('id').where('domain_id', '=', id)
    const deletion = query
      .deleteFrom('links')
      .where('id', 'in', links.orderBy('alias_folded').limit(detachBatchSize))
      .where((e) => e.exists(removed.where('id', '=', id)))
    return (await db.execute(deletion.returning('id'))).length
  },
  selectLink: (id) => query.selectFrom('links').select('id').where('domain_id', '=', id).limit(1),
  deleteRemoved: (id) =>
    query
      .deleteFrom('domains')
      .where('id', 'in', removed.where('id', '=', id))
      .where('account_id', '=', 0)
      .returning('id'),
  selectRemoved: () => removed,
}
