/** What resources do, for the API, the pages and the commands. */
import type { Actor } from '../access/actor.ts'
import { Failure, found, preconditionFailed } from '../errors.ts'
import { form, optional } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { boolean } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { ResourceName } from '../resources.ts'
import type { Db, Page, PageRequest } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import type { Warning } from '../warnings.ts'

/** What a resource does in its five operations. `Shown` is a record in a response. */
export interface ResourceHandlers<Shown> {
  readonly name: ResourceName
  list(account: number, page: PageRequest): Promise<Page<Shown>>
  find(account: number, id: number): Promise<Versioned<Shown> | undefined>
  /**
   * Validates the fields, and returns a function that inserts the record in a transaction. Throws `validation_failed`.
   */
  insertion(actor: Actor, fields: Fields): Insertion<Shown> | Promise<Insertion<Shown>>
  /** Returns the warnings about a stored record's values. */
  warnings(db: Db, account: number, record: Shown): readonly Warning[] | Promise<readonly Warning[]>
  /** Called after the record is stored and before the response. */
  onStored?(record: Shown): unknown
  /**
   * Changes the record. Omitted fields stay unchanged. Throws `not_found`, `validation_failed` and the failure of the
   * precondition.
   */
  change(actor: Actor, id: number, fields: Fields, condition: Precondition | null): Promise<Versioned<Shown>>
  /** Deletes the record. Throws `not_found` and the failure of the precondition. */
  remove(actor: Actor, id: number, query: Fields, condition: Precondition | null): Promise<void>
}

/**
 * Runs a change of a record whose shown version has more than the stored one. If its precondition fails, the response has the
 * shown version, which `find` returns.
 */
export async function withShownVersion<T>(
  find: () => Promise<Versioned<unknown> | undefined>,
  what: string,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'precondition_failed')) throw error
    throw preconditionFailed(found(await find(), what).version)
  }
}

/** Returns valid values. Throws for a missing record or a failed precondition first, then their failure. */
export async function checkedChange<T>(
  values: T | Failure,
  find: () => Promise<Versioned<unknown> | undefined>,
  singular: string,
  precondition: Precondition | null | undefined,
): Promise<T> {
  if (!(values instanceof Failure)) return values
  const { version } = found(await find(), singular)
  precondition?.check(version)
  throw values
}

/** Inserts a record in a transaction. `secrets` are members that only the response has, because they are not stored. */
export type Insertion<Shown> = (db: Db) => Promise<Versioned<Shown> & { readonly secrets?: object }>

/** Validates the fields and inserts the record. Throws `validation_failed` and failures of the resource. */
export async function insertRecord<Shown>(
  { insertion, onStored }: Pick<ResourceHandlers<Shown>, 'insertion' | 'onStored'>,
  db: Db,
  actor: Actor,
  fields: Fields,
): Promise<Versioned<Shown>> {
  const insert = await insertion(actor, fields)
  const stored = await insert(db)
  await onStored?.(stored.record)
  return stored
}

/** The query of every deletion. */
export const deletionQuery = form({
  permanently: optional(
    boolean(
      Type.Boolean({
        description:
          'If true, the record can’t be restored, its clicks are deleted immediately, and its events lose their `changes`.',
      }),
    ),
    false,
  ),
})
