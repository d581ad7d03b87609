/**
 * The SQL of spaces, for every engine; `store.ts` says what it is for.
 */
import { type Generated, type Kysely, sql } from 'kysely'
import { recordsOf } from '../storage/records.ts'
import { type Removal, takenOffAtOnce } from '../storage/removal.ts'
import { insertion, statement } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Space } from './schema.ts'

interface SpacesTable extends Omit<Space, 'id'> {
  id: Generated<number>
  account_id: number
  name_folded: string
  revision: number
}

/** What spaces know of the links in them. */
interface LinksTable {
  id: number
  space_id: number | null
  updated_at: string
  revision: number
}

type Tables = { spaces: SpacesTable; links: LinksTable }

export const spaces = recordsOf<Space>(
  'spaces',
  ['id', 'name', 'color', 'created_at', 'updated_at'],
  ['name', 'name_folded', 'color'],
)

interface Named {
  account: number
  name_folded: string
  limit: number
}

export const selectByName = statement((db: Kysely<Tables>, { account, name_folded, limit }: Named) =>
  db
    .selectFrom('spaces')
    .select(spaces.columns)
    .where('account_id', '=', account)
    .where('name_folded', '=', name_folded)
    .orderBy('id')
    .limit(limit),
)

interface Insert extends Omit<SpacesTable, 'id' | 'account_id' | 'revision'> {
  account: number
}

export const insert = insertion(
  (db: Kysely<Tables>, { account, name, name_folded, color, created_at, updated_at }: Insert) =>
    db
      .insertInto('spaces')
      .values({ account_id: account, name, name_folded, color, created_at, updated_at, revision: firstRevision }),
)

interface Own {
  readonly account: number
  readonly id: number
}

export const takeOut = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db
    .updateTable('spaces')
    .set({ account_id: 0 })
    .where('id', '=', id)
    .where('account_id', '=', account)
    .returning('id'),
)

export const removal: Removal = {
  takeLinksOff: statement((db: Kysely<Tables>, { id, now }: { id: number; now: string }) =>
    db
      .updateTable('links')
      .set({
        space_id: null,
        updated_at: sql`case when updated_at < ${now} then ${now} else updated_at end`,
        revision: sql`revision + 1`,
      })
      .where('id', 'in', (some) =>
        some.selectFrom('links').select('id').where('space_id', '=', id).orderBy('id').limit(takenOffAtOnce),
      )
      .where((e) => e.exists(db.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', 0)))
      .returning('id'),
  ),
  selectLink: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.selectFrom('links').select('id').where('space_id', '=', id).limit(1),
  ),
  deleteOut: statement((db: Kysely<Tables>, { id }: { id: number }) =>
    db.deleteFrom('spaces').where('id', '=', id).where('account_id', '=', 0).returning('id'),
  ),
  selectOut: statement((db: Kysely<Tables>) => db.selectFrom('spaces').select('id').where('account_id', '=', 0)),
}
