import { resources } from '../resources.ts'
import { foldCase } from '../storage/fold.ts'
import type { Db, Listable, Listing, Page } from '../storage/port.ts'
import { firstRevision, type Precondition, type Versioned, versionOf } from '../storage/version.ts'
import type { Space } from './schema.ts'
import { byId, byIdToChange, changed, columns, deleted, following, inserted, type SpaceRow } from './statements.ts'

/** What is to change; a value that is undefined stays as it is. */
export interface SpaceChange {
  readonly name?: string | undefined
  readonly color?: number | undefined
}

const listable: Listable<Space> = { table: 'spaces', columns, ...resources.spaces }

/** Lists the account's spaces. */
export function listSpaces(
  db: Db,
  account: number,
  listing: Omit<Listing<Space>, 'of' | 'account'>,
): Promise<Page<Space>> {
  return db.list({ of: listable, account, ...listing })
}

/** The account's space with this id. */
export async function findSpace(db: Db, account: number, id: number): Promise<Versioned<Space> | undefined> {
  const [row] = await db.all(byId, { account, id })
  return row && versioned(row)
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
): Promise<Versioned<Space>> {
  const now = new Date().toISOString()
  const { created_at, updated_at } = times ?? { created_at: now, updated_at: now }
  const stored = { name, color, created_at, updated_at }
  const [row] = await db.writeOne(inserted, { account, name_folded: foldCase(name), ...stored })
  const { id } = row as Pick<SpaceRow, 'id'>
  return versioned({ id, ...stored, revision: firstRevision })
}

/**
 * Changes the account's space; `updated_at` and the version move only when a value does. Undefined when there is no such
 * space. Throws what `precondition` throws at its present version.
 */
export async function changeSpace(
  db: Db,
  account: number,
  id: number,
  change: SpaceChange,
  precondition: Precondition | null,
): Promise<Versioned<Space> | undefined> {
  const { name = null, color = null } = change
  const name_folded = name === null ? null : foldCase(name)
  const wanted = { account, id, name, name_folded, color, now: new Date().toISOString() }
  if (precondition === null) {
    const [row] = await db.writeOne(changed, wanted)
    if (row !== undefined) return versioned(row)
    const found = await findSpace(db, account, id)
    // It may have come to be, or been changed by others, since nothing was to be done.
    const isAsWanted = found === undefined || holds(found.record, change)
    return isAsWanted ? found : changeSpace(db, account, id, change, null)
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
 * Deletes the account's space; false when there is no such space. Throws what `precondition` throws at its present
 * version.
 */
export async function removeSpace(
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

function holds(record: Space, { name = record.name, color = record.color }: SpaceChange): boolean {
  return record.name === name && record.color === color
}

/** The record as it is shown, in a fresh object: the engine's own are slower to handle. */
function versioned({ id, name, color, created_at, updated_at, revision }: SpaceRow): Versioned<Space> {
  return { record: { id, name, color, created_at, updated_at }, version: versionOf(revision, updated_at) }
}
