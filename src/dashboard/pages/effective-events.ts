/** The events of a list whose effect is there, so that an undo of all of them changes something. */

import { readInBatches } from '../../api/exports.ts'
import { maxReversed } from '../../events/reversal.ts'
import { listStoredEvents, type StoredEvent, undoableUntil } from '../../events/store.ts'
import type { PageRequest, Storage } from '../../storage/port.ts'

/** Events that are read. Changes and their undo are twice as many as the ids. */
const maxRead = 5 * maxReversed

interface EffectiveEvents {
  /** Newest first, at most `maxReversed`. */
  readonly effective: readonly StoredEvent[]
  /** The id of the newest event of the list; 0 if it is empty. */
  readonly newest: number
  /** Whether the list has no other such event. */
  readonly isWhole: boolean
}

/** Finds the latest events of a list that can be undone, except pairs of a change and its undo. */
export async function findEffective(storage: Storage, account: number, list: PageRequest): Promise<EffectiveEvents> {
  const events: StoredEvent[] = []
  const page = { ...list, direction: 'desc' } as const
  for await (const some of readInBatches((each) => listStoredEvents(storage, account, each), page, 0)) {
    events.push(...some)
    if (events.length >= maxRead) break
  }
  const originals = new Map(events.map((event) => [event.undoneBy, event]))
  // A change, its undo and its redo: the last one has the effect of the first. A change and its undo have none.
  const hasEffect = (event: StoredEvent): boolean => {
    const original = originals.get(event.id)
    return original === undefined || !hasEffect(original)
  }
  const now = Date.now()
  const isOpen = (event: StoredEvent) => event.undoneBy === null && (undoableUntil(event) ?? 0) > now
  const effective = events.filter((event) => isOpen(event) && hasEffect(event))
  const isWhole = events.length < maxRead && effective.length <= maxReversed
  return { effective: effective.slice(0, maxReversed), newest: events[0]?.id ?? 0, isWhole }
}
