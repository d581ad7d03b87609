/**
 * Exports and imports of one kind of record. This folder is independent of resources: callers pass the list of kinds, each
 * after the kinds that it refers to.
 */

import type { Actor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import { type ResourceName, resources } from '../resources.ts'
import type { Db } from '../storage/port.ts'
import type { Times } from '../storage/records.ts'
import type { Violation } from '../violations.ts'

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** A record in a file. */
type Line = Members & { readonly id: number }

/** One kind of record. */
export interface Transferable {
  /** The name of the resource. The last line counts records under this name. */
  readonly plural: ResourceName
  /** The member of a line that contains one record. */
  readonly singular: string
  /** Returns at most `limit` records of the account with ids above `after`, in the order of ids. */
  readonly after: (db: Db, account: number, after: number, limit: number) => Promise<readonly Line[]>
  /** Reads a line by the rules of the API. Returns how to store it. Throws `InvalidRecord`. */
  readonly read: (members: Members) => Store
}

/** Stores the record in a transaction unless it exists. Throws `InvalidRecord`. */
export type Store = (tx: Db, target: Target) => Promise<Stored>

/** The outcome for a record, and its local id. */
export interface Stored {
  readonly became: 'stored' | 'known'
  readonly id: number
}

/** Where an import stores records. */
export interface Target {
  /** Who imports the file, into their account. */
  readonly actor: Actor
  /** The source database's id. */
  readonly source: string
  /** Whether the source is this database or the original of this copy. */
  readonly isOwn: boolean
  /** Whether a conflicting record is stored under a new id if possible. */
  readonly asNew: boolean
  /** Returns a record's local id; undefined if the record was rejected or comes later. */
  readonly idOf: (plural: string, sourceId: number) => number | undefined
  /** Local ids of records with stored details, for `Detail.complete`. */
  readonly changed: Set<number>
}

/** Details of records, such as their clicks by day: lines without ids, which follow the records and are stored in batches. */
export interface Detail<Item = unknown> {
  /** The last line counts details under this name. */
  readonly plural: string
  /** The member of a line that contains one detail. */
  readonly singular: string
  /** Yields the details of the account in pages that fit into memory. */
  pages(db: Db, account: number, exported: Exported): AsyncIterable<readonly Members[]>
  /** Reads a line. Throws `InvalidRecord`. */
  read(members: Members): Item
  /** Stores the items of many lines unless they exist. Returns the outcomes. Adds the records to `target.changed`. */
  store(tx: Db, target: Target, items: readonly Item[]): Promise<readonly (Stored['became'] | InvalidRecord)[]>
  /** Updates values that depend on the details, in separate transactions. Called once after all lines. */
  complete(db: Db, target: Target): Promise<void>
  /** The start of a spreadsheet, which can't be imported, and the end of the error message "The file …". */
  readonly spreadsheet: { readonly head: string; readonly isNone: string }
}

/** The highest exported id of each kind of record, by plural name. */
type Exported = Readonly<Record<string, number>>

/** An error in a line of a file. */
export class InvalidRecord extends Error {}

/** Returns the result of `work`, or the `InvalidRecord` that it throws. */
export async function resultOrInvalid<T>(work: () => T | Promise<T>): Promise<T | InvalidRecord> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof InvalidRecord) return error
    throw error
  }
}

/**
 * Stores a record with a unique name by `insert`. If the name is taken, `known` returns the id of the existing record, or
 * throws `InvalidRecord`.
 */
export async function storedOrKnown<Existing>(
  insert: () => Promise<{ readonly id: number }>,
  find: () => Promise<Existing | undefined>,
  known: (existing: Existing) => number | Promise<number>,
): Promise<Stored> {
  try {
    return { became: 'stored', id: (await insert()).id }
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'name_taken')) throw error
    const existing = await find()
    if (existing === undefined) throw new InvalidRecord(`name: ${error.message}`)
    return { became: 'known', id: await known(existing) }
  }
}

interface CheckedMembers<T> {
  readonly values: Partial<T>
  readonly violations: readonly Pick<Violation, 'field' | 'message'>[]
}

/** Returns the values. Throws `InvalidRecord` with all violations. */
export function checkedRecord<T>({ values, violations }: CheckedMembers<T>): T {
  const sentences = violations.map(({ field, message }) => `${field}: ${message}`)
  if (sentences.length > 0) throw new InvalidRecord(sentences.join(' '))
  return values as T
}

/** Resolves the `<singular>_id` of a line to a local id. Throws `InvalidRecord`. */
export function resolveLocalId({ idOf }: Pick<Target, 'idOf'>, name: ResourceName, sourceId: number): number {
  const localId = idOf(name, sourceId)
  if (localId !== undefined) return localId
  const { singular } = resources[name]
  throw new InvalidRecord(
    `${singular}_id: The ${singular} ${sourceId} of the file was not imported: its line is missing, comes later, or was rejected. Fix that line first, then import again.`,
  )
}

/** Returns the times of the record; undefined if the line has none. Throws `InvalidRecord`. */
export function parseTimes({ created_at, updated_at = created_at }: Members): Times | undefined {
  if (created_at === undefined && updated_at === undefined) return undefined
  if (!(isTime(created_at) && isTime(updated_at))) {
    throw new InvalidRecord('created_at and updated_at: Times must be in UTC, such as 2026-11-20T12:00:00.000Z.')
  }
  if (updated_at < created_at) throw new InvalidRecord('updated_at: The time is before created_at.')
  if (updated_at > new Date().toISOString()) {
    throw new InvalidRecord(`${created_at === updated_at ? 'created_at' : 'updated_at'}: The time is in the future.`)
  }
  return { created_at, updated_at }
}

/** Returns whether the value is a time in UTC with milliseconds, as in exports. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && timePattern.test(value) && new Date(value).toJSON() === value
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Returns the record's id at its source; undefined if the line has none. */
export function idIn({ id }: Members): number | undefined {
  return Number.isSafeInteger(id) && Number(id) > 0 ? Number(id) : undefined
}
