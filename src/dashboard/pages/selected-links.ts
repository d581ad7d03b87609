/** The links that a form selects, and what questions about them show. */
import { hash } from 'node:crypto'
import type { Actor } from '../../access/actor.ts'
import { recentDays } from '../../accounts/calendar.ts'
import { icon } from '../../frame/icons.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { LinkActions } from '../../links/actions.ts'
import type { RunBatch } from '../../links/batch.ts'
import type { BulkLink } from '../../links/bulk-links.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { fingerprint } from '../link-list.ts'
import type { PageContent } from '../page.ts'
import { linkButton, submitButton } from '../parts/buttons.ts'
import { shortUrlText } from '../parts/links.ts'
import { type Confirmation, confirmation } from '../parts/messages.ts'
import { selectedRows } from '../parts/table.ts'
import { describeEffect } from './link.ts'

/** The links that a form selects. */
export interface Selection {
  readonly ids: readonly number[]
  /** Those that exist. */
  readonly links: readonly BulkLink[]
  /** Whether these are all links that match the list at `next`. */
  readonly isMatching: boolean
  readonly next: string
  /** How many archived links the list leaves out. */
  readonly archived: number
  readonly fields: Fields
  readonly actor: Actor
  /** The zone of times. */
  readonly timeZone: string
  readonly services: {
    readonly storage: Storage
    readonly shortUrl: ShortUrl
    readonly actions: { readonly links: LinkActions }
    readonly runBatch: RunBatch
  }
}

/** Conflicts that a page names. */
const namedConflicts = 10

/** Renders the first of `total` things. */
export function shortList(things: readonly Part[], total = things.length): Html | null {
  if (total === 0) return null
  const first = things.slice(0, namedConflicts)
  const more = total > first.length ? [`and ${formatCount(total - first.length)} more`] : []
  return html`<ul class="things">${[...first, ...more].map((each) => html`<li>${each}</li>`)}</ul>`
}

export function linkTo(link: BulkLink, selection: Selection): Html {
  return html`<a href="/app/links/${link.id}">${nameOf(link, selection)}</a>`
}

export function nameOf({ alias, domain_name }: BulkLink, { services }: Selection): Html {
  return html`<bdi>${shortUrlText(services.shortUrl(domain_name, alias))}</bdi>`
}

export function recentClicksIn(links: readonly BulkLink[]): string {
  const clicks = links.reduce((sum, { recentClicks }) => sum + recentClicks, 0)
  return `${links.length === 1 ? 'It' : 'They'} had ${quantity(clicks, 'click')} in the last ${recentDays} days.`
}

export function describeLinksEffect(links: readonly BulkLink[], { services, actor }: Selection): Promise<Part> {
  const domains = new Set(links.map(({ domain_id }) => domain_id))
  return describeEffect(services, actor.account, [...domains])
}

/** A page that asks about links, and the fingerprint of its plan; undefined if there is nothing to confirm. */
export interface Question extends PageContent {
  readonly shown?: string
  /** The links of which it says that they stay as they are; undefined if no link has to. */
  readonly staying?: readonly BulkLink[]
}

/** Returns the page about links that stayed as they were, although the question said something else. */
export function stayedPage(stayed: readonly BulkLink[], selection: Selection, count: number): PageContent {
  const these = stayed.length === 1 ? 'This link stayed' : 'These links stayed'
  const body = html`<p>${these} unchanged, because another link has the address by now:</p>${shortList(stayed.map((link) => linkTo(link, selection)))}
<p>The <a href="/app/history">history</a> can undo the other changes.</p>
<div class="actions">${linkButton({ label: 'Continue', href: selection.next })}</div>`
  return {
    title: `${quantity(count, 'link')} changed, ${quantity(stayed.length, 'other')} stayed`,
    section: 'links',
    body,
  }
}

/** Returns whether a confirmed question still shows the same. Without a fingerprint, a form is about the checked links. */
export function isSameQuestion({ shown }: Question, { fields, isMatching }: Selection): boolean {
  return fields.shown === undefined ? !isMatching : fields.shown === shown
}

/**
 * Returns the page, with a remark if the form has shown something else. `listed` is the present fingerprint of the list that
 * the form is from; null for others.
 */
export function compareShown(page: Question, selection: Selection, listed: string | null): Question {
  const { fields, links } = selection
  const [sent = ''] = readText(fields.shown ?? fields.listed).split('.')
  const isConfirmed = fields.confirmed === 'true'
  const isSame = isConfirmed
    ? page.shown === undefined || isSameQuestion(page, selection)
    : fields.shown === undefined
      ? listed === null || sent === listed
      : sent === fingerprint(links)
  if (isSame) return page
  const count = Number.parseInt(sent, 10)
  const what = Number.isNaN(count) ? 'The links' : `The ${quantity(count, 'link')} that you were shown`
  const remark = html`<div class="notice warning" role="alert">${icon('warning')}<p>Nothing was changed yet. ${what} changed in the meantime. Check the question again.</p></div>`
  return { ...page, body: html`${remark}${page.body}`, ...(isConfirmed && { status: 409 }) }
}

/** Renders the button of a question that includes archived links; null if no archived links match. */
export function archivedButton({ isMatching, archived }: Pick<Selection, 'isMatching' | 'archived'>): Html | null {
  if (!isMatching || archived === 0) return null
  const label = `Include ${quantity(archived, 'archived link')}`
  return submitButton({ label, name: 'include_archived', value: 'true', weight: 'plain' })
}

/** Returns the common part of all pages for a selection. The form repeats the selection, not the ids of all matching links. */
export function common(selection: Selection) {
  const shown = fingerprint(selection.links)
  const { ids, isMatching, next, fields, archived } = selection
  const { what, to } = fields
  const selected = isMatching ? { matching: '1' } : selectedRows(ids)
  const action = { what: String(what), ...(to !== undefined && { to: String(to) }) }
  const words = `${quantity(archived, 'archived link')} ${archived === 1 ? 'matches' : 'match'}, too, and ${archived === 1 ? 'stays' : 'stay'} unchanged.`
  const more = archivedButton(selection)
  return {
    section: 'links',
    action: '/app/links/selected',
    cancel: next,
    fields: { ...action, next, ...selected, shown },
    more: more && html`${more}<span class="muted small">${words}</span>`,
  } as const
}

/** What a question shows. By default, it isn't dangerous. */
export type QuestionParts = Pick<
  Confirmation,
  'title' | 'notes' | 'consequences' | 'controls' | 'verb' | 'weight' | 'fields'
>

/** Returns the page that asks for confirmation. `plan` is the shown plan, which others may change meanwhile. */
export function question(selection: Selection, parts: QuestionParts, plan?: unknown): Question {
  const { fields, ...all } = common(selection)
  const planned = plan === undefined ? '' : `.${hash('sha256', JSON.stringify(plan), 'base64url').slice(0, 12)}`
  const shown = fields.shown + planned
  const sent = { ...fields, ...parts.fields, confirmed: 'true', shown }
  return { ...confirmation({ weight: 'primary', ...all, ...parts, fields: sent }), shown }
}
