/** Changes as entries of a list, each with a button that reverses it. */

import type { Actor } from '../../access/actor.ts'
import { mayReverse } from '../../events/reversal.ts'
import {
  findEvent,
  findReversals,
  listRecordEvents,
  listStoredEvents,
  type StoredEvent,
  sumCounts,
  undoableUntil,
} from '../../events/store.ts'
import { sampleSize } from '../../history/sentences.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Db, Storage } from '../../storage/port.ts'
import { loadBatch, loadChangeContext } from '../change-context.ts'
import { postButton, type Viewer } from '../parts/buttons.ts'
import { actorName, type Batch, type ChangeContext, renderBatch, renderChange, renderValues } from '../parts/changes.ts'
import { timeAgo } from '../parts/format.ts'

export const historyHome = '/app/history'

/** One event, its batch, or alike events of one author. */
export interface Entry {
  readonly event: StoredEvent
  /** Null for one event. */
  readonly batch: Batch | null
  /** The single events of several requests that the entry has together, newest first. */
  readonly alike?: readonly StoredEvent[]
}

interface EntryContext extends ChangeContext {
  /** The events that have reversed others, by id. */
  readonly reversals: ReadonlyMap<number, StoredEvent>
  /** The ids of the shown events that have reversed others. */
  readonly undoing: ReadonlySet<number>
  /** The page to return to. */
  readonly next: string
  readonly now: number
  /** Decides which changes have a button to undo them. */
  readonly viewer: Viewer
}

interface Source {
  readonly storage: Db
  readonly shortUrl: ShortUrl
  readonly timeZone: string
}

/** Loads what the entries of events show about other records and events. */
export async function loadEntryContext(
  source: Source,
  viewer: Actor,
  events: readonly StoredEvent[],
  next: string,
): Promise<EntryContext> {
  const { storage } = source
  const undoneBy = new Set(events.flatMap((event) => event.undoneBy ?? []))
  const [context, reversals, undoing] = await Promise.all([
    loadChangeContext(source, viewer, events),
    Promise.all([...undoneBy].map((id) => findEvent(storage, viewer.account, id))),
    findReversals(
      storage,
      events.map(({ id }) => id),
    ),
  ])
  const byId = reversals.flatMap((event) => (event === undefined ? [] : [[event.id, event] as const]))
  return { ...context, reversals: new Map(byId), undoing, next, now: Date.now(), viewer }
}

/** The most events of a batch that its entry counts. Its page counts all. */
const countedInEntry = 1_000

/** Returns a batch; null for one with a single event. */
export function severalIn(batch: Batch): Batch | null {
  return sumCounts(batch.counts, 'all') < 2 ? null : batch
}

/** Returns an entry for each batch of the events. */
export async function groupedEntries(db: Db, account: number, events: readonly StoredEvent[]): Promise<Entry[]> {
  const heads = [...Map.groupBy(events, ({ batchId }) => batchId).values()].flatMap(([first]) => first ?? [])
  const entries: Entry[] = []
  // One by one, because reading 25 batches of a thousand events in one tick would block the event loop.
  for (const event of heads) {
    entries.push({ event, batch: severalIn(await loadBatch(db, account, event.batchId, countedInEntry)) })
  }
  return entries
}

/** Alike events of one author within this time are one entry. Milliseconds. */
const alikeMs = 3_600_000
/** Fewer are easier to read one by one. */
const fewestAlike = 3

/** Returns entries in which consecutive single events are together if they have the same author and type, within an hour. */
export function mergeAlike(entries: readonly Entry[]): Entry[] {
  const runs: [Entry, ...Entry[]][] = []
  for (const entry of entries) {
    const run = runs.at(-1)
    if (run !== undefined && isAlike(run[0], entry)) run.push(entry)
    else runs.push([entry])
  }
  return runs.flatMap((run) => (run.length < fewestAlike ? run : [together(run.map(({ event }) => event))]))
}

function isAlike(first: Entry, other: Entry): boolean {
  const author = ({ event: { actor, record, action } }: Entry) => JSON.stringify([actor, record, action])
  const passed = Date.parse(first.event.at) - Date.parse(other.event.at)
  return first.batch === null && other.batch === null && passed <= alikeMs && author(first) === author(other)
}

function together(alike: readonly StoredEvent[]): Entry {
  const [event, now] = [alike[0] as StoredEvent, Date.now()]
  const undone = alike.filter(({ undoneBy }) => undoneBy !== null).length
  const open = alike.filter((each) => each.undoneBy === null && (undoableUntil(each) ?? 0) > now).length
  const { record, action } = event
  const counts = [{ record, action, all: alike.length, undone, open, first: alike.at(-1)?.id ?? 0 }]
  return { event, batch: { counts, isLarger: false, sample: alike.toReversed() }, alike }
}

/** Renders entries as a list. */
export function entryList(entries: readonly Entry[], context: EntryContext): Html {
  return html`<ol class="entries">${entries.map((entry) => html`<li>${renderEntry(entry, context)}</li>`)}</ol>`
}

function renderEntry({ event, batch, alike }: Entry, context: EntryContext): Html {
  if (batch !== null && alike !== undefined) {
    const head = renderHead(event, renderBatch(batch, context), batchControl(event, batch, context, alike), context)
    const singles = alike.map((each): Entry => ({ event: each, batch: null }))
    return html`${head}<details><summary>${quantity(alike.length, 'change')}</summary>${entryList(singles, context)}</details>`
  }
  if (batch === null) {
    return html`${renderHead(event, renderChange(event, context), eventControl(event, context), context)}${renderValues(event, context)}`
  }
  const total = sumCounts(batch.counts, 'all')
  const all = batch.isLarger ? `more than ${quantity(countedInEntry, 'change')}` : quantity(total, 'change')
  const shown = batch.sample.slice(0, sampleSize)
  const rows = shown.map((each) => html`<li><p>${renderChange(each, context)}</p>${renderValues(each, context)}</li>`)
  const more =
    total > shown.length
      ? html`<p><a href="${batchPage(event.batchId)}">Show all ${batch.isLarger ? 'changes' : all}</a></p>`
      : null
  return html`${batchHead(event, batch, context)}
<details><summary>${total > shown.length ? `${shown.length} of ` : ''}${all}</summary><ol class="entries">${rows}</ol>${more}</details>`
}

/** Renders the sentence about a batch, with its button. */
export function batchHead(event: StoredEvent, batch: Batch, context: EntryContext): Html {
  return renderHead(event, renderBatch(batch, context), batchControl(event, batch, context), context)
}

function renderHead({ id, actor, at }: StoredEvent, deed: Html, control: Part, { now, undoing }: EntryContext): Html {
  const why = undoing.has(id) ? ', undoing an earlier change' : ''
  return html`<div class="deed"><p><b>${actorName(actor)}</b> ${deed} <span class="muted small">${timeAgo(at, now)}${why}</span></p>
<div class="offers">${control}</div></div>`
}

/** Returns the path of the page with all changes of a batch. */
export function batchPage(batch: string): string {
  return `${historyHome}?${new URLSearchParams({ batch_id: batch })}`
}

/** Renders the button if the viewer may change all these kinds of records. */
function undoButton(
  label: string,
  fields: Readonly<Record<string, string>>,
  changed: readonly Pick<StoredEvent, 'record'>[],
  { next, viewer }: EntryContext,
): Html | null {
  if (!mayReverse(viewer, changed)) return null
  return postButton({ label, weight: 'link-like', action: `${historyHome}/undo`, fields: { ...fields, next } })
}

function eventControl(event: StoredEvent, context: EntryContext): Html | null {
  const reason = whyNot(event, context)
  return reason ?? undoButton('Undo', { event: String(event.id) }, [event], context)
}

/** Says in a few words why an event can't be undone; null if it can. */
function whyNot(event: StoredEvent, { reversals, now }: EntryContext): Html | null {
  const { undoneBy } = event
  const note = (words: Part) => html`<span class="muted small">${words}</span>`
  if (undoneBy !== null) {
    const reversal = reversals.get(undoneBy)
    if (reversal === undefined) return note('Undone')
    const { actor, at, batchId } = reversal
    return note(html`<a href="${batchPage(batchId)}">Undone by ${actorName(actor)}</a> ${timeAgo(at, now)}`)
  }
  const until = undoableUntil(event)
  if (until === null) return note('Can’t be undone')
  return until <= now ? note('Too old to undo') : null
}

function batchControl(
  event: StoredEvent,
  { counts, sample, isLarger }: Batch,
  context: EntryContext,
  alike: readonly StoredEvent[] | null = null,
): Part {
  const [open, undone] = [sumCounts(counts, 'open'), sumCounts(counts, 'undone')]
  const ids = alike?.filter(({ undoneBy }) => undoneBy === null).map(({ id }) => id)
  const fields: Readonly<Record<string, string>> = ids ? { events: ids.join() } : { batch: event.batchId }
  const progress = `Undo: ${formatCount(undone)} of ${formatCount(open + undone)} done`
  // The first events of a batch are the last to be undone.
  const isOpen = open > 0 || (isLarger && sample.some((each) => whyNot(each, context) === null))
  const changed = [...counts, ...sample]
  if (isOpen && undone === 0) return undoButton('Undo', fields, changed, context)
  if (isOpen)
    return html`<span class="muted small">${isLarger ? null : progress}</span> ${undoButton('Undo the rest', fields, changed, context)}`
  return whyNot(sample.find(({ undoneBy }) => undoneBy !== null) ?? event, context)
}

/** Returns the path of the history with all changes of a member or a key. */
export function authorHistoryPath(kind: 'member' | 'key', id: number): string {
  return `${historyHome}?actor=${kind}&actor_id=${id}`
}

/** Returns the section with a member's latest changes, for their page `next`. Returns null if the history has none. */
export async function loadMemberHistory(
  source: Source & { readonly storage: Storage },
  viewer: Actor,
  id: number,
  next: string,
): Promise<Html | null> {
  const { rows } = await listStoredEvents(source.storage, viewer.account, {
    ...{ search: [], searchIn: [], filter: { actor_kind: 'member', actor_id: id } },
    ...{ sortBy: 'id', direction: 'desc', limit: shownOfRecord, offset: 0, after: null },
  })
  if (rows.length === 0) return null
  const context = await loadEntryContext(source, viewer, rows, next)
  const entries = rows.map((event): Entry => ({ event, batch: null }))
  const all = html`<p><a href="${authorHistoryPath('member', id)}">Show all</a></p>`
  return html`<section id="history"><h2>Latest changes</h2>${entryList(entries, context)}${all}</section>`
}

/** A record with a page. */
interface Subject {
  readonly record: 'link' | 'domain' | 'space' | 'tag'
  readonly id: number
}

const shownOfRecord = 5

/** Changes on a record's page. */
interface RecordHistory {
  /** The section with the latest changes; null if none is stored. */
  readonly section: Html | null
  /** Who created the record and changed it last; null if unknown. */
  readonly createdBy: Html | null
  readonly updatedBy: Html | null
}

/** Returns what the page `next` of a record shows about its changes. */
export async function loadRecordHistory(
  source: Source,
  viewer: Actor,
  subject: Subject,
  next: string,
): Promise<RecordHistory> {
  const { account } = viewer
  const { storage } = source
  // The first event is the creation, unless that was before there were events.
  const [latest, [first]] = await Promise.all([
    listRecordEvents(storage, account, subject, shownOfRecord + 1),
    listRecordEvents(storage, account, subject, 1, 'asc'),
  ])
  const shown = latest.slice(0, shownOfRecord)
  const context = await loadEntryContext(source, viewer, shown, next)
  const entries = shown.map((event): Entry => ({ event, batch: null }))
  const { record, id } = subject
  const all = html`<p><a href="${historyHome}?record=${record}&amp;record_id=${id}">Show all</a></p>`
  const section = html`<section id="history"><h2>History</h2>${entryList(entries, context)}${latest.length > shown.length ? all : null}</section>`
  const updated = latest.find(({ action }) => action === 'updated' || action === 'restored')
  return {
    section: shown.length === 0 ? null : section,
    createdBy: first?.action === 'created' ? actorName(first.actor) : null,
    updatedBy: updated === undefined ? null : actorName(updated.actor),
  }
}
