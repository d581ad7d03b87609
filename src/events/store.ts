/** Reads the log of changes. */
import { sql } from 'kysely'
import type { Actor, ActorKind } from '../access/actor.ts'
import { Ticks } from '../lib/ticks.ts'
import { type EventAction, isReversible, type RecordKind } from '../record-kinds.ts'
import { type Db, type Listable, type Page, type PageRequest, parts, type Storage } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'
import type { NewEvent } from './event.ts'
import { parseChanges } from './stored-changes.ts'

/** A stored event. */
export interface StoredEvent extends Omit<NewEvent, 'id'> {
  readonly id: number
  readonly recordId: number
  readonly account: number
  readonly actor: Pick<Actor, 'kind' | 'id' | 'name'>
  readonly requestId: string | null
  readonly batchId: string
  /** The event that reversed this one. */
  readonly undoneBy: number | null
  /** RFC 3339. */
  readonly at: string
}

const columns = [
  ...['id', 'account_id', 'batch_id', 'record', 'action', 'record_id', 'record_name'],
  ...['actor_kind', 'actor_id', 'actor_name', 'request_id', 'changes', 'undone_by', 'created_at'],
] as (keyof ShownRow)[]

/** Without what reversals need, which may have 120 KB. */
const events = query.selectFrom('events').select(columns)

type ShownRow = Omit<Row<'events'>, 'kept' | 'opens_batch'> & Partial<Pick<Row<'events'>, 'kept'>>

function toEvent({ kept = null, ...row }: ShownRow): StoredEvent {
  return {
    id: Number(row.id),
    account: Number(row.account_id),
    record: row.record as RecordKind,
    action: row.action as EventAction,
    recordId: Number(row.record_id),
    name: row.record_name,
    actor: {
      kind: row.actor_kind as ActorKind,
      id: row.actor_id === null ? null : Number(row.actor_id),
      name: row.actor_name,
    },
    requestId: row.request_id,
    batchId: row.batch_id,
    changes: parseChanges(row.record as RecordKind, row.changes),
    kept: kept === null ? undefined : JSON.parse(kept),
    undoneBy: row.undone_by === null ? null : Number(row.undone_by),
    at: row.created_at,
  }
}

/** Finds the account's event with this id, without what its reversal needs. */
export async function findEvent(db: Db, account: number, id: number): Promise<StoredEvent | undefined> {
  const [row] = await db.execute(events.where('id', '=', id).where('account_id', '=', account))
  return row && toEvent(row)
}

/** Finds the account's events with these ids, newest first, without what their reversal needs. */
export async function findEvents(db: Db, account: number, ids: readonly number[]): Promise<StoredEvent[]> {
  const found: StoredEvent[] = []
  for (const some of parts(
    ids.toSorted((a, b) => b - a),
    256,
  )) {
    const own = events.where('id', 'in', some).where('account_id', '=', account)
    found.push(...(await db.execute(own.orderBy('id', 'desc'))).map(toEvent))
  }
  return found
}

/**
 * Finds the account's events with all that their reversal needs, newest first, and locks them until the end of the transaction.
 * Unless `waits`, leaves out the events that another transaction has locked. Transactions lock events before the records that
 * they describe. One that has locked records never waits for events.
 */
export async function lockEvents(
  tx: Db,
  account: number,
  ids: readonly number[],
  { waits }: { readonly waits: boolean },
): Promise<StoredEvent[]> {
  const own = events.select('kept').where('id', 'in', ids).where('account_id', '=', account)
  const locked = own.orderBy('id', 'desc').forUpdate()
  return (await tx.execute(waits ? locked : locked.skipLocked())).map(toEvent)
}

/** Returns those of the ids whose events have reversed others, which are always of the same account. */
export async function findReversals(db: Db, ids: readonly number[]): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  // The account is not a condition, so that SQLite uses the index of these ids.
  const undone = query.selectFrom('events').select('undone_by').distinct().where('undone_by', 'in', ids)
  return new Set((await db.execute(undone)).map(({ undone_by }) => Number(undone_by)))
}

/** Returns the events of the account that these have reversed. */
export async function findOriginals(
  db: Db,
  account: number,
  ids: readonly number[],
): Promise<Pick<StoredEvent, 'id' | 'record' | 'batchId'>[]> {
  // The account is not a condition, so that SQLite uses the index of these ids.
  const undone = query
    .selectFrom('events')
    .select(['id', 'account_id', 'record', 'batch_id'])
    .where('undone_by', 'in', ids)
  const own = (await db.execute(undone)).filter(({ account_id }) => Number(account_id) === account)
  return own.map(({ id, record, batch_id }) => ({ id: Number(id), record: record as RecordKind, batchId: batch_id }))
}

const listable: Listable<ShownRow> = {
  table: 'events',
  columns,
  sorts: {},
  searched: {},
  filters: ['record_id', 'batch_id', 'opens_batch'],
  unindexedFilters: ['record', 'action', 'actor_kind', 'actor_id'],
  ranges: { created_at: { column: 'created_at', isIndexed: false } },
  isUncounted: true,
}

/**
 * Lists one page with the account's events: all committed ones, unless a client may follow the log with this page. Then no event
 * can appear later between or before the listed ones, so the newest ones may be missing for a while.
 */
export async function listStoredEvents(
  storage: Storage,
  account: number,
  page: PageRequest,
): Promise<Page<StoredEvent>> {
  const upTo = mayBeFollowed(page) ? await storage.eventHorizon() : null
  const found = await storage.list({ of: listable, account, ...page, upTo })
  return { ...found, rows: found.rows.map(toEvent) }
}

/**
 * Returns whether a client that continues after the last event of this page must see all events that are committed later.
 * Downwards, it only reads what was there. The first page of a record or a batch is complete, because transactions lock the
 * record before they get ids of events, and the transactions of a batch follow each other.
 */
function mayBeFollowed({ direction, after, filter }: PageRequest): boolean {
  const isOfOne = filter.record_id !== undefined || filter.batch_id !== undefined
  return direction === 'asc' && (after !== null || !isOfOne)
}

/** Lists one page with the account's batches: the first event of each. */
export function listBatches(storage: Storage, account: number, page: PageRequest): Promise<Page<StoredEvent>> {
  return listStoredEvents(storage, account, { ...page, filter: { ...page.filter, opens_batch: 1 } })
}

/** Returns the account's latest events of a record, newest first; with `asc` the first ones, oldest first. */
export async function listRecordEvents(
  db: Db,
  account: number,
  { record, id }: { readonly record: RecordKind; readonly id: number },
  limit: number,
  order: 'asc' | 'desc' = 'desc',
): Promise<StoredEvent[]> {
  const own = events.where('account_id', '=', account).where('record', '=', record).where('record_id', '=', id)
  return (await db.execute(own.orderBy('id', order).limit(limit))).map(toEvent)
}

/** Finds the event that deleted a record which is being removed, and which belongs to no account any more. */
export async function findDeletion(db: Db, record: RecordKind, id: number): Promise<StoredEvent | undefined> {
  const deletions = events.where('record_id', '=', id).where('record', '=', record)
  // As literals, so that the partial index can be used.
  const removed = deletions.where(sql<boolean>`action in ('deleted', 'merged') and record <> 'link'`)
  const [row] = await db.execute(removed.orderBy('id', 'desc').limit(1))
  return row && toEvent(row)
}

const dayMs = 86_400_000
/** How long an event can be undone. Milliseconds. */
export const undoableMs = 30 * dayMs

/** Returns how long events are stored, in milliseconds. 0 days are forever. */
export function historyDuration(historyDays: number): number {
  return historyDays === 0 ? Number.POSITIVE_INFINITY : historyDays * dayMs
}

/** Returns until when an event that is stored for so long can be undone, in Unix milliseconds; null if it never can. */
export function undoableUntil(
  { record, action, changes, at }: StoredEvent,
  storedMs = Number.POSITIVE_INFINITY,
): number | null {
  return changes !== null && isReversible(record, action) ? Date.parse(at) + Math.min(undoableMs, storedMs) : null
}

/** The condition of `isGroupDeletion`, with literals, so that the index of these events can be used. */
const isOfGroup = sql<boolean>`action = 'deleted' and record <> 'link'`

/** Returns whether an event deleted a domain, a space or a tag. */
export function isGroupDeletion({ action, record }: Pick<Row<'events'>, 'action' | 'record'>): boolean {
  return action === 'deleted' && record !== 'link'
}

/** Events of a batch that one query reads or counts, in 2 to 5 ms. */
const readTogether = 2_000

const isKnown = sql<number | boolean>`changes is not null`.as('is_known')
const statesInBatch = query.selectFrom('events').select(['id', 'record', 'action', 'undone_by', 'created_at', isKnown])
type StateInBatch = Pick<Row<'events'>, 'id' | 'record' | 'action' | 'undone_by' | 'created_at'> & {
  readonly is_known: number | boolean
}

/** Reads the account's events of a batch from before an id, newest first, in parts between which other work runs. */
async function* readBatch(
  db: Db,
  account: number,
  batch: string,
  { before, onlyGroups = false }: { readonly before?: number | undefined; readonly onlyGroups?: boolean } = {},
): AsyncGenerator<StateInBatch[]> {
  const all = statesInBatch.where('account_id', '=', account).where('batch_id', '=', batch)
  const own = onlyGroups ? all.where(isOfGroup) : all
  const ticks = new Ticks()
  for (let next = before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await db.execute(own.where('id', '<', next).orderBy('id', 'desc').limit(readTogether))
    yield rows
    if (rows.length < readTogether) return
    next = Number(rows.at(-1)?.id)
    await ticks.next()
  }
}

/** Returns whether an event is not undone and still can be at `now`, in Unix milliseconds. */
function isOpen({ record, action, undone_by, created_at, is_known }: StateInBatch, now: number): boolean {
  const canReverse = isReversible(record as RecordKind, action as EventAction) && Boolean(is_known)
  return undone_by === null && canReverse && Date.parse(created_at) + undoableMs > now
}

/** Which events of a batch are wanted at `now`, in Unix milliseconds. */
interface BatchPart {
  readonly now: number
  readonly limit: number
  /** Continues after this event. */
  readonly before?: number | undefined
  /** Only such events of links. */
  readonly ofLinks?: readonly EventAction[] | undefined
}

/**
 * Returns the ids of the account's events of a batch that deleted a domain, a space or a tag and can be undone, newest first.
 * Undo them before the others: links return only to a domain, space or tag that is there.
 */
export function openGroupIds(db: Db, account: number, batch: string, part: BatchPart): Promise<number[]> {
  return openIds(readBatch(db, account, batch, { before: part.before, onlyGroups: true }), part)
}

/** Returns the ids of the account's other events of a batch that can be undone, newest first. */
export function openEventIds(db: Db, account: number, batch: string, part: BatchPart): Promise<number[]> {
  const isWanted = (row: StateInBatch) =>
    part.ofLinks === undefined
      ? !isGroupDeletion(row)
      : row.record === 'link' && part.ofLinks.includes(row.action as EventAction)
  return openIds(readBatch(db, account, batch, { before: part.before }), part, isWanted)
}

async function openIds(
  batch: AsyncIterable<StateInBatch[]>,
  { now, limit }: BatchPart,
  isWanted = (_: StateInBatch) => true,
): Promise<number[]> {
  const open: StateInBatch[] = []
  for await (const rows of batch) {
    open.push(...rows.filter((row) => isWanted(row) && isOpen(row, now)))
    if (open.length >= limit) break
  }
  return open.slice(0, limit).map(({ id }) => Number(id))
}

/** How many events of a batch have the same kind of record and action. */
export interface BatchCount extends Pick<StoredEvent, 'record' | 'action'> {
  readonly all: number
  readonly undone: number
  /** Those that can be undone. */
  readonly open: number
  /** The id of the first one. */
  readonly first: number
}

/**
 * Counts the account's events of a batch by kind of record and action, in the order of the first ones; only the last `most` events
 * if there are more. `now` is in Unix milliseconds.
 */
export async function countTypes(
  db: Db,
  account: number,
  batch: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
): Promise<readonly BatchCount[]> {
  const counts = new Map<string, BatchCount>()
  const ticks = new Ticks()
  for (let before = Number.MAX_SAFE_INTEGER, left = most; ; await ticks.next()) {
    const limit = Math.min(readTogether, left)
    const rows = await db.execute(countsOfPart(account, batch, before, now, limit))
    for (const row of rows) {
      const [record, action] = [row.record as RecordKind, row.action as EventAction]
      const { all = 0, undone = 0, open = 0 } = counts.get(`${record}.${action}`) ?? {}
      counts.set(`${record}.${action}`, {
        ...{ record, action, all: all + Number(row.all), undone: undone + Number(row.undone) },
        open: open + (isReversible(record, action) ? Number(row.open) : 0),
        first: Number(row.first),
      })
      before = Math.min(before, Number(row.first))
    }
    const counted = rows.reduce((sum, { all }) => sum + Number(all), 0)
    left -= counted
    if (counted < limit || left <= 0) break
  }
  return [...counts.values()].sort((one, other) => one.first - other.first)
}

/** Counts the last events of a batch before an id by type. */
function countsOfPart(account: number, batch: string, before: number, now: number, limit: number) {
  const since = new Date(now - undoableMs).toISOString()
  const isOpen = sql<1 | null>`case when undone_by is null and changes is not null and created_at > ${since} then 1 end`
  const own = query.selectFrom('events').where('account_id', '=', account).where('batch_id', '=', batch)
  const states = own.select(['id', 'record', 'action', 'undone_by', isOpen.as('is_open')])
  const part = states.where('id', '<', before).orderBy('id', 'desc').limit(limit).as('part')
  const types = query.selectFrom(part).select(['record', 'action']).groupBy(['record', 'action'])
  return types
    .select(({ fn }) => [fn.countAll().as('all'), fn.count('undone_by').as('undone')])
    .select(({ fn }) => [fn.count('is_open').as('open'), fn.min('id').as('first')])
}

/** Counts the account's events of a batch: those that can be undone at `now`, in Unix milliseconds, and all. */
export async function countBatch(db: Db, account: number, batch: string, now: number) {
  const counts = await countTypes(db, account, batch, now)
  return { open: sumCounts(counts, 'open'), all: sumCounts(counts, 'all') }
}

/** Adds up one figure of a batch. */
export function sumCounts(counts: readonly BatchCount[], figure: 'all' | 'undone' | 'open'): number {
  return counts.reduce((sum, count) => sum + count[figure], 0)
}

/** Returns the account's first events of a batch, or the last ones with `desc`, from that end on. */
export async function readBatchEnd(
  db: Db,
  account: number,
  batch: string,
  order: 'asc' | 'desc',
  limit: number,
): Promise<StoredEvent[]> {
  const own = events.where('account_id', '=', account).where('batch_id', '=', batch)
  return (await db.execute(own.orderBy('id', order).limit(limit))).map(toEvent)
}

/** Returns whether any of the account's events of a batch can be undone at `now`, in Unix milliseconds. */
export async function isBatchOpen(db: Db, account: number, batch: string, now: number): Promise<boolean> {
  if ((await openGroupIds(db, account, batch, { now, limit: 1 })).length > 0) return true
  return (await openEventIds(db, account, batch, { now, limit: 1 })).length > 0
}

/** Returns the account's events of a batch from before an id, with what their reversal needs, newest first. */
export async function readEvents(
  db: Db,
  account: number,
  batch: string,
  before: number,
  limit: number,
): Promise<StoredEvent[]> {
  const own = events.select('kept').where('account_id', '=', account).where('batch_id', '=', batch)
  return (await db.execute(own.where('id', '<', before).orderBy('id', 'desc').limit(limit))).map(toEvent)
}

/**
 * Stores that each of the account's events was reversed by the newest event of the batch about the same record. Returns the ids of
 * the events that have such a reversal.
 */
export async function markUndone(
  tx: Db,
  account: number,
  ids: readonly number[],
  batch: string,
): Promise<ReadonlySet<number>> {
  const reversal = query
    .selectFrom('events as reversal')
    .select(({ fn }) => fn.max('reversal.id').as('id'))
    .where('reversal.account_id', '=', account)
    .where('reversal.batch_id', '=', batch)
    .where('reversal.record', '=', sql.ref<string>('events.record'))
    .where('reversal.record_id', '=', sql.ref<number>('events.record_id'))
  const own = query.updateTable('events').where('id', 'in', ids).where('account_id', '=', account)
  const marked = await tx.execute(own.set({ undone_by: reversal }).returning(['id', 'undone_by']))
  return new Set(marked.filter(({ undone_by }) => undone_by !== null).map(({ id }) => Number(id)))
}
