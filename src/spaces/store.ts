import { sql } from 'kysely'
import { ForeignKeyViolation } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import { resources } from '../resources.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { Records } from '../storage/records.ts'
import { detachBatchSize, finishRemoval, finishRemovals, type IsStopped, type Removal } from '../storage/removal.ts'
import { query } from '../storage/schema.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import type { Space } from './schema.ts'

/** New values of a space. An undefined value stays unchanged. */
export interface SpaceChange {
  readonly name?: string | undefined
  readonly color?: number | undefined
}

const spaces = new Records<Space>('spaces', ['id', 'name', 'color', 'created_at', 'updated_at'])

const listable: Listable<Space> = { table: 'spaces', columns: spaces.columns, ...resources.spaces }

/** Lists the account's spaces. */
export function listSpaces(storage: Storage, account: number, page: PageRequest): Promise<Page<Space>> {
  return storage.list({ of: listable, account, ...page })
}

/** Finds the account's space with this id. */
export function findSpace(db: Db, account: number, id: number): Promise<Versioned<Space> | undefined> {
  return spaces.find(db, account, id)
}

/** Lists the account's spaces with ids above `after`, in the order of ids; `limit` at most. */
export function spacesAfter(db: Db, account: number, after: number, limit: number): Promise<Space[]> {
  return spaces.listAfter(db, account, after, limit)
}

/** Lists the account's spaces with this name, case-insensitively; `limit` at most. */
export function spacesNamed(db: Db, account: number, name: string, limit: number): Promise<Space[]> {
  return db.execute(
    query
      .selectFrom('spaces')
      .select(spaces.columns)
      .where('account_id', '=', account)
      .where('name_folded', '=', foldCase(name))
      .orderBy('id')
      .limit(limit),
  )
}

/** Stores a space; an imported one keeps its times. */
export async function insertSpace(
  db: Db,
  account: number,
  { name, color }: Pick<Space, 'name' | 'color'>,
  times?: Pick<Space, 'created_at' | 'updated_at'>,
): Promise<Versioned<Space>> {
  const now = new Date().toISOString()
  const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
  const stored = { name, color, created_at, updated_at }
  const [row] = await db.execute(
    query
      .insertInto('spaces')
      .values({ account_id: account, name_folded: foldCase(name), ...stored })
      .returning('id'),
  )
  const { id } = row as Pick<Space, 'id'>
  return spaces.toVersioned({ id, ...stored, revision: firstRevision })
}

/** Changes the account's space, as `Records.change` does. */
export function changeSpace(
  db: Db,
  account: number,
  id: number,
  { name, color }: SpaceChange,
  precondition: Precondition | null,
): Promise<Versioned<Space> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  return spaces.change(db, account, id, { name, name_folded, color }, precondition)
}

/**
 * Deletes the account's space, as `Records.remove` does. Its links stay, without a space. `wait` decides how long to wait
 * until they have left it.
 */
export async function removeSpace(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
  wait: (finish: (isStopped?: IsStopped) => Promise<void>) => Promise<void> = (finish) => finish(),
): Promise<boolean> {
  try {
    return await spaces.remove(db, account, id, precondition)
  } catch (error) {
    if (!(error instanceof ForeignKeyViolation)) throw error
  }
  const takeOut = query.updateTable('spaces').set({ account_id: 0 }).where('id', '=', id)
  const taken = takeOut.where('account_id', '=', account).returning('id')
  const isGone = (await spaces.executeIf(db, account, id, precondition, taken)).length > 0
  if (isGone) await wait((isStopped) => finishRemoval(db, removal, id, isStopped))
  return isGone
}

/** Finishes interrupted removals of spaces. */
export function finishSpaceRemovals(db: Db, isStopped?: IsStopped): Promise<void> {
  return finishRemovals(db, removal, isStopped)
}

const removed = query.selectFrom('spaces').select('id').where('account_id', '=', 0)

const removal: Removal = {
  detachLinks: (id, now) => {
    const links = query.selectFrom('links').select('id').where('space_id', '=', id)
    return query
      .updateTable('links')
      .set({
        space_id: null,
        updated_at: sql`case when updated_at < ${now} then ${now} else updated_at end`,
        revision: sql`revision + 1`,
      })
      .where('id', 'in', links.orderBy('id').limit(detachBatchSize))
      .where((e) => e.exists(removed.where('id', '=', id)))
      .returning('id')
  },
  selectLink: (id) => query.selectFrom('links').select('id').where('space_id', '=', id).limit(1),
  deleteRemoved: (id) => query.deleteFrom('spaces').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  selectRemoved: () => removed,
}
