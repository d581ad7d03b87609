/** Finds and changes the records of every resource in the same way. */
import { sql } from 'kysely'
import { resources } from '../resources.ts'
import { all, buildFilters } from './list-filters.ts'
import { type Db, type Listable, type Page, type PageRequest, parts, type Storage } from './port.ts'
import { CachedQuery, type OwnedTable, query, valueById } from './schema.ts'
import { toExpression } from './sql-text.ts'

/** The columns that every record shows. */
interface AnyRecord extends Times {
  readonly id: number
}

type Stored<Row> = Row & { readonly revision: number }

/** Values of columns. In a change, an undefined value leaves its column unchanged. */
type Values = Readonly<Record<string, unknown>>

interface ChangeOptions {
  /** Columns that are set without a new version. */
  readonly unversioned?: Values
  /** Whether the version changes even if no column does. */
  readonly isChanged?: boolean
}

/** The number of `Records`, each of which has other columns. */
let instances = 0

export class Records<Row extends AnyRecord> {
  readonly columns: readonly (keyof Row & string)[]
  readonly #table: OwnedTable
  readonly #listable: Listable<Row>
  readonly #selection
  readonly #shape: string
  readonly #select

  /** `computed` has SQL expressions for columns that the table does not have. */
  constructor(
    table: OwnedTable,
    columns: readonly (keyof Row & string)[],
    computed: Readonly<Record<string, string>> = {},
  ) {
    this.#table = table
    this.columns = columns
    this.#listable = { table, columns, computed, ...resources[table] }
    // One text, because compiling column by column takes longer than finding the record.
    const texts = columns.map((column) => `${computed[column] ?? `"${column}"`} as "${column}"`)
    this.#selection = sql.raw(`${texts.join(', ')}, "revision"`).as('revision')
    // Short, because the shapes of all queries start with it.
    this.#shape = `${table} ${instances++}`
    this.#select = query.selectFrom(table).select(this.#selection).$castTo<Stored<Row>>()
  }

  /** Lists one page with the account's records. */
  list(storage: Storage, account: number, page: PageRequest): Promise<Page<Row>> {
    return storage.list({ of: this.#listable, account, ...page })
  }

  /** Returns whether the account's record with this id meets the filters of a page. */
  async isListed(db: Db, account: number, id: number, page: PageRequest): Promise<boolean> {
    const filters = all(buildFilters({ of: this.#listable, account, ...page }))
    const found = query.selectFrom(this.#table).select('id').where('id', '=', id).where('account_id', '=', account)
    return (await db.execute(found.where(toExpression<boolean>(filters)))).length > 0
  }

  /** Finds the account's record with this id. */
  async find(db: Db, account: number, id: number): Promise<Versioned<Row> | undefined> {
    return (await this.findAll(db, account, [id])).get(id)
  }

  /** Finds the account's records with these ids, by id. */
  async findAll(db: Db, account: number, ids: readonly number[]): Promise<Map<number, Versioned<Row>>> {
    const found = new Map<number, Versioned<Row>>()
    for (const some of parts(ids)) {
      const build = () => this.#select.where('account_id', '=', account).where('id', 'in', some)
      const named = new CachedQuery<Stored<Row>>(`${some.length} of ${this.#shape}`, [account, ...some], build)
      for (const row of await db.execute(named)) found.set(row.id, this.toVersioned(row))
    }
    return found
  }

  /** Finds a record as `find` does, and locks it until the end of the transaction. */
  async findForUpdate(tx: Db, account: number, id: number): Promise<Versioned<Row> | undefined> {
    const build = () => this.#select.where('id', '=', id).where('account_id', '=', account).forUpdate()
    const [row] = await tx.execute(new CachedQuery<Stored<Row>>(`lock ${this.#shape}`, [id, account], build))
    return row && this.toVersioned(row)
  }

  /** Lists records of the account with ids above `after`, by id; `limit` at most. */
  async listAfter(db: Db, account: number, after: number, limit: number): Promise<Row[]> {
    const following = this.#select.where('account_id', '=', account).where('id', '>', after)
    const rows = await db.execute(following.orderBy('id').limit(limit))
    return rows.map((row) => this.toVersioned(row).record)
  }

  /**
   * Stores a record, and returns it; undefined if a unique index rejects it. Look for conflicts first, because a rejected row
   * uses up an id on PostgreSQL.
   */
  async insert(tx: Db, values: Values): Promise<Versioned<Row> | undefined> {
    const build = () => {
      const insertion = query.insertInto(this.#table).values(values as never)
      return insertion.onConflict((conflict) => conflict.doNothing()).returning(this.#selection)
    }
    const shape = `insert ${this.#shape} ${Object.keys(values)}`
    const [row] = await tx.execute(new CachedQuery<Stored<Row>>(shape, Object.values(values), build))
    return row && this.toVersioned(row)
  }

  /**
   * Changes columns of a record in the account. `updated_at` and the version change only if a value in `change` differs from
   * the stored one or `isChanged` is true, whatever `unversioned` sets. Returns undefined if there is no such record.
   */
  async change(
    db: Db,
    account: number,
    id: number,
    change: Values,
    options: ChangeOptions = {},
  ): Promise<Versioned<Row> | undefined> {
    return (await this.changeAll(db, account, [id], change, options)).get(id)
  }

  /**
   * Changes columns of several records of the account as `change` does. A `Map` has a value for each id. Returns those records
   * that exist, by id.
   */
  async changeAll(
    db: Db,
    account: number,
    ids: readonly number[],
    change: Values,
    { unversioned = {}, isChanged = false }: ChangeOptions = {},
  ): Promise<Map<number, Versioned<Row>>> {
    const changed = Object.entries(change).filter(([, value]) => value !== undefined)
    if (changed.length === 0 && !isChanged) return this.findAll(db, account, ids)
    const found = new Map<number, Versioned<Row>>()
    const now = new Date().toISOString()
    const columns = changed.map(([column]) => column)
    const shape = `update ${this.#shape} set ${columns} and ${Object.keys(unversioned)} if ${isChanged}`
    for (const some of parts(ids)) {
      const set = changed.map(([column, value]): [string, unknown] => [column, valueFor(some, value)])
      const build = () => {
        const update = this.#update(set, unversioned, isChanged, now)
        const own = update.where('account_id', '=', account).where('id', 'in', some)
        return own.returning(this.#selection).$castTo<Stored<Row>>()
      }
      const values = set.map(([, value]) => value)
      const compared = isChanged ? [] : values
      // In the order of the text: see `build`.
      const parameters = [
        ...values,
        ...Object.values(unversioned),
        ...compared,
        now,
        now,
        ...compared,
        account,
        ...some,
      ]
      // Values of several records are expressions, which have their own texts.
      const rows = await db.execute(
        some.length === 1 ? new CachedQuery<Stored<Row>>(shape, parameters, build) : build(),
      )
      for (const row of rows) found.set(row.id, this.toVersioned(row))
    }
    return found
  }

  #update(changed: readonly [string, unknown][], unversioned: Values, isChanged: boolean, now: string) {
    const differing = changed.map(([column, value]) => sql`${sql.ref(column)} is distinct from ${value}`)
    const differs = isChanged ? sql`1 = 1` : sql.join(differing, sql` or `)
    return query.updateTable(this.#table).set({
      ...Object.fromEntries(changed),
      ...unversioned,
      // `now` may be earlier than a change that this one waited for. `updated_at` never moves back.
      updated_at: sql`case when (${differs}) and updated_at < ${now} then ${now} else updated_at end`,
      revision: sql`case when ${differs} then revision + 1 else revision end`,
    })
  }

  /** Returns the record and the version of a row. */
  toVersioned(row: Stored<Row>): Versioned<Row> {
    const record: Partial<Row> = {}
    for (const column of this.columns) record[column] = row[column]
    return { record: record as Row, version: formatVersion(row.revision, row.updated_at) }
  }
}

/** Returns a value, or the value of a map for this id, or an expression with its value for each of these ids. */
function valueFor([first = 0, ...others]: readonly number[], value: unknown): unknown {
  if (!(value instanceof Map)) return value
  return others.length === 0 ? value.get(first) : valueById([first, ...others], value)
}

/** A record and its version, which differs after every change. */
export interface Versioned<Row> {
  readonly record: Row
  readonly version: string
}

export interface Times {
  readonly created_at: string
  readonly updated_at: string
}

/** Returns the times of a new record. */
export function newTimes(): Times {
  const now = new Date().toISOString()
  return { created_at: now, updated_at: now }
}

/** The revision of an unchanged record. */
export const firstRevision = 1

/** A condition for a change of a record. */
export interface Precondition {
  /** Gets the current version, in the transaction that is about to change it. Throws `precondition_failed`. */
  check(version: string): void
}

/** Returns the version for entity tags. The time distinguishes revisions of a restored database. */
function formatVersion(revision: number, updatedAt: string): string {
  return `${revision}-${updatedAt}`
}
