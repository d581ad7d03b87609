import { nameTaken } from '../errors.ts'
import type { HostName } from '../names/host-name.ts'
import { resources } from '../resources.ts'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { firstRevision, type Precondition, type Versioned, versionOf } from '../storage/version.ts'
import type { Domain } from './schema.ts'
import {
  byId,
  byIdToChange,
  byName,
  changed,
  columns,
  type DomainRow,
  deleted,
  following,
  inserted,
} from './statements.ts'

/** Where a domain leads; a URL that is undefined stays as it is. */
export interface DomainChange {
  readonly homepage_url?: string | null | undefined
  readonly not_found_url?: string | null | undefined
}

/** What lists need to know of this table. */
const listable: Listable<Domain> = { table: 'domains', columns, ...resources.domains }

/** Lists the account's domains. */
export function listDomains(
  db: Db,
  account: number,
  listing: Omit<Listing<Domain>, 'of' | 'account'>,
): Promise<Page<Domain>> {
  return db.list({ of: listable, account, ...listing })
}

/** The account's domain with this id. */
export async function findDomain(db: Db, account: number, id: number): Promise<Versioned<Domain> | undefined> {
  const [row] = await db.all(byId, { account, id })
  return row && versioned(row)
}

/** The account's domain of this name. */
export async function findDomainByName(db: Db, account: number, name: string): Promise<Domain | undefined> {
  const [domain] = await db.all(byName, { account, name })
  return domain
}

/** The account's domains whose ids come after `after`, in their order; at most `limit`. */
export function domainsAfter(db: Db, account: number, after: number, limit: number): Promise<Domain[]> {
  return db.all(following, { account, after, limit })
}

/**
 * Stores a domain, with times of its own where it is older than this. Throws `name_taken` when any account of the
 * instance has the name: the unique index decides.
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
  const [row] = await db.writeOne(inserted, { account, search_text, ...stored })
  if (row === undefined) throw nameTaken(name)
  return versioned({ id: row.id, ...stored, revision: firstRevision })
}

/**
 * Changes the account's domain; `updated_at` and the version move only when a value does. Undefined when there is no such
 * domain. Throws what `precondition` throws at its present version.
 */
export async function changeDomain(
  db: Db,
  account: number,
  id: number,
  change: DomainChange,
  precondition: Precondition | null,
): Promise<Versioned<Domain> | undefined> {
  const { homepage_url = null, not_found_url = null } = change
  const sets_homepage = Number(change.homepage_url !== undefined)
  const sets_not_found = Number(change.not_found_url !== undefined)
  const urls = { sets_homepage, homepage_url, sets_not_found, not_found_url }
  const wanted = { account, id, ...urls, now: new Date().toISOString() }
  if (precondition === null) {
    const [row] = await db.writeOne(changed, wanted)
    if (row !== undefined) return versioned(row)
    const found = await findDomain(db, account, id)
    // It may have come to be, or been changed by others, since nothing was to be done.
    const isAsWanted = found === undefined || holds(found.record, change)
    return isAsWanted ? found : changeDomain(db, account, id, change, null)
  }
  return db.write(async (tx) => {
    const [old] = await tx.all(byIdToChange, { account, id })
    if (old === undefined) return undefined
    precondition.check(versionOf(old.revision, old.updated_at))
    const [row] = await tx.all(changed, wanted)
    return versioned(row ?? old)
  })
}

/**
 * Deletes the account's domain; false when there is no such domain. Throws what `precondition` throws at its present
 * version.
 */
export async function removeDomain(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  if (precondition === null) return (await db.writeOne(deleted, { account, id })).length > 0
  return db.write(async (tx) => {
    const [old] = await tx.all(byIdToChange, { account, id })
    if (old === undefined) return false
    precondition.check(versionOf(old.revision, old.updated_at))
    return (await tx.all(deleted, { account, id })).length > 0
  })
}

function holds(
  record: Domain,
  { homepage_url = record.homepage_url, not_found_url = record.not_found_url }: DomainChange,
) {
  return record.homepage_url === homepage_url && record.not_found_url === not_found_url
}

/** The record as it is shown, in a fresh object: the engine's own are slower to handle. */
function versioned(row: DomainRow): Versioned<Domain> {
  const { id, name, name_unicode, homepage_url, not_found_url, created_at, updated_at, revision } = row
  const record = { id, name, name_unicode, homepage_url, not_found_url, created_at, updated_at }
  return { record, version: versionOf(revision, updated_at) }
}
