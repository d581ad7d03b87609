/** The pages that ask before an action on several links. */

import { recentDays } from '../../analytics/recent.ts'
import { domainRecords } from '../../domains/store.ts'
import { validationFailed } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { type BulkLink, findBulkLinks, type MoveConflict, type MovePlan, planMove } from '../../links/bulk.ts'
import { maxTags } from '../../links/link.ts'
import { unknownDomain, unknownSpace } from '../../links/store.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Edit } from '../../storage/undo.ts'
import type { Violation } from '../../violations.ts'
import type { Notice } from '../notices.ts'
import type { PageContent, Services } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { formatCount, quantity } from '../parts/format.ts'
import { shortUrlText, spaceLabel } from '../parts/links.ts'
import { confirmation } from '../parts/messages.ts'
import { selectedRows } from '../parts/table.ts'
import { loadChoices, loadTagNames, noSpace } from '../record-forms.ts'
import { describeEffect, linkSettings, undoNote } from './link.ts'

/** What a user does with links, and the notices about it. */
export interface LinkAction {
  readonly what: keyof typeof linkSettings | 'move' | 'tag' | 'delete'
  /** Whether the action needs a confirmation even for checked links. */
  readonly asks: boolean
  /** Changes a link as part of an edit. */
  readonly apply: (id: number, edit: Edit) => Promise<'changed' | 'unchanged' | 'impossible'>
  readonly single?: Notice['code']
  readonly several: Notice['code']
  readonly to?: Destination
  /** The action can't be confirmed with these. */
  readonly violations?: readonly Violation[]
}

/** Where links move to. The id 0 stands for no space. */
export interface Destination {
  readonly kind: 'space' | 'domain'
  readonly id: number
}

/** The links that a form selects. */
export interface Selection {
  readonly ids: readonly number[]
  /** Whether these are all links that match the list at `next`. */
  readonly isMatching: boolean
  readonly next: string
  readonly fields: Fields
  readonly account: number
  readonly services: Services
}

/** Links and conflicts that a page names. */
const [namedLinks, namedConflicts] = [5, 10]

/** Returns the page that asks whether to apply the action. Returns null if none of the links exists. */
export async function askAbout(selection: Selection, action: LinkAction): Promise<PageContent | null> {
  const links = await findBulkLinks(selection.services.storage, selection.account, selection.ids)
  if (links.length === 0) return null
  if (action.what === 'delete') return askToDelete(selection, links)
  if (action.what === 'tag') return askForTags(selection, links, action)
  if (action.what !== 'move') return askToChange(selection, links, action.what)
  return action.to?.kind === 'domain'
    ? askToChangeDomain(selection, links, action.to.id)
    : askToChangeSpace(selection, links, action.to?.id ?? 0)
}

/** Returns the page that asks where to move links. Each space and domain is a button. */
export async function askWhereTo(selection: Selection, currentDomain?: unknown): Promise<PageContent> {
  const { spaces, domains } = await loadChoices(selection.services.storage, selection.account, {})
  const others = domains.filter(({ id }) => String(id) !== currentDomain)
  const to = (value: string, label: Part) => submitButton({ name: 'to', value, label, weight: 'plain' })
  const inSpace = [
    to(`space-${noSpace}`, 'No space'),
    ...spaces.map((each) => to(`space-${each.id}`, spaceLabel(each))),
  ]
  const onDomain = others.map(({ id, name_unicode: name }) => to(`domain-${id}`, html`<bdi>${name}</bdi>`))
  const toDomain =
    domains.length > 1
      ? html`<h2>To a domain</h2><p>The next page shows the consequences.</p><div class="destinations">${onDomain}</div>`
      : html`<p>To move links to another domain, <a href="/app/domains/new">add it first</a>.</p>`
  const { action, cancel, fields } = common(selection)
  const { confirmed: _, ...unconfirmed } = fields
  const body = html`<form method="post" action="${action}" class="form">${hiddenFields(unconfirmed)}
<h2>To a space</h2><div class="destinations">${inSpace}</div>${toDomain}
<div class="actions"><a class="button plain" href="${cancel}" data-close>Cancel</a></div></form>`
  return { title: `Move ${quantity(selection.ids.length, 'link')}`, section: 'links', body }
}

async function askToDelete(selection: Selection, links: readonly BulkLink[]): Promise<PageContent> {
  const counts = quantity(links.length, 'link')
  const named = links.toSorted((one, other) => other.clicks - one.clicks).slice(0, namedLinks)
  const things: Part[] = named.map((link) => html`${nameOf(link, selection)}: ${quantity(link.clicks, 'click')}`)
  if (links.length > namedLinks) things.push(`and ${formatCount(links.length - namedLinks)} more`)
  return confirmation({
    ...common(selection),
    title: `Delete ${counts}?`,
    things,
    consequences: [await effectOf(links, selection), undoNote],
    verb: `Delete ${counts}`,
  })
}

/** Asks which tags to add and to remove. */
async function askForTags(
  selection: Selection,
  links: readonly BulkLink[],
  { violations }: LinkAction,
): Promise<PageContent> {
  const counts = quantity(links.length, 'link')
  const suggestions = await loadTagNames(selection.services.storage, selection.account)
  const isSent = selection.fields.confirmed === 'true'
  const state = new FormState(selection.fields, isSent ? violations : [])
  const field = (name: string, label: string, help: string, hasFocus = false) =>
    textField(state, { name, label, help, hasFocus, suggestions, isList: true })
  const controls = html`${field('add_tags', 'Add tags', 'Words with commas between them, such as Summer, Print.', !isSent)}${field('remove_tags', 'Remove tags', 'Links without these tags are unchanged.')}`
  const page = confirmation({
    ...common(selection),
    title: `Change the tags of ${counts}`,
    consequences: [`A link has up to ${maxTags} tags. ${undoNote}`],
    controls: state.withErrors(controls),
    verb: `Change tags of ${counts}`,
    weight: 'primary',
  })
  return { ...page, status: isSent ? 422 : 200 }
}

const effects = {
  enable: 'Visitors will be redirected immediately, unless a link is scheduled or has expired.',
  archive: 'Lists omit archived links. They keep working.',
  unarchive: 'Lists show these links again.',
}

/** Asks before all matching links are enabled, disabled, archived or listed again. */
async function askToChange(
  selection: Selection,
  links: readonly BulkLink[],
  what: keyof typeof linkSettings,
): Promise<PageContent> {
  const verb = `${linkSettings[what].label} ${quantity(links.length, 'link')}`
  const effect = what === 'disable' ? await effectOf(links, selection) : effects[what]
  return confirmation({
    ...common(selection),
    title: `${verb}?`,
    consequences: [effect, undoNote],
    verb,
    weight: 'primary',
  })
}

/** Asks before all matching links move to a space. Throws `validation_failed` if the account does not have it. */
async function askToChangeSpace(
  selection: Selection,
  links: readonly BulkLink[],
  spaceId: number,
): Promise<PageContent> {
  const { services, account } = selection
  const space = spaceId === 0 ? undefined : await spaceRecords.find(services.storage, account, spaceId)
  if (spaceId !== 0 && space === undefined) throw validationFailed([unknownSpace(spaceId)])
  const verb = `Move ${quantity(links.length, 'link')}`
  return confirmation({
    ...common(selection),
    title: `${verb} to ${space?.record.name ?? '“No space”'}?`,
    consequences: ['The short links stay the same. Clicks move with the links.', undoNote],
    verb,
    weight: 'primary',
  })
}

/** Asks before links move to another domain. Lists the links that can't move. Throws `validation_failed` without the domain. */
async function askToChangeDomain(
  selection: Selection,
  links: readonly BulkLink[],
  domainId: number,
): Promise<PageContent> {
  const { services, account } = selection
  const found = await domainRecords.find(services.storage, account, domainId)
  if (found === undefined) throw validationFailed([unknownDomain(domainId)])
  const { name_unicode: name } = found.record
  const plan = await planMove(services.storage, account, links, found.record, services.shortUrl)
  const remarks = remarksOn(plan, links.length, name).map((each) => html`<p>${each}</p>`)
  const notes = html`${remarks}${conflictList(plan.conflicts, selection)}`
  if (plan.moving.length === 0) {
    const action = linkButton({ label: 'Back to the list', href: selection.next })
    return {
      title: `Nothing to move to ${name}`,
      section: 'links',
      body: html`<div class="stack">${notes}</div><div class="actions">${action}</div>`,
    }
  }
  const counts = quantity(plan.moving.length, 'link')
  const effect = await effectOf(plan.moving, selection)
  const clicks = plan.moving.reduce((sum, { recentClicks }) => sum + recentClicks, 0)
  return confirmation({
    ...common(selection),
    title: `Move ${counts} to ${name}?`,
    notes,
    consequences: [
      html`The current short links stop working. ${effect} They had ${quantity(clicks, 'click')} in the last ${recentDays} days.`,
      'Clicks move with the links, so the statistics of the domains change.',
      undoNote,
    ],
    verb: `Move ${counts}`,
  })
}

/** Returns sentences about the links that stay where they are. */
function remarksOn({ conflicts, there }: MovePlan, all: number, domain: string): Part[] {
  const count = (reason: MoveConflict['reason']) => conflicts.filter((each) => each.reason === reason).length
  const of = (some: number) => `${formatCount(some)} of ${quantity(all, 'alias', 'aliases')}`
  const [taken, repeated, looping] = [count('taken'), count('repeated'), count('loops')]
  return [
    ...(there > 0
      ? [html`${quantity(there, 'link')} ${there === 1 ? 'is' : 'are'} already on <bdi>${domain}</bdi>.`]
      : []),
    ...(taken > 0 ? [html`${of(taken)} ${taken === 1 ? 'is' : 'are'} taken on <bdi>${domain}</bdi>.`] : []),
    ...(repeated > 0
      ? [`${of(repeated)} ${repeated === 1 ? 'belongs' : 'belong'} to several of these links, and the first one moves.`]
      : []),
    ...(looping > 0
      ? [
          html`${quantity(looping, 'link')} would redirect to ${looping === 1 ? 'itself' : 'themselves'} on <bdi>${domain}</bdi>.`,
        ]
      : []),
    ...(conflicts.length > 0 ? ['These links stay where they are:'] : []),
  ]
}

function conflictList(conflicts: readonly MoveConflict[], selection: Selection): Html | null {
  if (conflicts.length === 0) return null
  const named = conflicts.slice(0, namedConflicts)
  const items: Part[] = named.map(({ link }) => html`<a href="/app/links/${link.id}">${nameOf(link, selection)}</a>`)
  if (conflicts.length > named.length) items.push(`and ${formatCount(conflicts.length - named.length)} more`)
  return html`<ul class="things">${items.map((each) => html`<li>${each}</li>`)}</ul>`
}

function nameOf({ alias, domain_name }: BulkLink, { services }: Selection): Html {
  return html`<bdi>${shortUrlText(services.shortUrl(domain_name, alias))}</bdi>`
}

function effectOf(links: readonly BulkLink[], { services, account }: Selection): Promise<Part> {
  const domains = new Set(links.map(({ domain_id }) => domain_id))
  return describeEffect(services, account, [...domains])
}

/** Returns what all confirmations have in common. The form repeats the selection, not the ids of all matching links. */
function common({ ids, isMatching, next, fields }: Selection) {
  const { what, to } = fields
  const selected = isMatching ? { matching: '1' } : selectedRows(ids)
  const action = { what: String(what), ...(to !== undefined && { to: String(to) }), confirmed: 'true' }
  return {
    section: 'links',
    action: '/app/links/selected',
    cancel: next,
    fields: { ...action, next, ...selected },
  } as const
}
