/** The history: all changes of an account, with filters, and the form that undoes them. */

import { type Actor, allows } from '../../access/actor.ts'
import { Calendar, dayText } from '../../accounts/calendar.ts'
import { eventExport } from '../../api/events.ts'
import { recordFile } from '../../api/exports.ts'
import { Failure } from '../../errors.ts'
import { mayReverse, type Reversals } from '../../events/reversal.ts'
import { type EventsQuery, eventsQuery, readEventPage } from '../../events/schema.ts'
import { listBatches, listStoredEvents, type StoredEvent } from '../../events/store.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { sendParts } from '../../http/response.ts'
import { listKeys } from '../../keys/store.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import { memberRecords } from '../../members/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { kinds, recordKinds, typeNames } from '../../record-kinds.ts'
import type { Storage } from '../../storage/port.ts'
import type { Violation } from '../../violations.ts'
import { loadBatch } from '../change-context.ts'
import { type Filter, ListState, selectFilter } from '../lists.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { attributes, hiddenFields, linkButton, postButton, type Viewer } from '../parts/buttons.ts'
import { actorName, type ChangeContext, renderRecord } from '../parts/changes.ts'
import { type Choice, formMessages } from '../parts/fields.ts'
import { formatDay } from '../parts/format.ts'
import { newLinkActions } from '../parts/link-actions.ts'
import { emptyState } from '../parts/messages.ts'
import { formZone } from '../parts/time-zones.ts'
import { csvHeaders, withByteOrderMark } from '../statistics/csv.ts'
import { findEffective } from './effective-events.ts'
import {
  batchHead,
  type Entry,
  entryList,
  groupedEntries,
  historyHome,
  loadEntryContext,
  mergeAlike,
  severalIn,
} from './history-entries.ts'
import { addUndoForm } from './history-undo.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly reversals: Reversals
  readonly historyDays: number
  readonly semaphores: { readonly downloads: Semaphore }
}

const historyFile = `${historyHome}.csv`

export function addHistoryPages(pages: Pages, services: Services): void {
  pages.getFile(historyFile, 'events:read', (request) => {
    const { account, exchange, query } = request
    const file = eventExport(services.storage, services, async () => new Calendar([[formZone(request), 0]]))
    return services.semaphores.downloads.run(async () => {
      const wanted = file.query.check(query)
      if (wanted instanceof Failure) throw wanted
      const parts = recordFile(await file.read(account, wanted), 'csv', file)
      return sendParts(exchange, withByteOrderMark(parts), csvHeaders('history.csv'))
    }, String(account))
  })
  pages.get(historyHome, 'events:read', (request) => historyPage(request, services))
  // After a change of the color scheme.
  pages.get(`${historyHome}/undo`, 'events:read', async () => new Redirect(historyHome))
  addUndoForm(pages, services)
}

type EventList = ListState<EventsQuery>

async function historyPage(request: PageRequest, services: Services): Promise<PageContent> {
  const { account, actor } = request
  const query = splitAuthor(request.query)
  const { storage } = services
  const timeZone = formZone(request)
  const calendar = new Calendar([[timeZone, 0]])
  const shown = { title: 'History', section: 'history' } as const
  const { violations } = eventsQuery.read(query)
  const faults = violations.filter(({ field }) => Object.hasOwn(dateLabels, field) && typeof query[field] === 'string')
  const list = new ListState(historyHome, query, formWithout(faults), (read) => readEventPage(read, calendar))
  const filters = filterForm(list, await findAuthors(storage, actor, list))
  if (faults.length > 0)
    return { ...shown, body: html`${filters}<div id="results" class="results">${badDates(faults)}</div>` }
  const { record, type, record_id, batch_id } = list.query
  const isOneRecord = record_id !== null || batch_id !== null
  // The first event of a batch may be about a record of another kind.
  const listed = isOneRecord || record !== null || type !== null ? listStoredEvents : listBatches
  const page = await listed(storage, account, list.request)
  const { rows, total, totalIsExact } = page
  if (total === 0 && list.href(noFilters) === list.href({})) return { ...shown, body: nothingYet(actor) }
  const single = rows.map((event): Entry => ({ event, batch: null }))
  const entries = isOneRecord ? single : mergeAlike(await groupedEntries(storage, account, rows))
  const whole = batch_id && severalIn(await loadBatch(storage, account, batch_id))
  const samples = [whole, ...entries.map(({ batch }) => batch)].flatMap((batch) => (batch ? batch.sample : []))
  const context = await loadEntryContext({ ...services, timeZone }, actor, [...rows, ...samples], list.currentHref)
  const sections = daySections(entries, context, calendar)
  const counted = quantity(total, listed === listStoredEvents ? 'change' : 'action')
  const count = html`<p data-count>${totalIsExact ? '' : 'More than '}${counted}</p>`
  const offers = html`${await undoShown(storage, list, rows, actor)}${downloadLink(list, rows)}`
  const head = html`<div class="found">${count}${chips(list, rows, context)}${offers}</div>`
  const [first] = rows
  const batch = first && whole && batchHead(first, whole, context)
  const body = html`${filters}
<div id="results" class="results">${head}${batch ? html`<section class="batch">${batch}</section>` : null}
${rows.length === 0 ? noRows(list) : html`${sections}${list.pagination(page)}`}</div>`
  return { ...shown, body }
}

function nothingYet(viewer: Viewer): Html {
  return emptyState({
    title: 'No changes yet',
    why: 'Every change of a link, domain, space or tag appears here, with its author and the values before and after it. For 30 days, it can be undone.',
    action: newLinkActions(viewer),
  })
}

const dateLabels: Readonly<Record<string, string>> = { from: 'From', to: 'To' }

/** Returns the form that reads the query without these values, which the filters still show. */
function formWithout(faults: readonly Violation[]): Pick<typeof eventsQuery, 'check'> {
  const without = Object.fromEntries(faults.map(({ field }) => [field, '']))
  return { check: (given) => eventsQuery.check({ ...given, ...without }) }
}

function badDates(faults: readonly Violation[]): Html {
  const why = formMessages(faults, (field) => dateLabels[field] ?? null).join(' ')
  return emptyState({ title: 'Check the dates', why })
}

const noFilters = {
  ...{ type: null, record: null, record_id: null, actor: null, actor_id: null },
  ...{ batch_id: null, from: null, to: null },
}

function noRows(list: EventList): Html {
  if (list.page > 1) return list.emptyPageMessage()
  const action = linkButton({ label: 'Clear filters', href: historyHome })
  const why = 'Changes may be older than the history, or another account made them.'
  return emptyState({ title: 'No changes match these filters', why, action })
}

function daySections(
  entries: readonly Entry[],
  context: Parameters<typeof entryList>[1],
  calendar: Calendar,
): readonly Html[] {
  const days = Map.groupBy(entries, ({ event: { at } }) => calendar.dayAt(Date.parse(at)))
  return [...days].map(
    ([day, those]) => html`<section><h2>${dayHeading(day, calendar)}</h2>${entryList(those, context)}</section>`,
  )
}

function dayHeading(day: number, calendar: Calendar): string {
  const text = formatDay(dayText(day))
  const age = calendar.today() - day
  return age === 0 ? `Today, ${text}` : age === 1 ? `Yesterday, ${text}` : text
}

const recordTitles = Object.fromEntries(recordKinds.map((kind) => [kind, kinds[kind].title]))

const actorNames: Readonly<Record<NonNullable<EventsQuery['actor']>, string>> = {
  ...{ member: 'People', key: 'API keys', command: 'Command line', system: 'Waymark' },
}

function choices(any: string, names: Readonly<Record<string, string>>): Choice[] {
  return [{ value: '', label: any }, ...Object.entries(names).map(([value, label]) => ({ value, label }))]
}

/** Divides the value of the control "Made by", such as `member:3`, into the parameters of the list. */
function splitAuthor({ by, ...query }: Fields): Fields {
  if (by === undefined) return query
  const [actor = '', actor_id = ''] = String(by).split(':')
  return { ...query, actor, actor_id }
}

function formatAuthor({ actor, actor_id }: EventsQuery): string {
  return [actor ?? [], actor_id ?? []].flat().join(':')
}

/** People and keys in the control "Made by". */
const maxAuthors = 100

/** Returns the choices of "Made by": the kinds of authors, people, and the API keys if the viewer may see them. */
async function findAuthors(storage: Storage, viewer: Actor, list: EventList): Promise<Choice[]> {
  const { account } = viewer
  const byName = { sortBy: 'name', direction: 'asc', limit: maxAuthors, offset: 0, after: null } as const
  const people = await memberRecords.list(storage, account, { ...byName, search: [], searchIn: [], filter: {} })
  const keys = allows(viewer, 'keys:read') ? (await listKeys(storage, account)).slice(-maxAuthors) : []
  const names = {
    ...actorNames,
    ...Object.fromEntries(people.rows.map(({ id, name }) => [`member:${id}`, name])),
    ...Object.fromEntries(keys.map(({ id, name }) => [`key:${id}`, `API key ${name}`])),
  }
  const chosen = formatAuthor(list.query)
  return choices(
    'Made by anyone',
    chosen === '' || chosen in names ? names : { ...names, [chosen]: chosen.replace(':', ' ') },
  )
}

function downloadLink(list: EventList, { length }: readonly unknown[]): Html | null {
  if (length === 0) return null
  const href = list.href({ sort: null, sort_by: null, per_page: null }).replace(historyHome, historyFile)
  return html`<a class="small" href="${href}">Export CSV</a>`
}

/** Renders the button that undoes all events that the filters select, up to those that the page knows. */
async function undoShown(
  storage: Storage,
  list: EventList,
  rows: readonly StoredEvent[],
  viewer: Actor,
): Promise<Html | null> {
  const isAll = list.href(noFilters) === list.href({})
  if (isAll || list.query.batch_id !== null || !mayReverse(viewer, rows)) return null
  const { effective, newest, isWhole } = await findEffective(storage, viewer.account, list.request)
  if (effective.length < 2) return null
  const filter = new URL(list.href({ per_page: null }), 'http://localhost').search
  const fields = { filter, newest: String(newest), next: list.currentHref }
  const label = `Undo ${isWhole ? 'these' : 'the latest'} ${formatCount(effective.length)}`
  return postButton({ label, weight: 'link-like', action: `${historyHome}/undo`, fields })
}

/** Renders the filters. Those for one record or batch are in the URL only. */
function filterForm(list: EventList, authors: readonly Choice[]): Html {
  const { record_id } = list.query
  const filters: readonly Pick<Filter, 'control'>[] = [
    ...(record_id === null ? [selectFilter(list, 'record', 'Records', choices('All records', recordTitles))] : []),
    selectFilter(list, 'type', 'Changes', choices('All changes', typeNames)),
    selectFilter({ filterValue: () => formatAuthor(list.query) }, 'by', 'Made by', authors),
    ...Object.entries(dateLabels).map(([name, label]) => dateFilter(list, name, label)),
  ]
  const kept = [
    ...(record_id === null ? [] : ['record', 'record_id']),
    ...['batch_id', 'per_page'].filter((name) => list.filterValue(name) !== ''),
  ]
  const fields = Object.fromEntries(kept.map((name) => [name, list.filterValue(name)]))
  return html`<form class="filters" method="get" action="${historyHome}" role="search" aria-label="Changes" data-live="results">
${filters.map(({ control }) => control)}${hiddenFields(fields)}<button class="button plain without-script">Apply</button></form>`
}

function dateFilter(list: EventList, name: string, label: string): Pick<Filter, 'control'> {
  const input = attributes({ type: 'date', id: `filter-${name}`, name, value: list.filterValue(name) })
  return { control: html`<div class="select dated"><label for="filter-${name}">${label}</label><input${input}></div>` }
}

/** Renders what limits the list to one record, actor or batch, each with a link that removes it. */
function chips(list: EventList, [first]: readonly StoredEvent[], context: ChangeContext): Html {
  const { record, record_id, actor, actor_id, batch_id } = list.query
  const chip = (words: Html, without: Readonly<Record<string, null>>) =>
    html`<span class="state">Only ${words} </span> <a class="small" href="${list.href(without)}">Show others, too</a>`
  return html`${record_id && chip(first ? renderRecord(first, context) : html`${record} ${record_id}`, { record: null, record_id: null })}
${actor_id && chip(first ? actorName(first.actor) : html`${actor} ${actor_id}`, { actor: null, actor_id: null })}
${batch_id && chip(html`changes made together`, { batch_id: null })}`
}
