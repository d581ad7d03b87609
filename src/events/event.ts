/** Events: each is one change of one record, with its values before and after. */
import { isDeepStrictEqual } from 'node:util'
import type { EventAction, RecordKind } from '../record-kinds.ts'

/** Records that any number of links refer to. */
export type GroupKind = 'domain' | 'space' | 'tag'

/** What the API says about deletions. */
export const deletionSentence = 'For 30 days, undoing its event restores it with its id and clicks.'

/** Values of a record by field, as the API has them. */
export type Values = Readonly<Record<string, unknown>>

/** The changed fields. A creation has null before, a deletion null after. */
export type Changes = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

/** A change that is stored in its transaction. */
export interface NewEvent {
  readonly record: RecordKind
  readonly action: EventAction
  readonly id: number
  /** The host name or name of the record, or the host name and the alias of a link, at the event's time. */
  readonly name: string
  /** Null if nothing about the record may be stored. */
  readonly changes: Changes | null
  /** What a reversal needs in addition, and no one may see: a deleted row, or hashes of passwords. */
  readonly kept?: unknown
}

/** What the event of a link keeps that an import has stored: an undo takes its clicks out of all totals. */
const imported = { imported: true } as const

/** Marks the event of a link as the work of an import. */
export function markImported(event: NewEvent): NewEvent {
  return { ...event, kept: { ...(event.kept as object | undefined), ...imported } }
}

/** Returns whether the event of a link is the work of an import, and what it keeps otherwise. */
export function splitImported(kept: unknown): { readonly isImported: boolean; readonly others: object } {
  const { imported: mark, ...others } = (kept ?? {}) as Partial<typeof imported>
  return { isImported: mark === true, others }
}

/** What is shown instead of a secret. */
const secret = 'secret'

/** Describes the events of one kind of record. */
export interface EventDescription<Row> {
  readonly record: RecordKind
  readonly nameOf: (row: Row) => string
  /** Returns the values of the fields that a client can set. A secret is its hash. */
  readonly valuesOf: (row: Row) => Values
  /** The fields whose values are secrets. */
  readonly secrets: readonly string[]
}

/** Returns the event of a new record. Fields without a value are left out. */
export function createdEvent<Row extends { readonly id: number }>(
  described: EventDescription<Row>,
  row: Row,
): NewEvent {
  return newEvent(described, 'created', row, changesBetween({}, described.valuesOf(row)))
}

/** Returns the event of a changed record; null if no value changed. */
export function updatedEvent<Row extends { readonly id: number }>(
  described: EventDescription<Row>,
  before: Row,
  after: Row,
): NewEvent | null {
  const changes = changesBetween(described.valuesOf(before), described.valuesOf(after))
  return Object.keys(changes).length === 0 ? null : newEvent(described, 'updated', after, changes)
}

/** Returns the event of a deleted record. `kept` is what its return needs; null if it is deleted permanently. */
export function deletedEvent<Row extends { readonly id: number }>(
  described: EventDescription<Row>,
  row: Row,
  kept: object | null,
): NewEvent {
  if (kept === null) return { ...newEvent(described, 'deleted', row, {}), changes: null }
  return { ...newEvent(described, 'deleted', row, changesBetween(described.valuesOf(row), {})), kept }
}

/** Returns the event of a record that is there again. */
export function restoredEvent<Row extends { readonly id: number }>(
  described: EventDescription<Row>,
  row: Row,
): NewEvent {
  return newEvent(described, 'restored', row, changesBetween({}, described.valuesOf(row)))
}

function newEvent<Row extends { readonly id: number }>(
  { record, nameOf, secrets }: EventDescription<Row>,
  action: EventAction,
  row: Row,
  changes: Changes,
): NewEvent {
  const hidden = secrets.filter((field) => field in changes)
  const event = { record, action, id: row.id, name: nameOf(row) }
  if (hidden.length === 0) return { ...event, changes }
  const shown = hidden.map((field) => [field, changes[field]?.map((value) => (value === null ? null : secret))])
  const kept = hidden.map((field) => [field, changes[field]])
  return { ...event, changes: { ...changes, ...Object.fromEntries(shown) }, kept: Object.fromEntries(kept) }
}

/** Returns the fields whose values differ. A missing value is null. */
function changesBetween(before: Values, after: Values): Changes {
  const changes: Record<string, readonly [unknown, unknown]> = {}
  for (const field of Object.keys({ ...before, ...after })) {
    const [old, now] = [before[field] ?? null, after[field] ?? null]
    if (isSame(old, now)) continue
    // In a change of a list, no value is an empty list.
    const isList = field in before && field in after && Array.isArray(old ?? now)
    changes[field] = isList ? [old ?? [], now ?? []] : [old, now]
  }
  return changes
}

/** Returns whether two values of a field are the same. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || (one !== null && typeof one === 'object' && isDeepStrictEqual(one, other))
}
