import type { Generated, Kysely } from 'kysely'
import { nameTaken } from '../errors.ts'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'
import type { HostName } from './domain.ts'
import type { Domain } from './schema.ts'

interface DomainsTable extends Omit<Domain, 'id'> {
  id: Generated<number>
  account_id: number
  /** The folded forms of the name, a line feed between them; null when the name is its only form. */
  search_text: string | null
}

type Tables = { domains: DomainsTable }

/** Where a domain leads; a URL that is undefined stays as it is. */
export interface DomainChange {
  readonly homepage_url?: string | null | undefined
  readonly not_found_url?: string | null | undefined
}

const columns = ['id', 'name', 'name_unicode', 'homepage_url', 'not_found_url', 'created_at', 'updated_at'] as const

/** What lists need to know of this table. */
const listable: Listable<Domain> = {
  table: 'domains',
  columns,
  nameColumn: 'name',
  searchText: 'coalesce(search_text, name)',
}

/** Lists the account's domains. */
export function listDomains(
  db: Db,
  account: number,
  listing: Omit<Listing<Domain>, 'of' | 'account'>,
): Promise<Page<Domain>> {
  return db.list({ of: listable, account, ...listing })
}

/** The account's domain with this id. */
export async function findDomain(db: Db, account: number, id: number): Promise<Domain | undefined> {
  const [domain] = await db.all(byId, { account, id })
  return domain
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

/** Stores a domain, with times of its own where it is older than this. Throws `name_taken` when any account of the instance has the name: the unique index decides. */
export function insertDomain(
  db: Db,
  account: number,
  { name, nameUnicode }: HostName,
  urls: { homepage_url: string | null; not_found_url: string | null },
  times?: Pick<Domain, 'created_at' | 'updated_at'>,
): Promise<Domain> {
  return db.write(async (tx) => {
    const now = new Date().toISOString()
    const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
    const search_text = name === nameUnicode ? null : `${name}\n${foldCase(nameUnicode)}`
    const { homepage_url, not_found_url } = urls
    const unicode = { name_unicode: nameUnicode, search_text }
    const values = { account, name, ...unicode, homepage_url, not_found_url, created_at, updated_at }
    const [domain] = await tx.all(inserted, values)
    if (domain === undefined) throw nameTaken(name)
    return domain
  })
}

/** Changes the account's domain; `updated_at` moves only when a value does. Undefined when there is no such domain. */
export function changeDomain(db: Db, account: number, id: number, change: DomainChange): Promise<Domain | undefined> {
  return db.write(async (tx) => {
    const old = await findDomain(tx, account, id)
    if (old === undefined) return undefined
    const { homepage_url = old.homepage_url, not_found_url = old.not_found_url } = change
    if (homepage_url === old.homepage_url && not_found_url === old.not_found_url) return old
    const [domain] = await tx.all(updated, { account, id, homepage_url, not_found_url, now: new Date().toISOString() })
    return domain
  })
}

/** Deletes the account's domain; false when there is no such domain. */
export async function removeDomain(db: Db, account: number, id: number): Promise<boolean> {
  const gone = await db.write((tx) => tx.all(deleted, { account, id }))
  return gone.length > 0
}

interface Own {
  account: number
  id: number
}

const byId = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('domains').select(columns).where('id', '=', id).where('account_id', '=', account),
)

const byName = statement((db: Kysely<Tables>, { account, name }: { account: number; name: string }) =>
  db.selectFrom('domains').select(columns).where('name', '=', name).where('account_id', '=', account),
)

interface Following {
  account: number
  after: number
  limit: number
}

const following = statement((db: Kysely<Tables>, { account, after, limit }: Following) =>
  db
    .selectFrom('domains')
    .select(columns)
    .where('account_id', '=', account)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit),
)

interface Insert {
  account: number
  name: string
  name_unicode: string
  search_text: string | null
  homepage_url: string | null
  not_found_url: string | null
  created_at: string
  updated_at: string
}

const inserted = statement((db: Kysely<Tables>, domain: Insert) =>
  db
    .insertInto('domains')
    .values({
      account_id: domain.account,
      name: domain.name,
      name_unicode: domain.name_unicode,
      search_text: domain.search_text,
      homepage_url: domain.homepage_url,
      not_found_url: domain.not_found_url,
      created_at: domain.created_at,
      updated_at: domain.updated_at,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning(columns),
)

type Update = Own & { homepage_url: string | null; not_found_url: string | null; now: string }

const updated = statement((db: Kysely<Tables>, { account, id, homepage_url, not_found_url, now }: Update) =>
  db
    .updateTable('domains')
    .set({ homepage_url, not_found_url, updated_at: now })
    .where('id', '=', id)
    .where('account_id', '=', account)
    .returning(columns),
)

const deleted = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.deleteFrom('domains').where('id', '=', id).where('account_id', '=', account).returning('id'),
)
