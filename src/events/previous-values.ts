/** The values that records had before the changes of events, and whether they have changed since. */
import { changedSince } from '../errors.ts'
import type { RecordKind } from '../record-kinds.ts'
import { type Changes, isSame, splitImported, type Values } from './event.ts'
import type { StoredEvent } from './store.ts'

/** Throws `not_undoable` if a record has other values than after an event, apart from the fields that are `known` to differ. */
export function requireValuesAfter(
  { record, action, changes, kept }: StoredEvent,
  current: Values,
  known: ReadonlySet<string> = new Set(),
): void {
  const all = { ...(action !== 'updated' && nothing(current)), ...changes, ...splitImported(kept).others }
  requireUnchanged(record, current, Object.fromEntries(Object.entries(all).filter(([field]) => !known.has(field))))
}

/** Returns the values of the changed fields before the change. Throws `not_undoable` if they have changed since. */
export function previousValues({ record, changes, kept }: StoredEvent, current: Values): Values {
  const { lostTag, ...secrets } = (kept ?? {}) as KeptOfChange
  // A link that has got other tags since gets a deleted tag back, too.
  if (lostTag !== undefined) return { tags: withTag(current.tags, lostTag) }
  const { addresses, ...fields } = { ...changes, ...secrets }
  requireUnchanged(record, current, fields)
  const previous = Object.fromEntries(Object.entries(fields).map(([field, [value]]) => [field, value]))
  if (addresses === undefined) return previous
  const own = previousAddresses(addresses, current.addresses)
  if (own === undefined) throw changedSince(record, 'addresses')
  return { ...previous, addresses: own }
}

/** Throws `not_undoable` if a field has another value than after the change. Null for fields that the change left empty. */
function requireUnchanged(
  record: RecordKind,
  current: Values,
  changes: Readonly<Record<string, Changes[string] | null>>,
): void {
  for (const [field, change] of Object.entries(changes)) {
    const after = change === null ? null : change[1]
    const value = current[field] ?? null
    // Earlier versions had fewer flags.
    if (isSame(value, after) || isSame(value ?? [], after) || (change === null && value === false)) continue
    throw changedSince(record, field)
  }
}

/** What an event of a change keeps: secrets by field, and the name of a tag that the link lost because it was deleted. */
export type KeptOfChange = Changes & { readonly lostTag?: string }

function withTag(tags: unknown, name: string): readonly string[] {
  return [...new Set([...(tags as readonly string[]), name])]
}

/** Returns null for each field, because a creation leaves out fields without a value. */
function nothing(values: Values): Record<string, null> {
  return Object.fromEntries(Object.keys(values).map((field) => [field, null]))
}

/** An address of a link in an event. */
interface EventAddress {
  readonly id: number
  readonly domain_id?: number
}

/** Returns those of the addresses of a link whose ids the others don't have. */
export function withoutThose(addresses: unknown, others: unknown): EventAddress[] {
  const ids = new Set(((others ?? []) as readonly EventAddress[]).map(({ id }) => id))
  return ((addresses ?? []) as readonly EventAddress[]).filter(({ id }) => !ids.has(id))
}

/**
 * Returns a link's current addresses without those that a change added, and with those that it took away. Undefined if one
 * that it added is gone by now.
 */
function previousAddresses([before, after]: Changes[string], current: unknown): EventAddress[] | undefined {
  const added = withoutThose(after, before)
  if (withoutThose(added, current).length > 0) return undefined
  return [...withoutThose(current, added), ...withoutThose(before, after)]
}
