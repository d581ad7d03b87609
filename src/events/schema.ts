/** The API's record of an event, and the parameters of the list. */
import type { Static } from 'typebox'
import { type ActorKind, actorKinds } from '../access/actor.ts'
import { type Form, form, optional } from '../forms/form.ts'
import { idSchema, orNull, Type, timeSchema } from '../forms/json-schema.ts'
import { type PageQuery, pageConflicts, pageFields, toPage } from '../forms/list-query.ts'
import { boundedText, day, integer, oneOf } from '../forms/rules.ts'
import { formatShortUrl, type ShortUrl } from '../names/short-url.ts'
import { type EventType, eventTypes, type RecordKind, recordKinds } from '../record-kinds.ts'
import type { PageRequest } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { historyDuration, type StoredEvent, undoableUntil } from './store.ts'

/** In characters, like an `X-Request-Id`. */
const maxBatchId = 64

export const batchIdRule = boundedText(
  maxBatchId,
  'The batch of the events: all changes of one request, form, bulk action or command have the same.',
)

export const eventSchema = Type.Object(
  {
    id: idSchema,
    type: Type.String({ description: 'The kind of the record and what happened to it. New versions add types.' }),
    record: Type.Enum([...recordKinds], { description: 'The kind of the record.' }),
    record_id: Type.Integer({ minimum: 1, description: 'The id of the record.' }),
    record_name: Type.String({ description: 'The short URL, host name or name of the record at that time.' }),
    actor: Type.Object(
      {
        kind: Type.Enum([...actorKinds]),
        id: orNull(idSchema, 'The id of the API key or the member; null for other kinds.'),
        name: Type.String({ description: 'The name of the key, of the member or of the user who ran the command.' }),
      },
      { description: 'Who made the change.' },
    ),
    request_id: orNull(Type.String(), 'The `X-Request-Id` of the request. Null for a command.'),
    batch_id: Type.String({ description: 'The same for all changes of one request, form, bulk action or command.' }),
    changes: orNull(
      Type.Object({}, { additionalProperties: Type.Array({}, { minItems: 2, maxItems: 2 }) }),
      'The values of the changed fields, before and after. A secret is `"secret"`. Null if the record was deleted permanently.',
    ),
    undoable_until: orNull(
      timeSchema('The time.'),
      'Until when the event can be undone: for 30 days, or for `HISTORY_DAYS` if that is less. Null if it can’t be undone.',
    ),
    undone_by: orNull(idSchema, 'The id of the event that undid this one.'),
    created_at: timeSchema('The time of the change.'),
  },
  { $id: 'Event', additionalProperties: false },
)

/** An event as the API shows it. */
export type Event = Omit<Static<typeof eventSchema>, 'changes' | 'actor' | 'record'> & {
  readonly record: RecordKind
  readonly actor: StoredEvent['actor']
  readonly changes: StoredEvent['changes']
}

/** What the records of events depend on. */
export interface EventOptions {
  readonly shortUrl: ShortUrl
  /** How many days events are stored; 0 for forever. */
  readonly historyDays: number
}

/** The part of an event that says what happened. */
export type Change = Pick<Event, 'type' | 'record' | 'record_id' | 'record_name' | 'changes'>

/** Returns what happened in an event, as the API shows it. */
export function formatChange(
  { record, action, recordId, name, changes }: Pick<StoredEvent, 'record' | 'action' | 'recordId' | 'name' | 'changes'>,
  shortUrl: ShortUrl,
): Change {
  const isLink = record === 'link' && name.indexOf('/') > 0
  const record_name = isLink ? formatShortUrl(name, shortUrl) : name
  return { type: `${record}.${action}`, record, record_id: recordId, record_name, changes }
}

/** Returns the API's record of an event. */
export function formatEvent(stored: StoredEvent, { shortUrl, historyDays }: EventOptions): Event {
  const { id, actor, requestId, batchId, undoneBy, at } = stored
  const until = undoableUntil(stored, historyDuration(historyDays))
  const { changes, ...change } = formatChange(stored, shortUrl)
  return {
    id,
    ...change,
    actor,
    request_id: requestId,
    batch_id: batchId,
    changes,
    undoable_until: until === null ? null : new Date(until).toISOString(),
    undone_by: undoneBy,
    created_at: at,
  }
}

/** Null for a missing filter. Days are numbers since 1970-01-01. */
export interface EventFilters {
  readonly type: EventType | null
  readonly record: RecordKind | null
  readonly record_id: number | null
  readonly actor: ActorKind | null
  readonly actor_id: number | null
  readonly batch_id: string | null
  readonly from: number | null
  readonly to: number | null
}

export interface EventsQuery extends PageQuery, EventFilters {}

export const eventFilters: Form<EventFilters>['fields'] = {
  type: optional(oneOf(eventTypes, 'Only events of this type.'), null),
  record: optional(oneOf(recordKinds, 'Only events of this kind of record.'), null),
  record_id: optional(integer({ description: 'Only events of the record with this id. Needs `record`.' }), null),
  actor: optional(oneOf(actorKinds, 'Only changes by this kind of actor.'), null),
  actor_id: optional(integer({ description: 'Only changes by the actor with this id. Needs `actor`.' }), null),
  batch_id: optional(boundedText(maxBatchId, 'Only events of this batch.'), null),
  from: optional(day('The first day, in the account’s time zone.'), null),
  to: optional(day('The last day.'), null),
}

export const eventsQuery: Form<EventsQuery> = form<EventsQuery>(
  { ...pageFields([], 'The field to sort by. Ids are in the order of the changes.'), ...eventFilters },
  [],
  (query) => [...pageConflicts(query), ...companionFaults(query)],
)

/** Returns what is wrong with filters that need each other. */
export function companionFaults({ record, record_id, actor, actor_id, from, to }: EventFilters): Violation[] {
  return [
    ...(record_id !== null && record === null
      ? [new Refusal('required.companion', { other: `record_id=${record_id}` }).at('record')]
      : []),
    ...(actor_id !== null && actor === null
      ? [new Refusal('required.companion', { other: `actor_id=${actor_id}` }).at('actor')]
      : []),
    ...(from !== null && to !== null && to < from ? [new Refusal('before_from').at('to')] : []),
  ]
}

/** Later times have a longer text, which sorts before the others. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Returns the start of a day of an account, in Unix milliseconds. */
interface Days {
  startOf(day: number): number
}

/** Returns the page to read from storage. */
export function readEventPage(query: EventFilters & Parameters<typeof toPage>[0], days: Days): PageRequest {
  const { type, record, record_id, actor, actor_id, batch_id, from, to } = query
  const [kind = null, action = null] = type?.split('.') ?? []
  const wanted = {
    record: record ?? kind,
    // No event is of a type and of another kind of record.
    action: record === null || kind === null || record === kind ? action : type,
    ...{ record_id, actor_kind: actor, actor_id, batch_id },
  }
  const filter = Object.entries(wanted).filter((entry): entry is [string, string | number] => entry[1] !== null)
  const formatTime = (day: number) => new Date(Math.min(days.startOf(day), lastTimeMs)).toISOString()
  const range = {
    ...(from !== null && { from: formatTime(from) }),
    ...(to !== null && { before: formatTime(to + 1) }),
  }
  return {
    ...{ search: [], searchIn: [], filter: Object.fromEntries(filter), ...toPage(query) },
    ...(from !== null || to !== null ? { ranges: { created_at: range } } : {}),
  }
}
