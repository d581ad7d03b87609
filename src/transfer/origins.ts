import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { InvalidRecord, type Store, type Stored, type Times } from './transferable.ts'

/** The source database of a record and its id there. */
interface Origin {
  readonly source: string
  readonly id: number
}

/** Returns this database's id, which only copies share. */
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

  /** Finds the record imported from `origin`. Returns its id. */
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

interface Row extends Times {
  readonly id: number
}

/** A record of a file. */
interface ImportedRecord<Found extends Row> {
  /** Its id at its source. */
  readonly id: number
  readonly times: Times | undefined
  readonly find: (db: Db, account: number, id: number) => Promise<Found | undefined>
  /** Returns whether an existing record has the same values. */
  readonly isSame: (found: Found) => boolean
  readonly insert: (tx: Db, account: number) => Promise<Found>
}

/** Returns how to store a record without a unique name. Its source and its id there identify it. */
export function storeByOrigin<Found extends Row>(origins: Origins, record: ImportedRecord<Found>): Store {
  return async (tx, { account, source, isOwn, asNew }) => {
    const origin = { source, id: record.id }
    const importedAs = await origins.find(tx, account, origin)
    const imported = importedAs && (await record.find(tx, account, importedAs))
    if (imported && record.isSame(imported)) return existing(imported)
    const own = isOwn ? await record.find(tx, account, record.id) : undefined
    if (own && record.isSame(own) && hasSameAge(own, record)) return existing(own)
    if (!asNew) rejectConflict(origins.singular, record, imported || undefined, own)
    const { id } = await record.insert(tx, account)
    await origins.remember(tx, account, id, origin)
    return { became: 'stored', id }
  }
}

function existing({ id }: Row): Stored {
  return { became: 'known', id }
}

/** Returns false for different records. A database and its copy assign ids independently. */
function hasSameAge({ created_at }: Row, { times }: { readonly times: Times | undefined }): boolean {
  return times === undefined || times.created_at === created_at
}

/** Throws `InvalidRecord` if the record conflicts with an existing one. */
function rejectConflict(singular: string, record: Pick<ImportedRecord<Row>, 'times'>, imported?: Row, own?: Row): void {
  const advice = '--as-new stores it under a new id.'
  if (imported !== undefined) {
    throw new InvalidRecord(
      `id: It was imported before, as ${singular} ${imported.id}, which now differs from it. ${advice}`,
    )
  }
  if (own === undefined) return
  const what = hasSameAge(own, record) ? 'now differs from it' : `is another record here, created at ${own.created_at}`
  throw new InvalidRecord(`id: The ${singular} ${own.id} ${what}. ${advice}`)
}
