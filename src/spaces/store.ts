import { ForeignKeyViolation } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import { resources } from '../resources.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { changeIf, changeRecord, findRecord, removeRecord, toVersioned } from '../storage/records.ts'
import { finishRemoval, finishRemovals, type IsStopped } from '../storage/removal.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import type { Space } from './schema.ts'
import { insert, removal, selectByName, spaces, takeOut } from './statements.ts'

/** What is to change; a value that is undefined stays as it is. */
export interface SpaceChange {
  readonly name?: string | undefined
  readonly color?: number | undefined
}

const listable: Listable<Space> = { table: 'spaces', columns: spaces.columns, ...resources.spaces }

/** Lists the account's spaces. */
export function listSpaces(storage: Storage, account: number, page: PageRequest): Promise<Page<Space>> {
  return storage.list({ of: listable, account, ...page })
}

/** The account's space with this id. */
export function findSpace(db: Db, account: number, id: number): Promise<Versioned<Space> | undefined> {
  return findRecord(db, spaces, account, id)
}

/** The account's spaces whose ids come after `after`, in their order; at most `limit`. */
export function spacesAfter(db: Db, account: number, after: number, limit: number): Promise<Space[]> {
  return db.all(spaces.selectFollowing, { account, after, limit })
}

/** The account's spaces of this name, whatever its case; at most `limit`. */
export function spacesNamed(db: Db, account: number, name: string, limit: number): Promise<Space[]> {
  return db.all(selectByName, { account, name_folded: foldCase(name), limit })
}

/** Stores a space, with its own times if it is older than this. */
export async function insertSpace(
  db: Db,
  account: number,
  { name, color }: Pick<Space, 'name' | 'color'>,
  times?: Pick<Space, 'created_at' | 'updated_at'>,
): Promise<Versioned<Space>> {
  const now = new Date().toISOString()
  const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
  const stored = { name, color, created_at, updated_at }
  const [row] = await db.writeOne(insert, { account, name_folded: foldCase(name), ...stored })
  const { id } = row as Pick<Space, 'id'>
  return toVersioned(spaces, { id, ...stored, revision: firstRevision })
}

/** Changes the account's space: see `changeRecord`. */
export function changeSpace(
  db: Db,
  account: number,
  id: number,
  { name, color }: SpaceChange,
  precondition: Precondition | null,
): Promise<Versioned<Space> | undefined> {
  const name_folded = name === undefined ? undefined : foldCase(name)
  return changeRecord(db, spaces, { account, id }, { name, name_folded, color }, precondition)
}

/**
 * Deletes the account's space: see `removeRecord`. Its links stay, without a space; `wait` says for how long to wait until
 * they have left it.
 */
export async function removeSpace(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
  wait: (finish: (isStopped?: IsStopped) => Promise<void>) => Promise<void> = (finish) => finish(),
): Promise<boolean> {
  const own = { account, id }
  try {
    return await removeRecord(db, spaces, own, precondition)
  } catch (error) {
    if (!(error instanceof ForeignKeyViolation)) throw error
  }
  const isGone = (await changeIf(db, spaces, own, precondition, takeOut, own)).length > 0
  if (isGone) await wait((isStopped) => finishRemoval(db, removal, id, isStopped))
  return isGone
}

/** Ends the removals of spaces that were interrupted. */
export function finishSpaceRemovals(db: Db, isStopped?: IsStopped): Promise<void> {
  return finishRemovals(db, removal, isStopped)
}
