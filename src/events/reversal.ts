/** Undo: reverses an event or a batch of events. Reversals are events, too, so they can be undone in turn. */

import { setTimeout as wait } from 'node:timers/promises'
import { type Actor, allows, type Identity } from '../access/actor.ts'
import { requireScope } from '../access/roles.ts'
import { Failure, found, irreversible } from '../errors.ts'
import { failures } from '../http/failures.ts'
import type { HeldJob, Jobs } from '../jobs/jobs.ts'
import { addJob, findJob, holdJob, type Lease, pauseMs } from '../jobs/store.ts'
import { compareText } from '../lib/text.ts'
import { type EventAction, isReversibleRecord, type ReversibleKind } from '../record-kinds.ts'
import type { Db, Storage } from '../storage/port.ts'
import { type GroupKind, splitImported, type Values } from './event.ts'
import { type KeptOfChange, previousValues, requireValuesAfter, withoutThose } from './previous-values.ts'
import { hasLinks } from './removal.ts'
import {
  findEvent,
  findEvents,
  isGroupDeletion,
  lockEvents,
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
  /** Returns the current values of those records that exist, by id, and locks them in the order of ids. */
  readonly valuesOf: (tx: Db, account: number, ids: readonly number[]) => Promise<ReadonlyMap<number, Values>>
  /**
   * Sets fields to previous values, which an event of the time `at` has kept. Throws `not_undoable` if a record that these need
   * is gone, and for taken names.
   */
  readonly change: (tx: Db, actor: Actor, id: number, values: Values, at: string) => Promise<Effect>
  /** Returns the place of a record with these values among those that a transaction changes; by default, the newest event is first. */
  readonly readOrder?: (values: Values) => string
  /** Deletes records that had been created or restored. Takes the clicks of imported ones out of all totals. */
  readonly remove: (tx: Db, actor: Actor, ids: readonly number[], imported: ReadonlySet<number>) => Promise<Effect>
  /** Stores deleted records again under their ids, from what their events have kept. */
  readonly restore: (tx: Db, actor: Actor, kept: readonly unknown[]) => Promise<Effect>
}

/** Reverses something for one record after another. */
export async function inTurn<T>(items: readonly T[], reverse: (item: T) => Promise<Effect>): Promise<Effect> {
  const effects: Effect[] = []
  for (const item of items) effects.push(await reverse(item))
  return async () => {
    for (const effect of effects) await effect()
  }
}

/** Returns whether someone has the scopes to reverse these changes, as far as any can be reversed. */
export function mayReverse(actor: Pick<Identity, 'scopes'>, changed: readonly Pick<StoredEvent, 'record'>[]): boolean {
  return changed.every(({ record }) => !isReversibleRecord(record) || allows(actor, `${record}s:write`))
}

/** The result of one event of a batch. */
export interface ReversedEvent {
  readonly event: StoredEvent
  /** Null if the event is reversed. */
  readonly failure: Failure | null
}

/** Which part of a batch is reversed, and by which job. */
export interface ReversedPart {
  /** Reverses only what this deletion of a domain, a space or a tag did to links. */
  readonly of?: StoredEvent | undefined
  /** The job that each transaction holds. */
  readonly lease?: Lease | undefined
}

/** How events of a batch are reversed. */
interface Manner extends ReversedPart {
  /** Whether to wait for another transaction that has locked the same events. */
  readonly waits: boolean
}

/** Events in one transaction. */
const reversedTogether = 25
/** Events that one request reverses. */
export const maxReversed = 1_000

interface ReversalsParts {
  readonly storage: Storage
  readonly kinds: Readonly<Record<ReversibleKind, Reversal>>
  /** Resolves when clicks that this process has counted are written, so that links return with them. */
  readonly flush: () => Promise<void>
  readonly jobs: Jobs
  /** Called in each transaction with the events that it has reversed. */
  readonly onReversed: (tx: Db, actor: Actor, events: readonly StoredEvent[]) => Promise<void>
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
    const { storage, jobs, flush } = this.#parts
    await flush()
    const { event, effect } = await storage.write(async (tx) => {
      const { events, effect } = await this.#reverse(tx, actor, [id], { waits: true })
      const event = found(events[0], 'event')
      if (isGroupDeletion(event)) await addReturn(tx, actor, event)
      return { event, effect }
    })
    await effect()
    if (isGroupDeletion(event)) await jobs.run({ record: event.record as GroupKind, record_id: event.recordId })
    return event
  }

  /**
   * Reverses events of the account, newest first, `maxReversed` at most. A deleted domain, space or tag returns with its links. Yields
   * the results in parts. Ids of no event are left out.
   */
  async *undoEvents(actor: Actor, ids: readonly number[]): AsyncGenerator<ReversedEvent[]> {
    const { storage, flush } = this.#parts
    await flush()
    const events = await findEvents(storage, actor.account, ids)
    const deletions = Map.groupBy(events.filter(isGroupDeletion), ({ batchId }) => batchId)
    let others: number[] = []
    for (const event of events) {
      // Before the other events of its batch, which are about its links.
      for (const deletion of deletions.get(event.batchId) ?? []) {
        yield await this.#reverseAll(actor, others, {})
        others = []
        yield [await this.#attempt(actor, deletion)]
      }
      deletions.delete(event.batchId)
      if (!isGroupDeletion(event)) others.push(event.id)
      if (others.length < reversedTogether) continue
      yield await this.#reverseAll(actor, others, {})
      others = []
    }
    yield await this.#reverseAll(actor, others, {})
  }

  async #attempt(actor: Actor, event: StoredEvent): Promise<ReversedEvent> {
    try {
      return { event: await this.undoEvent(actor, event.id), failure: null }
    } catch (error) {
      if (!(error instanceof Failure) || failures[error.code].status >= 500) throw error
      return { event, failure: error }
    }
  }

  /** Does the job that reverses what a deletion did to the links of its record, as far as that is possible. */
  async returnLinks({ account, actor, input, lease, signal }: HeldJob): Promise<void> {
    const of = await findEvent(this.#parts.storage, Number(account), Number(input))
    if (of === undefined || actor === null) return
    // Whoever may write the record could delete it together with its links, so the actor has all scopes.
    for await (const _ of this.undoBatch(actor, of.batchId, { of, lease })) signal.throwIfAborted()
  }

  /**
   * Reverses the account's events of a batch that are not undone, several in a transaction. Yields the results of up to
   * `maxReversed` events at a time.
   */
  async *undoBatch(actor: Actor, batch: string, part: ReversedPart = {}): AsyncGenerator<ReversedEvent[]> {
    for (let last: StoredEvent | undefined; ; ) {
      const results = await this.#undoPart(actor, batch, last, part)
      last = results.at(-1)?.event
      if (last === undefined) return
      yield results
    }
  }

  /** Reverses the events of a batch that follow an event, `maxReversed` at most. */
  async #undoPart(
    actor: Actor,
    batch: string,
    after: StoredEvent | undefined,
    reversed: ReversedPart,
  ): Promise<ReversedEvent[]> {
    const { of } = reversed
    const { storage, flush } = this.#parts
    await flush()
    const { account } = actor
    const now = Date.now()
    // A deleted domain takes further addresses from links on other domains.
    const ofLinks: EventAction[] | undefined = of && (of.record === 'domain' ? ['deleted', 'updated'] : ['updated'])
    const hasGroups = of === undefined && (after === undefined || isGroupDeletion(after))
    const part = { now, limit: maxReversed, before: after?.id }
    const groups = hasGroups ? await openGroupIds(storage, account, batch, part) : []
    const results = await this.#reverseAll(actor, groups, reversed)
    // Read now, because a removal ends only when its record is there again, and stores events of links until then.
    const others = { ...part, limit: maxReversed - groups.length, ofLinks, ...(hasGroups && { before: undefined }) }
    const ids = await openEventIds(storage, account, batch, others)
    return [...results, ...(await this.#reverseAll(actor, ids, reversed))]
  }

  /**
   * Reverses events in transactions. First leaves out those that another transaction is reversing, so that two requests for the
   * same batch share the work instead of waiting for each transaction of the other.
   */
  async #reverseAll(actor: Actor, ids: readonly number[], part: ReversedPart): Promise<ReversedEvent[]> {
    const results = await this.#reverseParts(actor, ids, { ...part, waits: false })
    const done = new Set(results.map(({ event }) => event.id))
    const others = ids.filter((id) => !done.has(id))
    results.push(...(await this.#reverseParts(actor, others, { ...part, waits: true })))
    return results.sort((one, other) => other.event.id - one.event.id)
  }

  async #reverseParts(actor: Actor, ids: readonly number[], manner: Manner): Promise<ReversedEvent[]> {
    const results: ReversedEvent[] = []
    for (let at = 0; at < ids.length; at += reversedTogether) {
      if (at > 0) await wait(pauseMs)
      results.push(...(await this.#reverseSome(actor, ids.slice(at, at + reversedTogether), manner)))
    }
    return results
  }

  /** Reverses events in one transaction. If one of them fails, the others are reversed without it. */
  async #reverseSome(actor: Actor, ids: readonly number[], manner: Manner): Promise<ReversedEvent[]> {
    const { storage } = this.#parts
    try {
      const { events, effect } = await storage.write((tx) => this.#reverse(tx, actor, ids, manner))
      await effect()
      return events.map((event) => ({ event, failure: null }))
    } catch (error) {
      if (!(error instanceof Failure) || failures[error.code].status >= 500) throw error
      if (ids.length === 1) {
        const event = await findEvent(storage, actor.account, ids[0] as number)
        return event === undefined ? [] : [{ event, failure: error }]
      }
      const half = Math.ceil(ids.length / 2)
      const first = await this.#reverseSome(actor, ids.slice(0, half), manner)
      return [...first, ...(await this.#reverseSome(actor, ids.slice(half), manner))]
    }
  }

  /** Reverses events, newest first, but similar changes in the order of `readOrder`. Changes nothing for an event that is undone, or is no part of `of`. Returns the events. */
  async #reverse(tx: Db, actor: Actor, ids: readonly number[], { of, lease, waits }: Manner) {
    const { kinds } = this.#parts
    if (lease !== undefined) await holdJob(tx, lease)
    const events = await lockEvents(tx, actor.account, ids, { waits })
    const wanted = of === undefined ? events : events.filter((event) => isPartOf(event, of))
    for (const event of wanted) requireScope(actor, `${reversibleKind(event)}s:write`)
    const open = wanted.filter(({ undoneBy }) => undoneBy === null)
    for (const event of open) requireOpen(event)
    const groups = alikeEvents(open)
    // Other transactions lock links by id, before any other records.
    const links = open.filter(({ record }) => record === 'link').map(({ recordId }) => recordId)
    if (groups.length > 1) await kinds.link.valuesOf(tx, actor.account, [...new Set(links)])
    const effect = await inTurn(groups, (group) => reverseAlike(kinds[reversibleKind(group[0])], tx, actor, group))
    if (open.length > 0) await this.#parts.onReversed(tx, actor, open)
    return { events, effect }
  }
}

/** Adds the job that returns the links of a record whose deletion is reversed, unless the record has another job by now. */
async function addReturn(tx: Db, actor: Actor, event: StoredEvent): Promise<void> {
  const subject = { record: event.record as GroupKind, record_id: event.recordId }
  if ((await findJob(tx, subject)) !== undefined) return
  await addJob(tx, { ...subject, kind: 'return', account: actor.account, actor, input: event.id })
}

/** Throws `not_undoable` for an event that can't be undone, or not any more. */
function requireOpen(event: StoredEvent): void {
  const until = undoableUntil(event)
  if (until === null) {
    throw irreversible(
      event.changes === null ? `The ${event.record} was deleted permanently.` : 'This kind of change can’t be undone.',
    )
  }
  if (until <= Date.now()) throw irreversible('More than 30 days have passed.')
}

/** The same action on different records of one kind. */
type AlikeEvents = [StoredEvent, ...StoredEvent[]]

/** Divides events into groups, which keep their order. */
function alikeEvents(events: readonly StoredEvent[]): AlikeEvents[] {
  const groups: AlikeEvents[] = []
  for (const event of events) {
    const group = groups.at(-1)
    const { record, action, recordId } = event
    const isAlike = group?.[0].record === record && group[0].action === action
    if (isAlike && group.every((other) => other.recordId !== recordId)) group.push(event)
    else groups.push([event])
  }
  return groups
}

/** Returns whether a deletion of a domain, a space or a tag caused this event of a link. */
function isPartOf({ changes, kept }: StoredEvent, { record, recordId, name }: StoredEvent): boolean {
  if (record === 'tag') return (kept as KeptOfChange | undefined)?.lostTag === name
  if (changes?.[`${record}_id`]?.[0] === recordId) return true
  const [before, after] = changes?.addresses ?? []
  return record === 'domain' && withoutThose(before, after).some(({ domain_id }) => domain_id === recordId)
}

/** Reverses events, and stores that they are undone. */
async function reverseAlike(kind: Reversal, tx: Db, actor: Actor, events: AlikeEvents): Promise<Effect> {
  const records = events.map(({ recordId }) => recordId)
  const current = await kind.valuesOf(tx, actor.account, records)
  const [{ action }] = events
  const reverse = action === 'deleted' ? restoreAll : action === 'updated' ? changeAll : removeAll
  const effect = await reverse(kind, tx, actor, events, current)
  const ids = events.map(({ id }) => id)
  const marked = await markUndone(tx, actor.account, ids, actor.batchId)
  if (marked.size < ids.length) throw irreversible(`The ${events[0].record} has its previous values already.`)
  return effect
}

type ReverseAll = (
  kind: Reversal,
  tx: Db,
  actor: Actor,
  events: AlikeEvents,
  current: ReadonlyMap<number, Values>,
) => Promise<Effect>

const restoreAll: ReverseAll = async (kind, tx, actor, events, current) => {
  const [{ record }] = events
  if (current.size > 0) throw irreversible(`The ${record} exists already.`)
  const kept = events.map((event) => event.kept)
  if (kept.includes(undefined)) throw irreversible(`The deleted ${record} is no longer stored.`)
  return kind.restore(tx, actor, kept)
}

const changeAll: ReverseAll = (kind, tx, actor, events, current) => {
  const changes = events.map((event) => {
    const now = valuesFor(event, current)
    const values = previousValues(event, now)
    return { event, values, order: kind.readOrder?.({ ...now, ...values }) ?? '' }
  })
  const sorted = changes.toSorted((one, other) => compareText(one.order, other.order))
  return inTurn(sorted, ({ event: { recordId, at }, values }) => kind.change(tx, actor, recordId, values, at))
}

const removeAll: ReverseAll = async (kind, tx, actor, events, current) => {
  for (const event of events) {
    const { record, recordId, action } = event
    requireValuesAfter(event, valuesFor(event, current))
    const kindOfRecord = reversibleKind(event)
    // A restored record is deleted again with its links.
    if (action === 'created' && kindOfRecord !== 'link' && (await hasLinks(tx, kindOfRecord, recordId)))
      throw irreversible(`The ${record} has links by now.`)
  }
  const ids = events.map(({ recordId }) => recordId)
  const imported = events.flatMap(({ recordId, kept }) => (splitImported(kept).isImported ? recordId : []))
  return kind.remove(tx, actor, ids, new Set(imported))
}

function valuesFor({ record, recordId }: StoredEvent, current: ReadonlyMap<number, Values>): Values {
  const values = current.get(recordId)
  if (values === undefined) throw irreversible(`The ${record} is gone.`)
  return values
}

/** Returns the kind of the event's record. Throws `not_undoable` for kinds that can't be restored. */
function reversibleKind({ record }: StoredEvent): ReversibleKind {
  if (isReversibleRecord(record)) return record
  throw irreversible(`Changes of ${record}s can’t be undone.`)
}
