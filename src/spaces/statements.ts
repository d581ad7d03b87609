/**
 * The SQL of spaces, for every engine; `store.ts` says what it is for.
 */
import type { Generated, Kysely } from 'kysely'
import { insertion, statement, toChange } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Space } from './schema.ts'

interface SpacesTable extends Omit<Space, 'id'> {
  id: Generated<number>
  account_id: number
  name_folded: string
  /** Counts the states that the record has had. */
  revision: Generated<number>
}

type Tables = { spaces: SpacesTable }

export const columns = ['id', 'name', 'color', 'created_at', 'updated_at'] as const
const versionedColumns = [...columns, 'revision'] as const

export type SpaceRow = Space & { readonly revision: number }

interface Own {
  account: number
  id: number
}

export const byId = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.selectFrom('spaces').select(versionedColumns).where('id', '=', id).where('account_id', '=', account),
)

export const byIdToChange = toChange(byId)

interface Following {
  account: number
  after: number
  limit: number
}

export const following = statement((db: Kysely<Tables>, { account, after, limit }: Following) =>
  db
    .selectFrom('spaces')
    .select(columns)
    .where('account_id', '=', account)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit),
)

interface Insert extends Pick<Space, 'name' | 'color' | 'created_at' | 'updated_at'> {
  account: number
  name_folded: string
}

export const inserted = insertion(
  (db: Kysely<Tables>, { account, name, name_folded, color, created_at, updated_at }: Insert) =>
    db
      .insertInto('spaces')
      .values({ account_id: account, name, name_folded, color, created_at, updated_at, revision: firstRevision }),
)

/** Null where a value stays. */
interface Change extends Own {
  name: string | null
  name_folded: string | null
  color: number | null
  now: string
}

/** No row where nothing would change. */
export const changed = statement((db: Kysely<Tables>, { account, id, name, name_folded, color, now }: Change) =>
  db
    .updateTable('spaces')
    .set((e) => ({
      name: e.fn.coalesce(e.val(name), 'name'),
      name_folded: e.fn.coalesce(e.val(name_folded), 'name_folded'),
      color: e.fn.coalesce(e.val(color), 'color'),
      // Whoever waited for another's change does not set the record's time back.
      updated_at: e.case().when('updated_at', '>', now).then(e.ref('updated_at')).else(now).end(),
      revision: e('revision', '+', 1),
    }))
    .where('id', '=', id)
    .where('account_id', '=', account)
    .where((e) => e.or([e('name', '<>', name), e('color', '<>', color)]))
    .returning(versionedColumns),
)

export const deleted = statement((db: Kysely<Tables>, { account, id }: Own) =>
  db.deleteFrom('spaces').where('id', '=', id).where('account_id', '=', account).returning('id'),
)
