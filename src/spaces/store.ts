import type { Generated, Kysely } from 'kysely'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'
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

/** The account's spaces whose ids come after `after`, in their order; at most `limit`. */
export function spacesAfter(db: Db, account: number, after: number, limit: number): Promise<Space[]> {
  return db.all(following, { account, after, limit })
}

/** Stores a space, with times of its own where it is older than this. */
export async function insertSpace(
  db: Db,
  account: number,
  name: string,
  color: number,
  times?: Pick<Space, 'created_at' | 'updated_at'>,
): Promise<Space> {
  const now = new Date().toISOString()
  const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
  const values = { account, name, name_folded: foldCase(name), color, created_at, updated_at }
  const [space] = await db.write((tx) => tx.all(inserted, values))
  return space as Space
}

/** Changes the account's space; `updated_at` moves only when a value does. Undefined when there is no such space. */
export function changeSpace(db: Db, account: number, id: number, change: SpaceChange): Promise<Space | undefined> {
  return db.write(async (tx) => {
    const old = await findSpace(tx, account, id)
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
  const gone = await db.write((tx) => tx.all(deleted, { account, id }))
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

interface Following {
  account: number
  after: number
  limit: number
}

const following = statement((db: Kysely<Tables>, { account, after, limit }: Following) =>
  db
    .selectFrom('spaces')
    .select(columns)
    .where('account_id', '=', account)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit),
)

type Insert = Omit<Values, 'now'> & Pick<Space, 'created_at' | 'updated_at'>

const inserted = statement(
  (db: Kysely<Tables>, { account, name, name_folded, color, created_at, updated_at }: Insert) =>
    db
      .insertInto('spaces')
      .values({ account_id: account, name, name_folded, color, created_at, updated_at })
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
