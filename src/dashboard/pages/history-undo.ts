/** The form of the history that undoes an event, a batch, or all events that filters select. */

import type { Actor } from '../../access/actor.ts'
import { Calendar } from '../../accounts/calendar.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { maxReversed, type Reversals, type ReversedEvent } from '../../events/reversal.ts'
import { batchIdRule, eventsQuery, readEventPage } from '../../events/schema.ts'
import { findEvent, type StoredEvent } from '../../events/store.ts'
import { form, optional } from '../../forms/form.ts'
import { idList } from '../../forms/id-list.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { labelField, sampleSize } from '../../history/sentences.ts'
import { failures } from '../../http/failures.ts'
import { html } from '../../http/html.ts'
import { quantity } from '../../lib/format.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import type { Notice } from '../notice-messages.ts'
import { withdrawOffer } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { linkButton } from '../parts/buttons.ts'
import { renderBatch, renderRecord } from '../parts/changes.ts'
import { formMessages } from '../parts/fields.ts'
import { confirmation } from '../parts/messages.ts'
import { formZone } from '../parts/time-zones.ts'
import { valuesIn } from '../record-forms.ts'
import { returnPath } from '../return-path.ts'
import { findEffective } from './effective-events.ts'
import { batchPage, historyHome, loadEntryContext } from './history-entries.ts'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly reversals: Reversals
}

export function addUndoForm(pages: Pages, services: Services): void {
  pages.post(`${historyHome}/undo`, null, async (request) => {
    const shown = await undo(request, services)
    // If changes stayed, a repetition would fail again.
    withdrawOffer(request.exchange, pages.isSecure(request.exchange))
    return shown
  })
}

/** How long a request continues with the next part of a batch. */
const patienceMs = 5_000
/** The most records that a page names because they stayed. */
const namedRecords = 100

const batchForm = form({ batch: optional(batchIdRule, null) })
const eventIds = idList(maxReversed, 'changes')

interface Stayed {
  readonly event: StoredEvent
  readonly failure: Failure
}

/** Undoes an event, a batch, or several events, or as much of them as a few seconds allow. */
async function undo(request: PageRequest, services: Services): Promise<PageContent | Redirect> {
  const { actor, fields } = request
  const { batch } = valuesIn(batchForm, { batch: fields.batch })
  const next = fields.next === undefined ? historyHome : returnPath(fields.next)
  if (fields.filter !== undefined && fields.confirmed !== 'true') return askFirst(request, services, next)
  const { done, stayed, isOver } = await undoWanted(request, services, batch)
  const page = isOver ? remainingPage(next, done) : batch === null ? next : batchPage(batch)
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

async function undoWanted(request: PageRequest, services: Services, batch: string | null) {
  const { actor, fields } = request
  const { reversals } = services
  if (batch !== null) return undoParts(reversals.undoBatch(actor, batch))
  if (fields.filter !== undefined) {
    const ids = (await findShown(request, services)).map(({ id }) => id)
    return undoParts(reversals.undoEvents(actor, ids))
  }
  if (fields.events === undefined) return undoEvent(services, actor, positiveInteger(String(fields.event)) ?? 0)
  const ids = eventIds.read(fields.events)
  if (ids instanceof Refusal) throw validationFailed([ids.at('events')])
  return undoParts(reversals.undoEvents(actor, ids))
}

/** Asks before all changes under the filters of a page are undone, because that may delete domains and many links. */
async function askFirst(request: PageRequest, services: Services, next: string): Promise<PageContent> {
  const { filter, newest } = request.fields
  const events = await findShown(request, services)
  const types = Map.groupBy(events, ({ record, action }) => `${record}.${action}`)
  const counts = [...types.values()].flatMap(([event, ...others]) => {
    const all = others.length + 1
    return event === undefined ? [] : [{ ...event, first: event.id, all, open: all, undone: 0 }]
  })
  const sample = [...types.values()].flatMap((some) => some.slice(0, sampleSize))
  const context = await loadEntryContext({ ...services, timeZone: formZone(request) }, request.actor, sample, next)
  const changes = quantity(events.length, 'change')
  return confirmation({
    title: `Undo ${changes}?`,
    section: 'history',
    action: `${historyHome}/undo`,
    notes: html`<p>Someone ${renderBatch({ counts, isLarger: false, sample }, context)}.</p>`,
    consequences: [
      'What was created is deleted, what was deleted returns, and what was changed gets its previous values.',
      'Changes that others have built on stay, and the next page names them. For 30 days, you can undo this undo.',
    ],
    verb: `Undo ${changes}`,
    cancel: next,
    fields: { filter: String(filter), newest: String(newest), next, confirmed: 'true' },
    weight: 'primary',
  })
}

/** Returns the events that the page has shown under its filters. Throws `validation_failed`. */
async function findShown(request: PageRequest, { storage }: Services): Promise<readonly StoredEvent[]> {
  const { account, fields } = request
  const query = eventsQuery.check(Object.fromEntries(new URLSearchParams(String(fields.filter))))
  if (query instanceof Failure) throw query
  const newest = positiveInteger(String(fields.newest))
  if (newest === undefined) throw validationFailed([new Refusal('required').at('newest')])
  const page = readEventPage({ ...query, page: null, after: null }, new Calendar([[formZone(request), 0]]))
  return (await findEffective(storage, account, { ...page, after: newest + 1 })).effective
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

/** Undoes part after part until the last, or until the time is up. Then the page offers to undo the rest. */
async function undoParts(parts: AsyncIterable<readonly ReversedEvent[]>) {
  const end = Date.now() + patienceMs
  const done: StoredEvent[] = []
  const stayed: Stayed[] = []
  for await (const some of parts) {
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
