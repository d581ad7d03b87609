/** The history: all changes of an account, with filters, and the form that undoes them. */

import type { Actor } from '../../access/actor.ts'
import { Calendar, dayText } from '../../accounts/calendar.ts'
import { Failure } from '../../errors.ts'
import type { Reversals } from '../../events/reversal.ts'
import { batchIdRule, type EventsQuery, eventsQuery, readEventPage } from '../../events/schema.ts'
import { findEvent, listBatches, listStoredEvents, type StoredEvent } from '../../events/store.ts'
import { form, optional } from '../../forms/form.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { labelField } from '../../history/sentences.ts'
import { failures } from '../../http/failures.ts'
import { type Html, html } from '../../http/html.ts'
import { quantity } from '../../lib/format.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { kinds, recordKinds, typeNames } from '../../record-kinds.ts'
import type { Storage } from '../../storage/port.ts'
import type { Violation } from '../../violations.ts'
import { loadBatch } from '../change-context.ts'
import { type Filter, ListState, selectFilter } from '../lists.ts'
import type { Notice } from '../notice-messages.ts'
import { withdrawOffer } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { attributes, hiddenFields, linkButton, type Viewer } from '../parts/buttons.ts'
import { actorName, type ChangeContext, renderRecord } from '../parts/changes.ts'
import { type Choice, formMessages } from '../parts/fields.ts'
import { formatDay } from '../parts/format.ts'
import { newLinkActions } from '../parts/link-actions.ts'
import { emptyState } from '../parts/messages.ts'
import { formZone } from '../parts/time-zones.ts'
import { valuesIn } from '../record-forms.ts'
import { returnPath } from '../return-path.ts'
import {
  batchHead,
  batchPage,
  type Entry,
  entryList,
  groupedEntries,
  historyHome,
  loadEntryContext,
  severalIn,
} from './history-entries.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly reversals: Reversals
}

export function addHistoryPages(pages: Pages, services: Services): void {
  pages.get(historyHome, 'events:read', (request) => historyPage(request, services))
  // After a change of the color scheme.
  pages.get(`${historyHome}/undo`, 'events:read', async () => new Redirect(historyHome))
  pages.post(`${historyHome}/undo`, null, async (request) => {
    const shown = await undo(request, services)
    // If changes stayed, a repetition would fail again.
    withdrawOffer(request.exchange, pages.isSecure(request.exchange))
    return shown
  })
}

type EventList = ListState<EventsQuery>

async function historyPage(request: PageRequest, services: Services): Promise<PageContent> {
  const { account, actor, query } = request
  const { storage } = services
  const timeZone = formZone(request)
  const calendar = new Calendar([[timeZone, 0]])
  const shown = { title: 'History', section: 'history' } as const
  const { violations } = eventsQuery.read(query)
  const faults = violations.filter(({ field }) => Object.hasOwn(dateLabels, field) && typeof query[field] === 'string')
  const list = new ListState(historyHome, query, formWithout(faults), (read) => readEventPage(read, calendar))
  if (faults.length > 0)
    return { ...shown, body: html`${filterForm(list)}<div id="results" class="results">${badDates(faults)}</div>` }
  const { record, type, record_id, batch_id } = list.query
  const isOneRecord = record_id !== null || batch_id !== null
  // The first event of a batch may be about a record of another kind.
  const listed = isOneRecord || record !== null || type !== null ? listStoredEvents : listBatches
  const page = await listed(storage, account, list.request)
  const { rows, total, totalIsExact } = page
  if (total === 0 && list.href(noFilters) === list.href({})) return { ...shown, body: nothingYet(actor) }
  const single = rows.map((event): Entry => ({ event, batch: null }))
  const entries = isOneRecord ? single : await groupedEntries(storage, account, rows)
  const whole = batch_id && severalIn(await loadBatch(storage, account, batch_id))
  const samples = [whole, ...entries.map(({ batch }) => batch)].flatMap((batch) => (batch ? batch.sample : []))
  const context = await loadEntryContext({ ...services, timeZone }, actor, [...rows, ...samples], list.currentHref)
  const days = Map.groupBy(entries, ({ event: { at } }) => calendar.dayAt(Date.parse(at)))
  const sections = [...days].map(
    ([day, those]) => html`<section><h2>${dayHeading(day, calendar)}</h2>${entryList(those, context)}</section>`,
  )
  const counted = quantity(total, listed === listStoredEvents ? 'change' : 'action')
  const count = html`<p data-count>${totalIsExact ? '' : 'More than '}${counted}</p>`
  const head = html`<div class="found">${count}${chips(list, rows, context)}</div>`
  const [first] = rows
  const batch = first && whole && batchHead(first, whole, context)
  const body = html`${filterForm(list)}
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

/** Renders the filters. Those for one record, actor or batch are in the URL only. */
function filterForm(list: EventList): Html {
  const { record_id, actor_id } = list.query
  const filters: readonly Pick<Filter, 'control'>[] = [
    ...(record_id === null ? [selectFilter(list, 'record', 'Records', choices('All records', recordTitles))] : []),
    selectFilter(list, 'type', 'Changes', choices('All changes', typeNames)),
    ...(actor_id === null ? [selectFilter(list, 'actor', 'Made by', choices('Made by anyone', actorNames))] : []),
    ...Object.entries(dateLabels).map(([name, label]) => dateFilter(list, name, label)),
  ]
  const kept = [
    ...(record_id === null ? [] : ['record', 'record_id']),
    ...(actor_id === null ? [] : ['actor', 'actor_id']),
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

/** How long a request continues with the next part of a batch. */
const patienceMs = 5_000
/** The most records that a page names because they stayed. */
const namedRecords = 100

const batchForm = form({ batch: optional(batchIdRule, null) })

interface Stayed {
  readonly event: StoredEvent
  readonly failure: Failure
}

/** Undoes an event or a batch, or as much of it as a few seconds allow. */
async function undo(request: PageRequest, services: Services): Promise<PageContent | Redirect> {
  const { actor, fields } = request
  const { event } = fields
  const { batch } = valuesIn(batchForm, { batch: fields.batch })
  const next = fields.next === undefined ? historyHome : returnPath(fields.next)
  const { done, stayed, isOver } =
    batch !== null
      ? await undoBatch(services, actor, batch)
      : await undoEvent(services, actor, positiveInteger(String(event)) ?? 0)
  const page = isOver ? remainingPage(next, done) : batchPage(batch ?? '')
  const [count, failed] = [done.length, stayed.length]
  const repeatRedirect = new Redirect(page, chooseNotice(count, failed))
  if (failed === 0) return repeatRedirect
  const shown = stayed.slice(0, namedRecords)
  const of = shown.map((each) => each.event)
  const context = await loadEntryContext({ ...services, timeZone: formZone(request) }, actor, of, page)
  const rows = shown.map((each) => html`<li>${renderRecord(each.event, context)}: ${explainStay(each)}</li>`)
  const others = failed - shown.length
  const more = others > 0 ? html`<li>${quantity(others, 'other')}</li>` : null
  const title =
    count === 0 ? 'Nothing was undone' : `${quantity(count, 'change')} undone, ${quantity(failed, 'other')} stayed`
  const body = html`<p>${failed === 1 ? 'This change' : 'These changes'} stayed:</p><ul class="things">${rows}${more}</ul>
<div class="actions">${linkButton({ label: 'Continue', href: page })}</div>`
  return { title, section: 'history', body, repeatRedirect }
}

function chooseNotice(count: number, failed: number): Notice {
  if (count > 0) return 'changes'
  return failed > 0 ? { code: 'not-undone', count: failed } : { code: 'nothing-to-undo' }
}

/** Returns why a change stayed, with the labels of forms. */
function explainStay({ event: { record }, failure: { message, facts } }: Stayed): string {
  return facts.violations ? formMessages(facts.violations, (field) => labelField(record, field)).join(' ') : message
}

async function undoEvent({ reversals, storage }: Services, actor: Actor, id: number) {
  try {
    return { done: [await reversals.undoEvent(actor, id)], stayed: [], isOver: true }
  } catch (error) {
    const event = await findEvent(storage, actor.account, id)
    if (!(error instanceof Failure) || event === undefined || !staysOnPage(error)) throw error
    return { done: [], stayed: [{ event, failure: error }], isOver: true }
  }
}

/** Returns whether a page can say why a change stayed. Other failures have their own page and status. */
function staysOnPage({ code }: Failure): boolean {
  return failures[code].status < 500 && code !== 'insufficient_scope'
}

/** Undoes parts of a batch until it is over, or the time is up. Its page offers to undo the rest. */
async function undoBatch({ reversals }: Services, actor: Actor, batch: string) {
  const end = Date.now() + patienceMs
  const done: StoredEvent[] = []
  const stayed: Stayed[] = []
  for await (const some of reversals.undoBatch(actor, batch)) {
    for (const { event, failure } of some) {
      if (failure === null) done.push(event)
      else stayed.push({ event, failure })
    }
    if (Date.now() > end) return { done, stayed, isOver: false }
  }
  const forbidden = stayed.find(({ failure }) => failure.code === 'insufficient_scope')
  if (done.length === 0 && forbidden) throw forbidden.failure
  return { done, stayed, isOver: true }
}

/** Returns the page to show next. The list replaces the page of a deleted record. */
function remainingPage(next: string, done: readonly StoredEvent[]): string {
  const [, list = '', id = ''] = /^\/app\/(\w+)\/(\d+)/.exec(next) ?? []
  const gone = done.filter(({ action }) => action === 'created' || action === 'restored')
  return gone.some(({ record, recordId }) => `${record}s/${recordId}` === `${list}/${id}`) ? `/app/${list}` : next
}
