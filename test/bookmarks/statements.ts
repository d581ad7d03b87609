import type { Generated, Kysely } from 'kysely'
import { recordsOf } from '../storage/records.ts'
import { insertion, statement } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Bookmark } from './schema.ts'

interface BookmarksTable extends Omit<Bookmark, 'id'> {
  id: Generated<number>
  account_id: number
  title_folded: string
  note_folded: string | null
  revision: number
}

interface Tables {
  bookmarks: BookmarksTable
  domains: { id: number; account_id: number }
  spaces: { id: number; account_id: number }
}

export const bookmarks = recordsOf<Bookmark>(
  'bookmarks',
  ['id', 'domain_id', 'space_id', 'title', 'note', 'created_at', 'updated_at'],
  ['space_id', 'title', 'title_folded', 'note', 'note_folded'],
)

interface Own {
  account: number
  id: number
}

export const selectDomain = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('domains').select('id').where('id', '=', id).where('account_id', '=', account),
)

export const selectSpace = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account),
)

interface Insert extends Omit<BookmarksTable, 'id' | 'account_id' | 'revision'> {
  account: number
}

export const insert = insertion((db: Kysely<Tables>, bookmark: Insert) =>
  db.insertInto('bookmarks').values({
    account_id: bookmark.account,
    domain_id: bookmark.domain_id,
    space_id: bookmark.space_id,
    title: bookmark.title,
    title_folded: bookmark.title_folded,
    note: bookmark.note,
    note_folded: bookmark.note_folded,
    created_at: bookmark.created_at,
    updated_at: bookmark.updated_at,
    revision: firstRevision,
  }),
)
