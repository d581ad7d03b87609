import { validationFailed } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import { resources } from '../resources.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { changeRecord, findRecord, removeRecord, toVersioned } from '../storage/records.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import type { Bookmark } from './schema.ts'
import { bookmarks, insert, selectDomain, selectSpace } from './statements.ts'

export type NewBookmark = Pick<Bookmark, 'domain_id' | 'space_id' | 'title' | 'note'>

const listable: Listable<Bookmark> = { table: 'bookmarks', columns: bookmarks.columns, ...resources.bookmarks }

export function listBookmarks(storage: Storage, account: number, page: PageRequest): Promise<Page<Bookmark>> {
  return storage.list({ of: listable, account, ...page })
}

export function findBookmark(db: Db, account: number, id: number): Promise<Versioned<Bookmark> | undefined> {
  return findRecord(db, bookmarks, account, id)
}

export function bookmarksAfter(db: Db, account: number, after: number, limit: number): Promise<Bookmark[]> {
  return db.all(bookmarks.selectFollowing, { account, after, limit })
}

/** Throws `validation_failed` if the account has no such domain or space; another account's is none. */
export function insertBookmark(
  db: Db,
  account: number,
  { domain_id, space_id, title, note }: NewBookmark,
  times?: Pick<Bookmark, 'created_at' | 'updated_at'>,
): Promise<Versioned<Bookmark>> {
  return db.write(async (tx) => {
    await refuseUnknown(tx, account, domain_id, space_id)
    const now = new Date().toISOString()
    const stored = { domain_id, space_id, title, note, created_at: now, updated_at: now, ...times }
    const folded = { title_folded: foldCase(title), note_folded: note === null ? null : foldCase(note) }
    const [row] = await tx.writeOne(insert, { account, ...folded, ...stored })
    const { id } = row as Pick<Bookmark, 'id'>
    return toVersioned(bookmarks, { id, ...stored, revision: firstRevision })
  })
}

export function changeBookmark(
  db: Db,
  account: number,
  id: number,
  { space_id, title, note }: Partial<Omit<NewBookmark, 'domain_id'>>,
  precondition: Precondition | null,
): Promise<Versioned<Bookmark> | undefined> {
  return db.write(async (tx) => {
    await refuseUnknown(tx, account, null, space_id ?? null)
    const folded = { title_folded: title && foldCase(title), note_folded: note && foldCase(note) }
    return changeRecord(tx, bookmarks, { account, id }, { space_id, title, note, ...folded }, precondition)
  })
}

export function removeBookmark(db: Db, account: number, id: number, precondition: Precondition | null) {
  return removeRecord(db, bookmarks, { account, id }, precondition)
}

async function refuseUnknown(tx: Db, account: number, domain: number | null, space: number | null): Promise<void> {
  const isKnownDomain = domain === null || (await tx.all(selectDomain, { account, id: domain })).length > 0
  const isKnownSpace = space === null || (await tx.all(selectSpace, { account, id: space })).length > 0
  const unknown = [...(isKnownDomain ? [] : ['domain']), ...(isKnownSpace ? [] : ['space'])]
  if (unknown.length === 0) return
  throw validationFailed(
    unknown.map((what) => ({ field: `${what}_id`, code: 'not_allowed', message: `There is no such ${what}.` })),
  )
}
