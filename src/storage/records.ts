/**
 * One record of an account, by its id: found, changed and removed in the same way for every resource. A store calls
 * these functions and adds what is its own.
 */
import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import type { Db } from './port.ts'
import { type Statement, statement, toChange } from './statement.ts'
import { type Precondition, type Versioned, versionOf } from './version.ts'

/** What every record has. */
interface AnyRecord {
  readonly id: number
  readonly created_at: string
  readonly updated_at: string
}

interface Columns {
  id: number
  account_id: number
  updated_at: string
  /** Counts the states that the record has had. */
  revision: number
  [column: string]: unknown
}

type Tables = Record<string, Columns>

interface Own {
  readonly account: number
  readonly id: number
}

type Stored<Row> = Row & Pick<Columns, 'revision'>

/** The statements on the records of one table, made by `recordsOf`. */
interface Records<Row extends AnyRecord> {
  /** The columns of a record, in the order of the answer. */
  readonly columns: readonly (keyof Row & string)[]
  readonly selectById: Statement<Own, Stored<Row>>
  readonly selectToChange: Statement<Own, Stored<Row>>
  readonly selectFollowing: Statement<{ account: number; after: number; limit: number }, Row>
  readonly changeById: Statement<Own & Readonly<Record<string, unknown>>, Stored<Row>>
  readonly deleteById: Statement<Own, Pick<Row, 'id'>>
  /** The columns that may change. */
  readonly changeable: readonly string[]
}

interface More {
  /** SQL over the table's columns for those of the columns that the table does not have. */
  readonly computed?: Readonly<Record<string, string>>
  /** Columns that may change, too, but whose change makes no new version. */
  readonly unversioned?: readonly string[]
}

/** Declares the statements on the records of `table`. Only the `changeable` columns can be changed. */
export function recordsOf<Row extends AnyRecord>(
  table: string,
  columns: readonly (keyof Row & string)[],
  changeable: readonly string[],
  { computed = {}, unversioned = [] }: More = {},
): Records<Row> {
  const select = (column: string) => (column in computed ? sql.raw(computed[column] as string).as(column) : column)
  const selection = columns.map(select)
  const versioned = [...selection, 'revision']
  const selectById = statement((db: Kysely<Tables>, { account, id }: Own) =>
    db.selectFrom(table).where('id', '=', id).where('account_id', '=', account).select(versioned),
  )
  return {
    columns,
    changeable: [...changeable, ...unversioned],
    selectById: selectById as never,
    selectToChange: toChange(selectById) as never,
    selectFollowing: statement((db: Kysely<Tables>, params: { account: number; after: number; limit: number }) =>
      db
        .selectFrom(table)
        .select(selection)
        .where('account_id', '=', params.account)
        .where('id', '>', params.after)
        .orderBy('id')
        .limit(params.limit),
    ) as never,
    changeById: statement((db: Kysely<Tables>, params: Own & Record<string, unknown>) =>
      db
        .updateTable(table)
        .set((e) => changes(e, { changeable, unversioned }, params))
        .where('id', '=', params.id)
        .where('account_id', '=', params.account)
        .returning(versioned),
    ) as never,
    deleteById: statement((db: Kysely<Tables>, { account, id }: Own) =>
      db.deleteFrom(table).where('id', '=', id).where('account_id', '=', account).returning('id'),
    ) as never,
  }
}

/**
 * A column `x` gets the parameter `x` where the parameter `sets_x` is 1. Time and revision move only if a value does.
 */
function changes(
  e: ExpressionBuilder<Tables, string>,
  { changeable, unversioned }: { readonly changeable: readonly string[]; readonly unversioned: readonly string[] },
  params: Readonly<Record<string, unknown>>,
) {
  const isSet = (column: string) => sql<boolean>`${params[`sets_${column}`]} = 1`
  const differs = e.or(
    changeable.map((column) => e.and([isSet(column), e(column, 'is distinct from', params[column] as never)])),
  )
  const values = [...changeable, ...unversioned].map((column) => [
    column,
    e.case().when(isSet(column)).then(params[column]).else(e.ref(column)).end(),
  ])
  return {
    ...Object.fromEntries(values),
    // `now` may be older than a change we waited for: never move `updated_at` back.
    updated_at: sql`case when ${differs} and updated_at < ${params.now} then ${params.now} else updated_at end`,
    revision: sql`case when ${differs} then revision + 1 else revision end`,
  }
}

/** The account's record with this id. */
export async function findRecord<Row extends AnyRecord>(
  db: Db,
  records: Records<Row>,
  account: number,
  id: number,
): Promise<Versioned<Row> | undefined> {
  const [row] = await db.all(records.selectById, { account, id })
  return row && toVersioned(records, row)
}

/** The same, locked against changes until the transaction ends; see `toChange`. */
export async function findToChange<Row extends AnyRecord>(
  tx: Db,
  records: Records<Row>,
  account: number,
  id: number,
): Promise<Versioned<Row> | undefined> {
  const [row] = await tx.all(records.selectToChange, { account, id })
  return row && toVersioned(records, row)
}

/**
 * Sets columns of the account's record; one that is undefined stays as it is. `updated_at` and the version move only if
 * a value does. Undefined if there is no such record. Throws what `precondition` throws at the present version.
 */
export async function changeRecord<Row extends AnyRecord>(
  db: Db,
  records: Records<Row>,
  own: Own,
  change: Readonly<Record<string, unknown>>,
  precondition: Precondition | null,
): Promise<Versioned<Row> | undefined> {
  const isEmpty = records.changeable.every((column) => change[column] === undefined)
  if (isEmpty && precondition === null) return findRecord(db, records, own.account, own.id)
  const params = { ...own, now: new Date().toISOString(), ...parametersOf(records.changeable, change) }
  const [row] = await changeIf(db, records, own, precondition, records.changeById, params)
  return row && toVersioned(records, row)
}

/**
 * Deletes the account's record; false if there is no such record. Throws what `precondition` throws at the present
 * version.
 */
export async function removeRecord<Row extends AnyRecord>(
  db: Db,
  records: Records<Row>,
  own: Own,
  precondition: Precondition | null,
): Promise<boolean> {
  return (await changeIf(db, records, own, precondition, records.deleteById, own)).length > 0
}

/**
 * Runs a statement on the account's record, in one transaction with the look at it that a precondition needs. Throws what
 * `precondition` throws at the present version.
 */
export function changeIf<Row extends AnyRecord, Params extends object, Result>(
  db: Db,
  { selectToChange }: Records<Row>,
  own: Own,
  precondition: Precondition | null,
  change: Statement<Params, Result>,
  params: Params,
): Promise<Result[]> {
  if (precondition === null) return db.writeOne(change, params)
  return db.write(async (tx) => {
    const [old] = await tx.all(selectToChange, own)
    if (old === undefined) return []
    precondition.check(versionOf(old.revision, old.updated_at))
    return tx.all(change, params)
  })
}

function parametersOf(changeable: readonly string[], change: Readonly<Record<string, unknown>>) {
  const params: Record<string, unknown> = {}
  for (const column of changeable) {
    const value = change[column]
    params[`sets_${column}`] = value === undefined ? 0 : 1
    params[column] = value ?? null
  }
  return params
}

/** The record as it is shown, in a fresh object: V8 handles SQLite's own more slowly. */
export function toVersioned<Row extends AnyRecord>({ columns }: Records<Row>, row: Stored<Row>): Versioned<Row> {
  const record: Partial<Row> = {}
  for (const column of columns) record[column] = row[column]
  return { record: record as Row, version: versionOf(row.revision, row.updated_at) }
}
