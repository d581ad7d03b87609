import { sql } from 'kysely'
import { ForeignKeyViolation } from '../errors.ts'
import { foldCase } from '../lib/text.ts'
import type { Db } from '../storage/port.ts'
import { firstRevision, newTimes, type Precondition, Records, type Versioned } from '../storage/records.ts'
import { detachBatchSize, finishRemoval, type IsStopped, type Removal } from '../storage/removal.ts'
import { query } from '../storage/schema.ts'
import { type Space, spaceSchema } from './schema.ts'

/** Lists, finds, changes and deletes spaces. */
export const spaceRecords = new Records<Space>('spaces', Object.keys(spaceSchema.properties) as (keyof Space)[])

/** Lists the account's spaces with this name, case-insensitively; `limit` at most. */
export function spacesNamed(db: Db, account: number, name: string, limit: number): Promise<Space[]> {
  return db.execute(
    query
      .selectFrom('spaces')
      .select(spaceRecords.columns)
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
  times = newTimes(),
): Promise<Versioned<Space>> {
  const stored = { name, color, ...times }
  const [row] = await db.execute(
    query
      .insertInto('spaces')
      .values({ account_id: account, name_folded: foldCase(name), ...stored })
      .returning('id'),
  )
  const { id } = row as Pick<Space, 'id'>
  return spaceRecords.toVersioned({ id, ...stored, revision: firstRevision })
}

/** The database that a space was imported from, and its id there. */
interface Origin {
  readonly source: string
  readonly id: number
}

/** Finds the account's space that was imported from `origin`. */
export async function findImportedSpace(db: Db, account: number, origin: Origin): Promise<Space | undefined> {
  const [found] = await db.execute(
    query
      .selectFrom('space_origins')
      .select('space_id')
      .where('account_id', '=', account)
      .where('source', '=', origin.source)
      .where('source_id', '=', origin.id),
  )
  return found && (await spaceRecords.find(db, account, found.space_id))?.record
}

/** Stores that the account's space was imported from `origin`. */
export async function rememberOrigin(tx: Db, account: number, space_id: number, { source, id }: Origin): Promise<void> {
  await tx.execute(
    query
      .insertInto('space_origins')
      .values({ space_id, account_id: account, source, source_id: id })
      .onConflict((conflict) => conflict.columns(['account_id', 'source', 'source_id']).doUpdateSet({ space_id })),
  )
}

/** Changes the account's space, as `Records.change` does. An undefined value stays unchanged. */
export function changeSpace(
  db: Db,
  account: number,
  id: number,
  { name, color }: { readonly name?: string | undefined; readonly color?: number | undefined },
  precondition: Precondition | null,
): Promise<Versioned<Space> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  return spaceRecords.change(db, account, id, { name, name_folded, color }, precondition)
}

/**
 * Deletes the account's space, as `Records.remove` does. Its links stay, without a space. `run` runs the part that may take
 * long, during which the space is already gone for all clients.
 */
export async function removeSpace(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
  run: (removal: (isStopped?: IsStopped) => Promise<void>) => Promise<void> = (removal) => removal(),
): Promise<boolean> {
  try {
    return await spaceRecords.remove(db, account, id, precondition)
  } catch (error) {
    if (!(error instanceof ForeignKeyViolation)) throw error
  }
  const own = query.updateTable('spaces').where('id', '=', id).where('account_id', '=', account)
  const detachment = own.set({ account_id: 0 }).returning('id')
  const isGone = (await spaceRecords.executeIf(db, account, id, precondition, detachment)).length > 0
  if (isGone) await run((isStopped) => finishRemoval(db, spaceRemoval, id, isStopped))
  return isGone
}

const removed = query.selectFrom('spaces').select('id').where('account_id', '=', 0)

/** Removes a space after its links have left it. */
export const spaceRemoval: Removal = {
  detachLinks: async (db, id, now) => {
    const links = query.selectFrom('links').select('id').where('space_id', '=', id)
    const detachment = query
      .updateTable('links')
      .set({
        space_id: null,
        updated_at: sql`case when updated_at < ${now} then ${now} else updated_at end`,
        revision: sql`revision + 1`,
      })
      .where('id', 'in', links.orderBy('id').limit(detachBatchSize))
      .where((e) => e.exists(removed.where('id', '=', id)))
    return (await db.execute(detachment.returning('id'))).length
  },
  selectLink: (id) => query.selectFrom('links').select('id').where('space_id', '=', id).limit(1),
  deleteRemoved: (id) => query.deleteFrom('spaces').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  selectRemoved: () => removed,
}
