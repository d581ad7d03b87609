import type { Generated, Kysely } from 'kysely'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { statement, toChange } from '../storage/statement.ts'
import type { Space } from './schema.ts'

interface SpacesTable extends Omit<Space, 'id'> {
  id: Generated<number>
  account_id: number
  name_folded: string
}

type Tables = { spaces: SpacesTable }

/** What is to change; a value that is undefined stays as it is. */
export interface SpaceChange {
  readonly name?: string | undefined
  readonly color?: number | undefined
}

const columns = ['id', 'name', 'color', 'created_at', 'updated_at'] as const

const listable: Listable<Space> = { table: 'spaces', columns, nameColumn: 'name_folded', searchText: 'name_folded' }

/** Lists the account's spaces. */
export function listSpaces(
  db: Db,
  account: number,
  listing: Omit<Listing<Space>, 'of' | 'account'>,
): Promise<Page<Space>> {
  return db.list({ of: listable, account, ...listing })
}

/** The account's space with this id. */
export async function findSpace(db: Db, account: number, id: number): Promise<Space | undefined> {
  const [space] = await db.all(byId, { account, id })
  return space
}

/** Stores a space. */
export async function insertSpace(db: Db, account: number, name: string, color: number): Promise<Space> {
  const now = new Date().toISOString()
  const [space] = await db.writeOne(inserted, { account, name, name_folded: foldCase(name), color, now })
  return space as Space
}

/** Changes the account's space; `updated_at` moves only when a value does. Undefined when there is no such space. */
export function changeSpace(db: Db, account: number, id: number, change: SpaceChange): Promise<Space | undefined> {
  return db.write(async (tx) => {
    const [old] = await tx.all(byIdToChange, { account, id })
    if (old === undefined) return undefined
    const { name = old.name, color = old.color } = change
    if (name === old.name && color === old.color) return old
    const now = new Date().toISOString()
    const [space] = await tx.all(updated, { account, id, name, name_folded: foldCase(name), color, now })
    return space
  })
}

/** Deletes the account's space; false when there is no such space. */
export async function removeSpace(db: Db, account: number, id: number): Promise<boolean> {
  const gone = await db.writeOne(deleted, { account, id })
  return gone.length > 0
}

interface Own {
  account: number
  id: number
}

interface Values {
  account: number
  name: string
  name_folded: string
  color: number
  now: string
}

const byId = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('spaces').select(columns).where('id', '=', id).where('account_id', '=', account),
)

const byIdToChange = toChange(byId)

const inserted = statement((db: Kysely<Tables>, { account, name, name_folded, color, now }: Values) =>
  db
    .insertInto('spaces')
    .values({ account_id: account, name, name_folded, color, created_at: now, updated_at: now })
    .returning(columns),
)

const updated = statement((db: Kysely<Tables>, { account, id, name, name_folded, color, now }: Own & Values) =>
  db
    .updateTable('spaces')
    .set({ name, name_folded, color, updated_at: now })
    .where('id', '=', id)
    .where('account_id', '=', account)
    .returning(columns),
)

const deleted = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.deleteFrom('spaces').where('id', '=', id).where('account_id', '=', account).returning('id'),
)
