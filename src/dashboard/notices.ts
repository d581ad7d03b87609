/**
 * Notices about completed changes and offers to undo them. What was changed is read from the events of the batch. Cookies have
 * the batch, and for what isn't an event a code and a number, so they can't inject text.
 */
import { randomUUID } from 'node:crypto'
import { type Actor, allows } from '../access/actor.ts'
import { mayReverse } from '../events/reversal.ts'
import { findReversals, isBatchOpen } from '../events/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Words } from '../history/sentences.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html } from '../http/html.ts'
import { capitalize } from '../lib/format.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { loadBatch, loadChangeContext } from './change-context.ts'
import { isWarning, type Notice, type Remark, remarks } from './notice-messages.ts'
import { hiddenFields, linkButton, postButton, submitButton } from './parts/buttons.ts'
import { type Batch, type ChangeContext, describe, renderWords } from './parts/changes.ts'
import { notice } from './parts/messages.ts'

const noticeCookie = 'waymark_notice'
const offerCookie = 'waymark_undo'
const maxAge = 60
/** A batch, and perhaps a code and a number, separated by dots. */
const cookieFormat = /^([\w-]{0,64})(?:\.([a-z-]+)\.(\d+))?$/

/** The most events of a batch that a notice counts. */
const maxCounted = 10_000

interface StoredNotice {
  /** '' if no event belongs to the notice. */
  readonly batch: string
  readonly remark: Remark | null
  readonly count: number
}

interface NoticeContext {
  readonly storage: Db
  readonly actor: Actor
  readonly shortUrl: ShortUrl
}

/** Shows the notice on the next page. If the batch can be undone, that page offers it for a minute. */
export function setNotice(exchange: Exchange, given: Notice, batch: string, isSecure: boolean): void {
  const value = given === 'changes' ? batch : [batch, given.code, given.count ?? 0].join('.')
  setCookie(exchange, noticeCookie, value, { isSecure, maxAge })
}

export function withdrawOffer(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, offerCookie, '', { isSecure, maxAge: 0 })
}

/**
 * Renders the notice of the previous page, which is shown once, and the offer to undo a change, which stays on the
 * following pages for its minute. Returns null if there is neither.
 */
export async function consumeNotices(
  exchange: Exchange,
  context: NoticeContext,
  isSecure: boolean,
): Promise<Html | null> {
  const [said, offered] = [readNotice(exchange, noticeCookie), readNotice(exchange, offerCookie)]
  if (said !== undefined) setCookie(exchange, noticeCookie, '', { isSecure, maxAge: 0 })
  const lines: Html[] = []
  const done = said ? await loadDone(said.batch, context) : null
  const button = done && !done.isReversal ? await offerButtons(done, exchange.target, context) : null
  if (said) lines.push(...renderNew(said, done, context, button))
  if (done && button) setCookie(exchange, offerCookie, done.batch, { isSecure, maxAge })
  // A request that changed nothing leaves the previous offer.
  else if (offered !== undefined) {
    const earlier = offered && (await loadDone(offered.batch, context))
    const again = earlier && (await offerButtons(earlier, exchange.target, context))
    if (earlier && again) lines.push(notice('done', renderDone(earlier), again))
    else withdrawOffer(exchange, isSecure)
  }
  return lines.length === 0 ? null : html`<div class="notices">${lines}</div>`
}

/** Returns undefined without the cookie, and null if its value is invalid. */
function readNotice(exchange: Exchange, cookie: string): StoredNotice | null | undefined {
  const value = readCookie(exchange, cookie)
  if (value === undefined) return undefined
  const [text, batch = '', code, count = ''] = cookieFormat.exec(value) ?? []
  if (!text || (code !== undefined && !Object.hasOwn(remarks, code))) return null
  return { batch, remark: (code as Remark | undefined) ?? null, count: positiveInteger(count) ?? 0 }
}

/** What a form has done. */
interface Done {
  readonly batch: string
  readonly changes: Batch
  readonly names: ChangeContext
  /** Whether it has undone earlier changes. */
  readonly isReversal: boolean
}

/** Returns null if the account has no events of the batch, and undefined if they are changes of someone else. */
async function loadDone(batch: string, { storage, actor, shortUrl }: NoticeContext): Promise<Done | null | undefined> {
  if (batch === '') return null
  const changes = await loadBatch(storage, actor.account, batch, maxCounted)
  const [first] = changes.sample
  if (first === undefined) return null
  // Batches can be guessed. A notice only says what its reader has done.
  if (first.actor.kind !== actor.kind || first.actor.id !== actor.id) return undefined
  const ids = changes.sample.map(({ id }) => id)
  const [names, reversals] = await Promise.all([
    loadChangeContext({ storage, shortUrl, timeZone: 'UTC' }, actor, changes.sample),
    findReversals(storage, ids),
  ])
  return { batch, changes, names, isReversal: reversals.size > 0 }
}

/** Renders the notice on the first page after a form. There is none about changes of someone else. */
function renderNew(
  { remark, count }: StoredNotice,
  done: Done | null | undefined,
  { actor }: NoticeContext,
  undo: Html | null,
): Html[] {
  if (done === undefined) return []
  const link = done && findNewLink(done)
  const changes = done ? renderDone(done) : remark === null ? html`Nothing was changed.` : null
  const words = html`${changes}${changes && remark ? ' ' : null}${remark && remarks[remark](count)}`
  // Scripts copy the short link once, and then say so.
  const text = link ? html`<span data-created>${words}</span>` : words
  const another = link && allows(actor, 'links:write') ? html`${createAnother(link)} ` : null
  return [notice(chooseKind(remark, done), text, another || undo ? html`${another}${undo}` : null)]
}

function chooseKind(remark: Remark | null, done: Done | null): 'warning' | 'done' {
  const isWarned = remark === null ? done === null : isWarning(remark)
  return isWarned ? 'warning' : 'done'
}

/** Renders the sentence about changes: "Moved 2 links to Print." */
function renderDone({ changes, names, isReversal }: Done): Html {
  const archives = ({ changes }: Batch['sample'][number]) => changes?.archived?.[1] === true
  const note = !isReversal && changes.sample.every(archives) ? ' Archived links keep working.' : null
  return html`${isReversal ? 'Change undone. ' : null}${renderWords(toSentence(describe(changes, names)), names)}.${note}`
}

function toSentence([first, ...others]: Words): Words {
  return typeof first === 'string' ? [capitalize(first), ...others] : [...(first ? [first] : []), ...others]
}

/** Returns the values of the only link that the changes have created; null if there are none or several. */
function findNewLink({ changes: { counts, sample }, isReversal }: Done) {
  const isNew = (each: Pick<Batch['counts'][number], 'record' | 'action'>) =>
    each.record === 'link' && each.action === 'created'
  const isOnly = counts.filter(isNew).every(({ all }) => all === 1)
  return (!isReversal && isOnly && sample.find(isNew)?.changes) || null
}

/** Renders the button for another link on the same domain, in the same space. */
function createAnother({ domain_id, space_id }: NonNullable<ReturnType<typeof findNewLink>>): Html {
  const query = new URLSearchParams({
    domain_id: String(domain_id?.[1]),
    ...(space_id && { space_id: String(space_id[1]) }),
  })
  return linkButton({ label: 'Create another', href: `/app/links/new?${query}`, weight: 'link-like' })
}

/** Renders the buttons that undo the change and dismiss the offer. Returns null if the change can't be undone. */
async function offerButtons(
  { batch, changes }: Done,
  next: string,
  { storage, actor }: NoticeContext,
): Promise<Html | null> {
  // The first change has caused the others.
  if (!mayReverse(actor, changes.sample.slice(0, 1))) return null
  if (!(await isBatchOpen(storage, actor.account, batch, Date.now()))) return null
  const fields = { batch, next, once: randomUUID() }
  const button = postButton({ label: 'Undo', weight: 'link-like', action: '/app/history/undo', fields })
  return html`${button} <form method="post" action="/app/dismiss" data-dismiss>${hiddenFields({ next })}${submitButton({ label: 'Dismiss', weight: 'link-like' })}</form>`
}
