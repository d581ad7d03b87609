/**
 * The SQL of spaces, for every engine; `store.ts` says what it is for.
 */
import type { Generated, Kysely } from 'kysely'
import { recordsOf } from '../storage/records.ts'
import { insertion } from '../storage/statement.ts'
import { firstRevision } from '../storage/version.ts'
import type { Space } from './schema.ts'

interface SpacesTable extends Omit<Space, 'id'> {
  id: Generated<number>
  account_id: number
  name_folded: string
  revision: number
}

type Tables = { spaces: SpacesTable }

export const spaces = recordsOf<Space>(
  'spaces',
  ['id', 'name', 'color', 'created_at', 'updated_at'],
  ['name', 'name_folded', 'color'],
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
