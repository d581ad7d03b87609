/** The changes of an event as the log stores them. */
import type { RecordKind } from '../record-kinds.ts'
import { type Changes, isSame, type NewEvent, type Values } from './event.ts'

/**
 * What new records have unless it is set otherwise, in the order in which events show the fields; null for none. Stored events
 * lack these values, so they never change.
 */
const usualValues: Readonly<Partial<Record<RecordKind, Values>>> = {
  link: {
    ...{ url: null, domain_id: null, alias: null, space_id: null, title: null, disabled: false },
    ...{ active_period_start_at: null, active_period_end_at: null, clicks_limit: null, expiration_url: null },
    ...{ redirect_password: null, forward_query: false, redirect_status: 302, rules: null },
    ...{ tags: [], notes: null, archived: false, exact: false },
  },
}

/**
 * Returns the text of an event's changes; null if it has none. That of a new record is a list with its values, without the usual
 * ones: with them and "before", it has three times the length, and events are the largest table.
 */
export function formatChanges({ record, action, changes }: Pick<NewEvent, 'record' | 'action' | 'changes'>) {
  if (changes === null) return null
  const usual = usualValues[record] ?? {}
  const isNew = action === 'created' || action === 'restored'
  if (!isNew || Object.entries(usual).some(([field, value]) => value !== null && !(field in changes)))
    return JSON.stringify(changes)
  const values: Record<string, unknown> = {}
  for (const [field, [before, after]] of Object.entries(changes)) {
    if (before !== null) return JSON.stringify(changes)
    if (!isSame(usual[field], after)) values[field] = after
  }
  return JSON.stringify([values])
}

/** Returns the changes of a stored event. */
export function parseChanges(record: RecordKind, text: string | null): Changes | null {
  const stored = text === null ? null : (JSON.parse(text) as Changes | readonly [Values])
  if (!Array.isArray(stored)) return stored as Changes | null
  const changes: Record<string, readonly [null, unknown]> = {}
  for (const [field, after] of Object.entries({ ...usualValues[record], ...stored[0] })) {
    if (after !== null) changes[field] = [null, after]
  }
  return changes
}
