/** Undo: reverses an event or a batch of events. Reversals are events, too, so they can be undone in turn. */
import { type Actor, requireScope } from '../access/actor.ts'
import { changedSince, Failure, found, irreversible } from '../errors.ts'
import { failures } from '../http/failures.ts'
import type { Db, Storage } from '../storage/port.ts'
import { type Changes, type GroupKind, isSame, type RecordKind, type Values } from './event.ts'
import { hasLinks } from './removal.ts'
import {
  findEvent,
  lockEvent,
  markUndone,
  openEventIds,
  openGroupIds,
  type StoredEvent,
  undoableUntil,
} from './store.ts'

/** What happens after the commit, such as informing the redirect server. */
export type Effect = () => unknown

/** How the events of one kind of record are reversed, in a transaction. Each function stores the event of its change. */
export interface Reversal {
  /** Returns the current values, and locks the record. Undefined if it does not exist. */
  readonly valuesOf: (tx: Db, account: number, id: number) => Promise<Values | undefined>
  /** Sets fields to previous values. Throws `not_undoable` if a record that these need is gone, and for taken names. */
  readonly change: (tx: Db, actor: Actor, id: number, values: Values) => Promise<Effect>
  /** Deletes a record that had been created or restored. */
  readonly remove: (tx: Db, actor: Actor, id: number) => Promise<Effect>
  /** Stores a deleted record again under its id. */
  readonly restore: (tx: Db, actor: Actor, id: number, kept: unknown) => Promise<Effect>
}

export type ReversibleKind = 'link' | GroupKind

interface Reversed {
  readonly event: StoredEvent
}

/** The result of one event of a batch. */
export interface ReversedEvent extends Reversed {
  /** Null if the event is reversed. */
  readonly failure: Failure | null
}

/** Events in one transaction, which takes about ten milliseconds. */
const reversedTogether = 25
/** Events that one request reverses. */
export const maxReversed = 1_000

interface ReversalsParts {
  readonly storage: Storage
  readonly kinds: Readonly<Record<ReversibleKind, Reversal>>
  /** Resolves when clicks that this process has counted are written. Clicks of deleted links are lost otherwise. */
  readonly flush: () => Promise<void>
  /** Runs work that may take longer than a request waits. */
  readonly run: (work: (isStopped: () => boolean) => Promise<void>) => Promise<void>
}

/** Reverses events, for the API, the dashboard and the command line. */
export class Reversals {
  readonly #parts: ReversalsParts

  constructor(parts: ReversalsParts) {
    this.#parts = parts
  }

  /**
   * Reverses the account's event, and what was deleted with its record. Returns the event. An event that is undone already is
   * only completed. Throws `not_found`, `insufficient_scope`, `not_undoable`, `alias_taken` and `name_taken`.
   */
  async undoEvent(actor: Actor, id: number): Promise<StoredEvent> {
    const { storage, run, flush } = this.#parts
    await flush()
    const { event, effect } = await storage.write((tx) => this.#reverse(tx, actor, id))
    await effect()
    // What was deleted with the record returns in steps. A repetition continues after an interruption.
    if (event.action === 'deleted' && event.record !== 'link') {
      await run((isStopped) => this.#undoRest(actor, event, isStopped))
    }
    return event
  }

  /** Reverses what a deletion did to the links of its record, as far as that is possible. */
  async #undoRest(actor: Actor, of: StoredEvent, isStopped: () => boolean): Promise<void> {
    // Whoever may write the record could delete it together with its links.
    const trusted: Actor = { ...actor, scopes: ['*'] }
    let last: ReversedEvent | undefined
    do {
      last = (await this.undoBatch(trusted, of.batchId, { before: last?.event.id, of })).at(-1)
    } while (last !== undefined && !isStopped())
  }

  /**
   * Reverses the account's events of a batch that are not undone, `maxReversed` at most, several in a transaction. Returns the
   * result of each. With `before`, continues after the last event of a result. With `of`, reverses only what this deletion of a
   * domain, a space or a tag did to links.
   */
  async undoBatch(
    actor: Actor,
    batch: string,
    { before, of }: { readonly before?: number | undefined; readonly of?: StoredEvent } = {},
  ): Promise<ReversedEvent[]> {
    const { storage, flush } = this.#parts
    await flush()
    const { account } = actor
    const now = Date.now()
    const isFirst = before === undefined && of === undefined
    const ofLinks = of && (of.record === 'domain' ? 'deleted' : 'updated')
    const groups = isFirst ? await openGroupIds(storage, account, batch, now) : []
    const results = await this.#reverseAll(actor, groups)
    // Read now, because a removal ends only when its record is there again, and stores events of links until then.
    const limit = Math.max(0, maxReversed - groups.length)
    const ids = await openEventIds(storage, account, batch, { now, limit, before, ofLinks })
    return [...results, ...(await this.#reverseAll(actor, ids, of))]
  }

  async #reverseAll(actor: Actor, ids: readonly number[], of?: StoredEvent): Promise<ReversedEvent[]> {
    const results: ReversedEvent[] = []
    for (let at = 0; at < ids.length; at += reversedTogether) {
      results.push(...(await this.#reverseSome(actor, ids.slice(at, at + reversedTogether), of)))
    }
    return results
  }

  /** Reverses events in one transaction. If one of them fails, the others are reversed without it. */
  async #reverseSome(actor: Actor, ids: readonly number[], of?: StoredEvent): Promise<ReversedEvent[]> {
    const { storage } = this.#parts
    try {
      const reversed = await storage.write(async (tx) => {
        const all: (Reversed & { readonly effect: Effect })[] = []
        for (const id of ids) all.push(await this.#reverse(tx, actor, id, of))
        return all
      })
      for (const { effect } of reversed) await effect()
      return reversed.map(({ event }) => ({ event, failure: null }))
    } catch (error) {
      if (!(error instanceof Failure) || failures[error.code].status >= 500) throw error
      if (ids.length === 1) {
        const event = found(await findEvent(storage, actor.account, ids[0] as number), 'event')
        return [{ event, failure: error }]
      }
      const half = Math.ceil(ids.length / 2)
      const first = await this.#reverseSome(actor, ids.slice(0, half), of)
      return [...first, ...(await this.#reverseSome(actor, ids.slice(half), of))]
    }
  }

  /** Changes nothing if the event is undone, or is no part of `of`. */
  async #reverse(tx: Db, actor: Actor, id: number, of?: StoredEvent): Promise<Reversed & { readonly effect: Effect }> {
    const event = found(await lockEvent(tx, actor.account, id), 'event')
    if (of !== undefined && !isPartOf(event, of)) return { event, effect: () => undefined }
    const record = reversibleKind(event)
    requireScope(actor, `${record}s:write`)
    if (event.undoneBy !== null) return { event, effect: () => undefined }
    const until = undoableUntil(event)
    if (until === null) throw irreversible('This kind of change can’t be undone.')
    if (until <= Date.now()) throw irreversible('More than 30 days have passed.')
    const effect = await reversed(this.#parts.kinds[record], tx, actor, event)
    if (!(await markUndone(tx, event, actor.batchId)))
      throw irreversible(`The ${record} has its previous values already.`)
    return { event, effect }
  }
}

/** Returns whether a deletion of a domain, a space or a tag caused this event of a link. */
function isPartOf({ changes, kept }: StoredEvent, { record, recordId, name }: StoredEvent): boolean {
  if (record === 'tag') return (kept as KeptOfChange | undefined)?.lostTag === name
  return changes?.[`${record}_id`]?.[0] === recordId
}

async function reversed(kind: Reversal, tx: Db, actor: Actor, event: StoredEvent): Promise<Effect> {
  const { action, recordId: id, changes, kept } = event
  const record = reversibleKind(event)
  const current = await kind.valuesOf(tx, actor.account, id)
  if (action === 'deleted') {
    if (current !== undefined) throw irreversible(`The ${record} exists already.`)
    if (kept === undefined) throw irreversible(`The deleted ${record} is no longer stored.`)
    return kind.restore(tx, actor, id, kept)
  }
  if (current === undefined) throw irreversible(`The ${record} is gone.`)
  const { lostTag, ...secrets } = (kept ?? {}) as KeptOfChange
  // A link that has got other tags since gets a deleted tag back, too.
  if (lostTag !== undefined) return kind.change(tx, actor, id, { tags: withTag(current.tags, lostTag) })
  const fields = { ...changes, ...secrets }
  const isCreation = action !== 'updated'
  requireUnchanged(record, current, isCreation ? { ...nothing(current), ...fields } : fields)
  if (isCreation) {
    // A restored record is deleted again with its links.
    if (action === 'created' && record !== 'link' && (await hasLinks(tx, record, id)))
      throw irreversible(`The ${record} has links by now.`)
    return kind.remove(tx, actor, id)
  }
  const before = Object.entries(fields).map(([field, [value]]) => [field, value])
  return kind.change(tx, actor, id, Object.fromEntries(before))
}

/** Throws `not_undoable` if a field has another value than after the change. Null for fields that the change left empty. */
function requireUnchanged(
  record: RecordKind,
  current: Values,
  changes: Readonly<Record<string, Changes[string] | null>>,
): void {
  for (const [field, change] of Object.entries(changes)) {
    const after = change === null ? null : change[1]
    if (isSame(current[field] ?? null, after)) continue
    throw changedSince(record, field)
  }
}

/** What an event of a change keeps: secrets by field, and the name of a tag that the link lost because it was deleted. */
type KeptOfChange = Changes & { readonly lostTag?: string }

function withTag(tags: unknown, name: string): readonly string[] {
  return [...new Set([...(tags as readonly string[]), name])]
}

/** Returns null for each field, because a creation leaves out fields without a value. */
function nothing(values: Values): Record<string, null> {
  return Object.fromEntries(Object.keys(values).map((field) => [field, null]))
}

/** Returns the kind of the event's record. Throws `not_undoable` for kinds that can't be restored. */
function reversibleKind({ record }: StoredEvent): ReversibleKind {
  if (record === 'key' || record === 'account') throw irreversible(`Changes of ${record}s can’t be undone.`)
  return record
}
