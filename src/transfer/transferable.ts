/**
 * What a resource gives so that its records can be exported and imported. This folder knows no resource: it is handed the
 * list of them and of their details, in the order in which one may refer to another.
 */

import type { Violation } from '../errors.ts'
import type { Reading } from '../forms/form.ts'
import type { Db } from '../storage/port.ts'

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** A record as its line has it. */
type Line = Members & { readonly id: number }

/** One kind of record. */
export interface Transferable {
  /** The resource's name, under which the last line counts its records. */
  readonly plural: string
  /** What its lines call one of them. */
  readonly singular: string
  /** The account's records whose ids come after `after`, in the order of their ids; at most `limit`. */
  readonly after: (db: Db, account: number, after: number, limit: number) => Promise<readonly Line[]>
  /** Reads the members of a line by the rules of the API, and returns how to store them. Throws `Unusable`. */
  readonly read: (members: Members) => Store
}

/** Stores the record in a transaction, unless it is there already. Throws `Unusable`. */
export type Store = (tx: Db, target: Target) => Promise<Stored>

/** What became of a record, and the id that it has here. */
export interface Stored {
  readonly became: 'stored' | 'known'
  readonly id: number
}

/** Where the records of a file go. */
export interface Target {
  readonly account: number
  /** The id of the database that the file comes from. */
  readonly source: string
  /** Whether that database is this one, or one that this one is a copy of. */
  readonly isOwn: boolean
  /** Whether a record that clashes with another is stored under a new id, where that is possible. */
  readonly asNew: boolean
  /** The id that a record of the file has here; undefined when it was refused, or has not come yet. */
  readonly idOf: (plural: string, sourceId: number) => number | undefined
  /** The ids here of records that details were stored of, for `Detail.complete`. */
  readonly changed: Set<number>
}

/** The times of a record. */
export interface Times {
  readonly created_at: string
  readonly updated_at: string
}

/**
 * What tells more of records, such as the clicks of their days: lines without an id, which come after those records and are
 * stored many at a time.
 */
export interface Detail<Item = unknown> {
  /** The name under which the last line counts its lines. */
  readonly plural: string
  /** What its lines are called. */
  readonly singular: string
  /** The lines of the account's records, page by page: as many as are kept in memory at once. */
  pages(db: Db, account: number, exported: Exported): AsyncIterable<readonly Members[]>
  /** Reads the members of a line. Throws `Unusable`. */
  read(members: Members): Item
  /**
   * Stores what was read from many lines, unless it is there already, and returns what became of each. Notes in
   * `target.changed` whose they are.
   */
  store(tx: Db, target: Target, items: readonly Item[]): Promise<readonly (Stored['became'] | Unusable)[]>
  /** Called once after all lines: changes what follows from them, in transactions of its own. */
  complete(db: Db, target: Target): Promise<void>
  /** How a file for spreadsheets begins, which cannot be imported, and what it is and what to do, after "The file". */
  readonly spreadsheet: { readonly head: string; readonly isNone: string }
}

/** The highest id of the records of each kind that an export has, by the plural of its name. */
export type Exported = Readonly<Record<string, number>>

/** Why a line cannot be stored, in one or more sentences. */
export class Unusable extends Error {}

/** The values, when all of them hold. Throws `Unusable` with every violation. */
export function checked<T>({ values, violations }: Reading<T>): T {
  if (violations.length > 0) throw new Unusable(violations.map(sentence).join(' '))
  return values as T
}

function sentence({ field, message }: Violation): string {
  return `${field}: ${message}`
}

/** The id that a record has here to which a line of the file refers as `<singular>_id`. Throws `Unusable`. */
export function hereOf(
  { idOf }: Pick<Target, 'idOf'>,
  { plural, singular }: Pick<Transferable, 'plural' | 'singular'>,
  there: number,
): number {
  const here = idOf(plural, there)
  if (here !== undefined) return here
  throw new Unusable(
    `${singular}_id: The ${singular} ${there} of the file is not here: its line comes later, is missing, or was refused. Fix that first, then import again.`,
  )
}

/** The record's times; undefined when the line has none, which makes it a record of now. Throws `Unusable`. */
export function timesOf({ created_at, updated_at = created_at }: Members): Times | undefined {
  if (created_at === undefined && updated_at === undefined) return undefined
  if (!(isTime(created_at) && isTime(updated_at))) {
    throw new Unusable('created_at and updated_at: Times are written in UTC, such as 2026-11-20T12:00:00.000Z.')
  }
  if (updated_at < created_at) throw new Unusable('updated_at: The time is before created_at.')
  if (updated_at > new Date().toISOString()) {
    throw new Unusable(`${created_at === updated_at ? 'created_at' : 'updated_at'}: The time is in the future.`)
  }
  return { created_at, updated_at }
}

/** Whether it is a time as exports write it: in UTC, with milliseconds. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && timePattern.test(value) && new Date(value).toJSON() === value
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The id that the record has at its source; undefined when the line has none. */
export function idIn({ id }: Members): number | undefined {
  return Number.isSafeInteger(id) && Number(id) > 0 ? Number(id) : undefined
}
