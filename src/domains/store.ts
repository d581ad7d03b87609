import { domainInUse, ForeignKeyViolation, nameTaken } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import type { HostName } from '../names/host-name.ts'
import { resources } from '../resources.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { changeIf, changeRecord, findRecord, removeRecord, toVersioned } from '../storage/records.ts'
import { finishRemoval, finishRemovals, type IsStopped } from '../storage/removal.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import type { Domain } from './schema.ts'
import { countedAtOnce, countLinks, domains, insert, removal, selectByName, takeOut } from './statements.ts'

/** Where a domain leads; a URL that is undefined stays as it is. */
export interface DomainChange {
  readonly homepage_url?: string | null | undefined
  readonly not_found_url?: string | null | undefined
}

const listable: Listable<Domain> = { table: 'domains', columns: domains.columns, ...resources.domains }

/** Lists the account's domains. */
export function listDomains(storage: Storage, account: number, page: PageRequest): Promise<Page<Domain>> {
  return storage.list({ of: listable, account, ...page })
}

/** The account's domain with this id. */
export function findDomain(db: Db, account: number, id: number): Promise<Versioned<Domain> | undefined> {
  return findRecord(db, domains, account, id)
}

/** The account's domain of this name. */
export async function findDomainByName(db: Db, account: number, name: string): Promise<Domain | undefined> {
  const [domain] = await db.all(selectByName, { account, name })
  return domain
}

/** The account's domains whose ids come after `after`, in their order; at most `limit`. */
export function domainsAfter(db: Db, account: number, after: number, limit: number): Promise<Domain[]> {
  return db.all(domains.selectFollowing, { account, after, limit })
}

/**
 * Stores a domain, with its own times if it is older than this. Throws `name_taken` if any account of the instance has
 * the name: the unique index decides.
 */
export async function insertDomain(
  db: Db,
  account: number,
  { name, nameUnicode }: HostName,
  urls: { homepage_url: string | null; not_found_url: string | null },
  times?: Pick<Domain, 'created_at' | 'updated_at'>,
): Promise<Versioned<Domain>> {
  const now = new Date().toISOString()
  const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
  const search_text = name === nameUnicode ? null : `${name}\n${foldCase(nameUnicode)}`
  const { homepage_url, not_found_url } = urls
  const stored = { name, name_unicode: nameUnicode, homepage_url, not_found_url, created_at, updated_at }
  const [row] = await db.writeOne(insert, { account, search_text, ...stored })
  if (row === undefined) throw nameTaken(name)
  return toVersioned(domains, { id: row.id, ...stored, revision: firstRevision })
}

/** Changes where the account's domain leads: see `changeRecord`. */
export function changeDomain(
  db: Db,
  account: number,
  id: number,
  { homepage_url, not_found_url }: DomainChange,
  precondition: Precondition | null,
): Promise<Versioned<Domain> | undefined> {
  return changeRecord(db, domains, { account, id }, { homepage_url, not_found_url }, precondition)
}

/** Deletes the account's domain: see `removeRecord`. Throws `domain_in_use` with their number if it has links. */
export async function removeDomain(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  try {
    return await removeRecord(db, domains, { account, id }, precondition)
  } catch (error) {
    if (!(error instanceof ForeignKeyViolation)) throw error
    const links = await linksOn(db, account, id)
    if (links > 0) throw domainInUse(links)
    // The last link has been deleted since, or something else refers to the domain.
    return removeRecord(db, domains, { account, id }, precondition)
  }
}

async function linksOn(db: Db, account: number, id: number): Promise<number> {
  let [total, after, counted] = [0, 0, countedAtOnce]
  while (counted === countedAtOnce) {
    const [next] = await db.all(countLinks, { account, id, after })
    counted = Number(next?.counted)
    after = Number(next?.last)
    total += counted
  }
  return total
}

/**
 * Takes the domain out of the account, together with its links: for all who ask, it is gone. False if there is no such
 * domain. `finishDomainRemoval` must follow. Throws what `precondition` throws at the present version.
 */
export async function beginDomainRemoval(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  const own = { account, id }
  return (await changeIf(db, domains, own, precondition, takeOut, own)).length > 0
}

/** Deletes a domain that has been taken out of its account, and its links before it. */
export function finishDomainRemoval(db: Db, id: number, isStopped?: IsStopped): Promise<void> {
  return finishRemoval(db, removal, id, isStopped)
}

/** Ends the removals of domains that were interrupted. */
export function finishDomainRemovals(db: Db, isStopped?: IsStopped): Promise<void> {
  return finishRemovals(db, removal, isStopped)
}
