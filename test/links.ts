/** Links, domains and spaces in the database, stored without the rules of the API. */

import { sql } from 'kysely'
import { type Actor, systemActor } from '../src/access/actor.ts'
import { createAccount } from '../src/accounts/store.ts'
import { insertDomain } from '../src/domains/store.ts'
import { foldCase } from '../src/lib/text.ts'
import { insertLink as insert, type LinkHistory } from '../src/links/batch-insertion.ts'
import type { LinkRules } from '../src/links/link-violations.ts'
import { type LinkRow, type LinkValues, type NewLink, storeLink } from '../src/links/schema.ts'
import type { LinkDomain } from '../src/links/store.ts'
import { shortUrls } from '../src/names/short-url.ts'
import { insertSpace } from '../src/spaces/store.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Db, StorageLocation } from '../src/storage/port.ts'
import type { Versioned } from '../src/storage/records.ts'
import { query, type Row } from '../src/storage/schema.ts'
import { type Later, newLocation } from './engine.ts'

/** The values of a link that has only a URL. */
const { domain_id: _, alias: __, ...values } = storeLink.check({ url: 'https://acme.com/' }) as NewLink
export const plainLink: LinkValues = values

/** Opens a new database with an account and a domain twice, like two nodes. */
export async function twoNodes(later: Later, engine?: StorageLocation['engine']) {
  const location = await newLocation(later, engine)
  const open = async () => {
    const storage = await openStorage(location)
    later(() => storage.close())
    return storage
  }
  const [storage, other] = [await open(), await open()]
  const { id: account } = await createAccount(storage, 'Acme')
  const domain = await newDomain(storage, account, 'go.acme.com')
  return { storage, other, account, domain }
}

/** Stores a domain; returns its id. */
export async function newDomain(db: Db, account: number, name: string): Promise<number> {
  const urls = { homepage_url: null, not_found_url: null }
  return (await insertDomain(db, systemActor(account), { name, nameUnicode: name }, urls)).record.id
}

/** The rules of links of a server without configuration. */
export const linkRules: LinkRules = { shortUrl: shortUrls('https://{domain}'), urlSchemes: [] }

/** Stores a link by the batch engine, with tags that the actor may create. */
export function insertLink(
  db: Db,
  actor: Actor,
  domain: LinkDomain,
  values: LinkValues & Pick<NewLink, 'alias'>,
  history?: LinkHistory,
): Promise<Versioned<LinkRow>> {
  return insert(db, actor, { ...values, domain_id: domain.id, ...(history && { history }) }, linkRules.shortUrl)
}

/** Stores main addresses for links stored without the batch engine. */
const missingAddresses = query
  .insertInto('addresses')
  .columns(['account_id', 'link_id', 'domain_id', 'alias', 'alias_folded', 'exact', 'legacy', 'created_at', 'main'])
  .expression(
    query
      .selectFrom('links')
      .select(['account_id', 'id', 'domain_id', 'alias', 'alias_folded', 'exact', 'legacy', 'created_at'])
      .select(sql<number>`1`.as('main'))
      .where(sql<boolean>`not exists (select 1 from addresses where link_id = links.id)`),
  )

/** Stores a link; returns its id. */
export async function newLink(
  db: Db,
  { account, domain }: { account: number; domain: number },
  alias: string,
  limit: number | null = null,
): Promise<number> {
  const insertion = query.insertInto('links').values({
    account_id: account,
    domain_id: domain,
    alias,
    alias_folded: foldCase(alias),
    ...plainColumns,
    clicks_limit: limit,
    status: 'active',
    created_at: at,
    updated_at: at,
  })
  const [row] = await db.execute(insertion.returning('id'))
  await db.execute(missingAddresses)
  return (row as { id: number }).id
}

const at = '2026-11-22T10:00:00.000Z'

const { space_id: ___, tags: ____, ...plainFields } = plainLink
const plainColumns = { ...plainFields, disabled: 0, forward_query: 0, archived: 0, exact: 0 }

/** The columns that tests set. */
export type LinkColumns = Pick<Row<'links'>, keyof typeof plainColumns>

/** Sets a link's columns, and resets the other columns of `LinkColumns`. */
export async function setLink(db: Db, id: number, columns: Partial<LinkColumns>): Promise<void> {
  await db.execute(
    query
      .updateTable('links')
      .set({ ...plainColumns, ...columns })
      .where('id', '=', id),
  )
}

export const setUrl = ({ id, url }: { id: number; url: string }) => edit(id, { url })

export async function setAlias(db: Db, id: number, alias: string): Promise<void> {
  const columns = { alias, alias_folded: alias }
  await db.execute(query.updateTable('addresses').set(columns).where('link_id', '=', id).where('main', '=', 1))
  await db.execute(edit(id, columns))
}

/** Changes a link's columns, as an edit does. */
function edit(id: number, columns: Partial<Row<'links'>>) {
  const revision = sql<number>`revision + 1`
  return query
    .updateTable('links')
    .set({ ...columns, revision })
    .where('id', '=', id)
}

export const deleteLink = ({ id }: { id: number }) => query.deleteFrom('links').where('id', '=', id)

/** Moves a domain out of its account, as its removal does. */
export const takeDomainAway = ({ id, name }: { id: number; name: string }) =>
  query.updateTable('domains').set({ account_id: 0, name }).where('id', '=', id)

export const clicksOf = ({ id }: { id: number }) =>
  query
    .selectFrom('link_clicks')
    .innerJoin('links', 'id', 'link_id')
    .select(['clicks', 'last_clicked_ms', 'status_due_at'])
    .where('id', '=', id)

/** Stores a space; returns its id. */
export async function newSpace(db: Db, account: number, name: string): Promise<number> {
  return (await insertSpace(db, systemActor(account), { name, color: 1 })).record.id
}

/** Sets the space of a link; null for none. */
export const setSpace = ({ id, space }: { id: number; space: number | null }) =>
  query.updateTable('links').set({ space_id: space }).where('id', '=', id)

/** Moves a link to another domain, together with its main address. */
export async function setDomain(db: Db, { id, domain }: { id: number; domain: number }): Promise<void> {
  const change = { domain_id: domain }
  await db.execute(query.updateTable('links').set(change).where('id', '=', id))
  await db.execute(query.updateTable('addresses').set(change).where('link_id', '=', id).where('main', '=', 1))
}

export const dueOf = ({ id }: { id: number }) => query.selectFrom('links').select('status_due_at').where('id', '=', id)

/** Selects `columns` for each `i` from 1 to `last`. */
const numbers = (last: number, columns: string) =>
  sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(last)})
    select ${sql.raw(columns)} from n`

/** Writes `count` changes of links into the log. */
export const fillChanges = (count: number) =>
  query.insertInto('changes').columns(['resource', 'record_id']).expression(numbers(count, `'links', i`))

export const countChanges = () =>
  query
    .withTables<{ changes: { seq: number } }>()
    .selectFrom('changes')
    .select((e) => e.fn.countAll<number>().as('changes'))

/** Stores `count` links on a domain, with the aliases `l` and a number, from `first` on. */
export async function fillLinks(
  db: Db,
  { account, domain }: { account: number; domain: number },
  first: number,
  count: number,
): Promise<void> {
  const insertion = query
    .insertInto('links')
    .columns([
      'account_id',
      'domain_id',
      'alias',
      'alias_folded',
      'url',
      'disabled',
      'forward_query',
      'redirect_status',
      'status',
      'created_at',
      'updated_at',
    ])
    .expression(
      numbers(
        count,
        `${account}, ${domain}, 'l' || (i + ${first - 1}), 'l' || (i + ${first - 1}), 'https://acme.com/', 0, 0, 302,
          'active', '${at}', '${at}'`,
      ),
    )
  await db.execute(insertion)
  await db.execute(missingAddresses)
}
