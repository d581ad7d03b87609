import type { Kysely } from 'kysely'
import type { Space } from '../spaces/schema.ts'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface Tables {
  instance: { database_id: string }
  spaces: Pick<Space, 'id' | 'name' | 'color'> & { account_id: number }
  space_origins: { space_id: number; account_id: number; source: string; source_id: number }
}

/** Where a record was before: the id of its database, and the id that it had there. */
export interface Origin {
  readonly source: string
  readonly id: number
}

/** What tells this database from every other. */
export async function databaseId(db: Db): Promise<string> {
  const [instance] = await db.all(identity, {})
  return instance?.database_id as string
}

/** The account's space that was imported from there, if it still is. */
export async function findImportedSpace(db: Db, account: number, { source, id }: Origin) {
  const [space] = await db.all(byOrigin, { account, source, id })
  return space
}

/** Remembers where a space of the account was imported from, for as long as there is the space. */
export async function rememberOrigin(db: Db, account: number, space: number, { source, id }: Origin): Promise<void> {
  await db.write((tx) => tx.all(remembered, { account, space, source, id }))
}

const identity = statement((db: Kysely<Tables>) => db.selectFrom('instance').select('database_id'))

const byOrigin = statement((db: Kysely<Tables>, { account, source, id }: Origin & { account: number }) =>
  db
    .selectFrom('space_origins')
    .innerJoin('spaces', 'spaces.id', 'space_origins.space_id')
    .select(['spaces.id', 'spaces.name', 'spaces.color'])
    .where('space_origins.account_id', '=', account)
    .where('source', '=', source)
    .where('source_id', '=', id),
)

const remembered = statement((db: Kysely<Tables>, own: Origin & { account: number; space: number }) =>
  db
    .insertInto('space_origins')
    .values({ space_id: own.space, account_id: own.account, source: own.source, source_id: own.id })
    .returning('space_id'),
)
