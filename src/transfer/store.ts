import type { Kysely } from 'kysely'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface Tables {
  instance: { database_id: string }
  origins: { record_id: number; account_id: number; source: string; source_id: number }
}

/** Where a record was before: the id of its database, and the id that it had there. */
interface Origin {
  readonly source: string
  readonly id: number
}

/** The id of this database, which no other has but its copies. */
export async function databaseId(db: Db): Promise<string> {
  const [instance] = await db.all(identity, {})
  return instance?.database_id as string
}

const identity = statement((db: Kysely<Tables>) => db.selectFrom('instance').select('database_id'))

interface Place extends Origin {
  readonly account: number
}

/**
 * Remembers where the records of one kind were imported from, for as long as they exist: the table `<singular>_origins`,
 * whose rows go with their record, `<singular>_id`.
 */
export class Origins {
  readonly singular: string
  readonly #found
  readonly #remembered

  constructor(singular: string) {
    this.singular = singular
    const table = `${singular}_origins` as 'origins'
    const record = `${singular}_id` as 'record_id'
    this.#found = statement((db: Kysely<Tables>, { account, source, id }: Place) =>
      db
        .selectFrom(table)
        .select((e) => e.ref(record).as('id'))
        .where('account_id', '=', account)
        .where('source', '=', source)
        .where('source_id', '=', id),
    )
    this.#remembered = statement((db: Kysely<Tables>, { account, source, id, here }: Place & { here: number }) =>
      db
        .insertInto(table)
        .values({ [record]: here, account_id: account, source, source_id: id })
        .onConflict((known) => known.columns(['account_id', 'source', 'source_id']).doUpdateSet({ [record]: here })),
    )
  }

  /** The id here of the account's record that was imported from there. */
  async find(db: Db, account: number, origin: Origin): Promise<number | undefined> {
    const [found] = await db.all(this.#found, { account, ...origin })
    return found?.id
  }

  /** From now on, `here` is the record that was imported from there. */
  async remember(tx: Db, account: number, here: number, origin: Origin): Promise<void> {
    await tx.all(this.#remembered, { account, here, ...origin })
  }
}
