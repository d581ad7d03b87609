import type { Generated, Kysely } from 'kysely'
import { nameTaken } from '../errors.ts'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { statement, toChange } from '../storage/statement.ts'
import { type Precondition, type Versioned, versionOf } from '../storage/version.ts'
import type { HostName } from './domain.ts'
import type { Domain } from './schema.ts'

interface DomainsTable extends Omit<Domain, 'id'> {
  id: Generated<number>
  account_id: number
  /** The folded forms of the name, a line feed between them; null when the name is its only form. */
  search_text: string | null
  /** Counts the states that the record has had. */
  revision: Generated<number>
}

type Tables = { domains: DomainsTable }

/** Where a domain leads; a URL that is undefined stays as it is. */
export interface DomainChange {
  readonly homepage_url?: string | null | undefined
  readonly not_found_url?: string | null | undefined
}

const columns = ['id', 'name', 'name_unicode', 'homepage_url', 'not_found_url', 'created_at', 'updated_at'] as const
const versionedColumns = [...columns, 'revision'] as const

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
  const unicode = { name_unicode: nameUnicode, search_text }
  const values = { account, name, ...unicode, homepage_url, not_found_url, created_at, updated_at }
  const [row] = await db.writeOne(inserted, values)
  if (row === undefined) throw nameTaken(name)
  return versioned(row)
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
    return row === undefined ? findDomain(db, account, id) : versioned(row)
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

type DomainRow = Domain & { readonly revision: number }

/** The record as it is shown, in a fresh object: the engine's own are slower to handle. */
function versioned(row: DomainRow): Versioned<Domain> {
  const { id, name, name_unicode, homepage_url, not_found_url, created_at, updated_at, revision } = row
  const record = { id, name, name_unicode, homepage_url, not_found_url, created_at, updated_at }
  return { record, version: versionOf(revision, updated_at) }
}

interface Own {
  account: number
  id: number
}

const byId = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('domains').select(versionedColumns).where('id', '=', id).where('account_id', '=', account),
)

const byIdToChange = toChange(byId)

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

// The index decides, but on some engines a row that it refuses uses up an id: one that is in the way is looked for first.
const inserted = statement((db: Kysely<Tables>, domain: Insert) =>
  db
    .insertInto('domains')
    .columns([
      ...(['account_id', 'name', 'name_unicode', 'search_text'] as const),
      ...(['homepage_url', 'not_found_url', 'created_at', 'updated_at'] as const),
    ])
    .expression(
      db
        .selectNoFrom((e) => [
          e.val(domain.account).as('account_id'),
          e.val(domain.name).as('name'),
          e.val(domain.name_unicode).as('name_unicode'),
          e.val(domain.search_text).as('search_text'),
          e.val(domain.homepage_url).as('homepage_url'),
          e.val(domain.not_found_url).as('not_found_url'),
          e.val(domain.created_at).as('created_at'),
          e.val(domain.updated_at).as('updated_at'),
        ])
        .where((e) => e.not(e.exists(db.selectFrom('domains').select('id').where('name', '=', domain.name)))),
    )
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning(versionedColumns),
)

interface Change extends Own {
  /** 1 where the URL is to be set, 0 where it stays. */
  sets_homepage: number
  homepage_url: string | null
  sets_not_found: number
  not_found_url: string | null
  now: string
}

/** No row where nothing would change. */
const changed = statement((db: Kysely<Tables>, change: Change) =>
  db
    .updateTable('domains')
    .set((e) => ({
      homepage_url: e
        .case()
        .when(e.val(change.sets_homepage), '=', 1)
        .then(change.homepage_url)
        .else(e.ref('homepage_url'))
        .end(),
      not_found_url: e
        .case()
        .when(e.val(change.sets_not_found), '=', 1)
        .then(change.not_found_url)
        .else(e.ref('not_found_url'))
        .end(),
      updated_at: change.now,
      revision: e('revision', '+', 1),
    }))
    .where('id', '=', change.id)
    .where('account_id', '=', change.account)
    .where((e) =>
      e.or([
        e.and([e(e.val(change.sets_homepage), '=', 1), e('homepage_url', 'is distinct from', change.homepage_url)]),
        e.and([e(e.val(change.sets_not_found), '=', 1), e('not_found_url', 'is distinct from', change.not_found_url)]),
      ]),
    )
    .returning(versionedColumns),
)

const deleted = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.deleteFrom('domains').where('id', '=', id).where('account_id', '=', account).returning('id'),
)
