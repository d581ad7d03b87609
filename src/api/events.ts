/** The history of an account: its events, and their undo. */

import type { Actor } from '../access/actor.ts'
import { type Calendar, calendarOf } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { Failure, found, notFound, validationFailed } from '../errors.ts'
import { maxReversed, type Reversals, type ReversedEvent } from '../events/reversal.ts'
import {
  batchIdRule,
  companionFaults,
  type Event,
  type EventFilters,
  type EventOptions,
  type EventsQuery,
  eventFilters,
  eventSchema,
  eventsQuery,
  formatEvent,
  readEventPage,
} from '../events/schema.ts'
import { countBatch, findEvent, listStoredEvents, type StoredEvent } from '../events/store.ts'
import { form, optional } from '../forms/form.ts'
import { optionalIdList } from '../forms/id-list.ts'
import { Type } from '../forms/json-schema.ts'
import { readCondition, rejectIfMatch } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import { send, sendJson } from '../http/response.ts'
import { formatCount } from '../lib/format.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { ReversibleKind } from '../record-kinds.ts'
import type { Storage } from '../storage/port.ts'
import { Refusal } from '../violations.ts'
import { sendContent, sendRecord } from './envelopes.ts'
import { describeExport, type Exported, exportFormat, exportRoute, readInBatches } from './exports.ts'
import type { ResourceHandlers } from './handlers.ts'
import { bodyFailures, describeReads, type ListOperation, type Operation, readId, type Success } from './operations.ts'
import { type Api, listRoute } from './routes.ts'

const tag = {
  name: 'Events',
  description:
    'The history of the account: each change of a link, domain, space, tag, key, member, invitation or setting, with its values before and after. Clicks are no changes. Events are stored for 400 days, unless the operator sets `HISTORY_DAYS`.',
}

const example: Event = {
  id: 512,
  type: 'link.updated',
  record: 'link',
  record_id: 1,
  record_name: 'https://go.acme.com/summer',
  actor: { kind: 'key', id: 1, name: 'ci' },
  request_id: 'order-4711',
  batch_id: 'q1w2e3r4t5y6-a',
  changes: { title: ['Summer sale', 'Summer sale 2026'] },
  undoable_until: '2026-12-20T12:00:00.000Z',
  undone_by: null,
  created_at: '2026-11-20T12:00:00.000Z',
}

const reads = describeReads('events', {
  description: tag.description,
  record: eventSchema,
  example,
  listQuery: eventsQuery,
  scope: 'events:read',
})

export const listEvents: ListOperation<EventsQuery> = {
  ...reads.list,
  description:
    'Lists the account’s events in pages, newest first by default. A client that starts with `sort=asc` and continues with `after` misses no event and gets none twice. Therefore, ascending lists leave out an event until all earlier ones are stored, unless they start with one `record_id` or `batch_id`. All other lists show each change as soon as it is stored. `total` counts at most 10,000 events.',
  refused: { record_id: '1', actor_id: '1' },
}

const exportEventsQuery = form<EventsExport>({ format: exportFormat, ...eventFilters }, [], companionFaults)

export const exportEvents: Operation = describeExport({
  id: 'exportEvents',
  path: '/events/export',
  tag,
  summary: 'Export events',
  description:
    'Downloads all events that match, oldest first, as `GET /links/export` does. In `csv`, `actor` and `changes` are JSON.',
  scope: 'events:read',
  query: exportEventsQuery,
  refused: { format: 'xlsx', record_id: '1', actor_id: '1' },
})

export const showEvent: Operation = { ...reads.show, description: 'Shows one of the account’s events.' }

/** Describes the undo of an event. `shown` are the responses with a record. */
export function reversalOf(shown: Readonly<Record<ReversibleKind, Success>>): Operation {
  const kinds = Object.entries(shown)
  return {
    id: 'undoEvent',
    method: 'POST',
    path: '/events/:id/undo',
    tag,
    summary: 'Undo an event',
    description:
      'Reverses the event, within 30 days. An update gets its previous values back, a deleted record is restored with its id, and a created record is deleted. A domain returns with the links that the same request deleted, a space or a tag returns to its links. Many links return in the background: if the server stops meanwhile, a repetition of the request continues with the others. The reversal is an event, too, and can be undone in turn. Otherwise, an event that is undone already changes nothing. The key needs the scope for writing the record, such as `links:write`.',
    scope: null,
    success: {
      status: 200,
      description: 'The record.',
      schema: Type.Union(kinds.map(([, { schema }]) => schema as NonNullable<Success['schema']>)),
      examples: Object.fromEntries(
        kinds.map(([kind, { example }]) => [kind, { summary: `A ${kind}`, value: example }]),
      ),
      headers: ['ETag'],
    },
    emptySuccess: 'The event is undone, and the record is deleted now.',
    failures: ['not_found', 'precondition_failed', 'not_undoable', 'alias_taken', 'name_taken'],
  }
}

interface Reversed {
  readonly batch_id: string | null
  readonly event_ids: readonly number[] | null
}

const reversedForm = form<Reversed>(
  {
    batch_id: optional(batchIdRule, null),
    event_ids: optionalIdList(maxReversed, 'events'),
  },
  [],
  ({ batch_id, event_ids }) => {
    if (batch_id === null && event_ids === null) return [new Refusal('required').at('batch_id')]
    const isBoth = batch_id !== null && event_ids !== null
    return isBoth ? [new Refusal('not_allowed.reference', { others: ['batch_id'] }).at('event_ids')] : []
  },
)

const resultSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ minimum: 0, description: 'The place of the row, from 0.' }),
          id: Type.Integer({ minimum: 1, description: 'The id of the event.' }),
          status: Type.Integer({ description: 'The HTTP status of a request that undoes only this event.' }),
          code: Type.String({ description: 'The error code of a failed row.' }),
          message: Type.String(),
        },
        { $id: 'UndoRow', required: ['index', 'id', 'status'] },
      ),
      { description: 'The result for each event, newest first. Events that can’t be undone are left out.' },
    ),
    meta: Type.Object({
      succeeded: Type.Integer({ minimum: 0 }),
      failed: Type.Integer({ minimum: 0 }),
      remaining: Type.Integer({
        minimum: 0,
        description: 'The other events of the batch that are not undone; 0 for `event_ids`.',
      }),
    }),
  },
  { $id: 'UndoResult' },
)

export const reverseEvents: Operation = {
  id: 'undoEvents',
  method: 'POST',
  path: '/events/undo',
  tag,
  summary: 'Undo several events',
  description: `Undoes up to ${formatCount(maxReversed)} events, newest first: the events with this \`batch_id\`, or the \`event_ids\`. Send one of the two. Events succeed or fail independently. For a batch, repeat the request until \`remaining\` or \`succeeded\` is 0. Each started 100 events count as one request for the rate limit. The key needs the scope for writing each record, such as \`links:write\`.`,
  scope: null,
  body: { name: 'UndoEvents', form: reversedForm, example: { batch_id: example.batch_id } },
  refused: { batch_id: '' },
  success: {
    status: 200,
    description: 'The result for each event.',
    schema: resultSchema,
    example: { data: [{ index: 0, id: 512, status: 200 }], meta: { succeeded: 1, failed: 0, remaining: 0 } },
  },
  failures: ['precondition_failed', ...bodyFailures],
}

const unknownBatch = new Refusal('not_allowed', { options: 'the batch_id of an event' }).at('batch_id')

/** Returns the row of an event. Its status is the same as for a separate request. */
function rowOf({ event, failure }: ReversedEvent, index: number): object {
  const { id, action } = event
  if (failure === null) return { index, id, status: action === 'created' || action === 'restored' ? 204 : 200 }
  return failedRow(index, id, failure)
}

function failedRow(index: number, id: number, { code, message }: Failure): object {
  return { index, id, status: failures[code].status, code, message }
}

type EventsExport = EventFilters & { readonly format: 'csv' | 'jsonl' }

/** Returns how events are exported. `findCalendar` returns the calendar of the days in the query. */
export function eventExport(
  storage: Storage,
  options: EventOptions,
  findCalendar: (account: number) => Promise<Calendar>,
): Exported<EventsExport, StoredEvent> {
  return {
    query: exportEventsQuery,
    name: 'events',
    fields: Object.keys(eventSchema.properties),
    read: async (account, query) => {
      const calendar = await findCalendar(account)
      const list = { ...query, sort_by: 'id', sort: 'asc', per_page: 1, page: null, after: null } as const
      return readInBatches((page) => listStoredEvents(storage, account, page), readEventPage(list, calendar))
    },
    format: (event) => formatEvent(event, options),
    cell: (value: Event[keyof Event]) => (value !== null && typeof value === 'object' ? JSON.stringify(value) : value),
  }
}

/** Adds the list and the show of events. */
export function eventRoutes(api: Api, storage: Storage, options: EventOptions, downloads: Semaphore): void {
  const findCalendar = async (account: number) => calendarOf(await findTimeZones(storage, account))
  exportRoute(api, exportEvents, downloads, eventExport(storage, options, findCalendar))

  listRoute(api, listEvents, async (account, query) => {
    const calendar = await findCalendar(account)
    const page = await listStoredEvents(storage, account, readEventPage(query, calendar))
    return { ...page, rows: page.rows.map((event) => formatEvent(event, options)) }
  })

  api.add(showEvent, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const event = found(await findEvent(storage, actor.account, readId(exchange, 'event')), 'event')
    return sendContent(exchange, { data: formatEvent(event, options) }, condition)
  })
}

interface ReversalParts {
  readonly api: Api
  readonly storage: Storage
  readonly reversals: Reversals
  /** The description of `reversalOf`. */
  readonly reverseEvent: Operation
  /** How each kind of record is found, as its resource shows it. */
  readonly records: Readonly<Record<ReversibleKind, Pick<ResourceHandlers<unknown>, 'find'>>>
}

/** Parts of a batch that one request tries, so that events which can't be reversed don't hold up the others. */
const maxParts = 5

/** Reverses the next events of a batch. Returns the results, and goes on if all of them failed. */
async function reverseSome(reversals: Reversals, actor: Actor, batch: string): Promise<ReversedEvent[]> {
  const all: ReversedEvent[] = []
  let parts = 0
  for await (const some of reversals.undoBatch(actor, batch)) {
    all.push(...some)
    parts += 1
    if (parts === maxParts || some.some(({ failure }) => failure === null)) break
  }
  return all
}

/** Adds the undo of events and batches. */
export function reversalRoutes({ api, storage, reversals, reverseEvent, records }: ReversalParts): void {
  const undoListed = async (exchange: Exchange, actor: Actor, ids: readonly number[]) => {
    const limited = api.countRows(exchange, actor, ids.length)
    if (limited !== undefined) return limited
    const results = new Map<number, ReversedEvent>()
    for await (const some of reversals.undoEvents(actor, ids))
      for (const result of some) results.set(result.event.id, result)
    const missing = notFound('event')
    const rows = ids
      .toSorted((a, b) => b - a)
      .map((id, index) => {
        const result = results.get(id)
        return result === undefined ? failedRow(index, id, missing) : rowOf(result, index)
      })
    const failed = rows.filter((row) => 'code' in row).length
    const meta = { succeeded: rows.length - failed, failed, remaining: 0 }
    return sendJson(exchange, 200, JSON.stringify({ data: rows, meta }))
  }

  api.add(reverseEvent, async (exchange, { actor }) => {
    rejectIfMatch(exchange)
    const { record, recordId } = await reversals.undoEvent(actor, readId(exchange, 'event'))
    const shown = await records[record as ReversibleKind].find(actor.account, recordId)
    return shown === undefined ? send(exchange, 204) : sendRecord(exchange, shown)
  })

  api.add(reverseEvents, async (exchange, { actor, fields }) => {
    rejectIfMatch(exchange)
    const body = reversedForm.check(fields)
    if (body instanceof Failure) return body
    const { batch_id, event_ids } = body
    if (batch_id === null) return undoListed(exchange, actor, event_ids ?? [])
    const { all, open } = await countBatch(storage, actor.account, batch_id, Date.now())
    if (all === 0) return validationFailed([unknownBatch])
    const limited = api.countRows(exchange, actor, Math.max(1, Math.min(open, maxReversed)))
    if (limited !== undefined) return limited
    const reversed = await reverseSome(reversals, actor, batch_id)
    const failed = reversed.filter(({ failure }) => failure !== null).length
    const left = await countBatch(storage, actor.account, batch_id, Date.now())
    const meta = { succeeded: reversed.length - failed, failed, remaining: Math.max(0, left.open - failed) }
    return sendJson(exchange, 200, JSON.stringify({ data: reversed.map(rowOf), meta }))
  })
}
