import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** Where a record was before: the id of its database, and the id that it had there. */
interface Origin {
  readonly source: string
  readonly id: number
}

/** Returns the id of this database, which only its copies share. */
export async function databaseId(db: Db): Promise<string> {
  const [instance] = await db.execute(query.selectFrom('instance').select('database_id'))
  return instance?.database_id as string
}

/**
 * Remembers where the records of one kind were imported from: in the table `<singular>_origins`, whose rows are deleted
 * with their record, `<singular>_id`.
 */
export class Origins {
  readonly singular: string
  readonly #table
  readonly #record

  constructor(singular: string) {
    this.singular = singular
    this.#table = `${singular}_origins` as 'space_origins'
    this.#record = `${singular}_id` as 'space_id'
  }

  /** Returns the id of the account's record that was imported from `origin`. */
  async find(db: Db, account: number, { source, id }: Origin): Promise<number | undefined> {
    const [found] = await db.execute(
      query
        .selectFrom(this.#table)
        .select(`${this.#record} as id`)
        .where('account_id', '=', account)
        .where('source', '=', source)
        .where('source_id', '=', id),
    )
    return found?.id
  }

  /** Stores that `record` was imported from `origin`. */
  async remember(tx: Db, account: number, record: number, { source, id }: Origin): Promise<void> {
    await tx.execute(
      query
        .insertInto(this.#table)
        .values({ [this.#record]: record, account_id: account, source, source_id: id })
        .onConflict((conflict) =>
          conflict.columns(['account_id', 'source', 'source_id']).doUpdateSet({ [this.#record]: record }),
        ),
    )
  }
}
