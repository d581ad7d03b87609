/** The pages that ask before an action on several links. */

import type { Actor } from '../../access/actor.ts'
import { recentDays } from '../../accounts/calendar.ts'
import { domainRecords } from '../../domains/store.ts'
import { validationFailed } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { LinkActions } from '../../links/actions.ts'
import type { BatchChange } from '../../links/batch.ts'
import {
  type BulkLink,
  findBulkLinks,
  type MoveConflict,
  type MovePlan,
  planMove,
  planReplacement,
} from '../../links/bulk.ts'
import { maxTags } from '../../links/link.ts'
import { type Replacement, replacedParts } from '../../links/replacement.ts'
import { linkLabels } from '../../links/schema.ts'
import { unknownDomain, unknownSpace } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Storage } from '../../storage/port.ts'
import type { Violation } from '../../violations.ts'
import { loadTagNames } from '../choices.ts'
import { type Notice, restorableNote } from '../notice-messages.ts'
import type { PageContent } from '../page.ts'
import { linkButton } from '../parts/buttons.ts'
import { manyLinks, typedField } from '../parts/deletion.ts'
import { checkbox, FormState, selectField, textField } from '../parts/fields.ts'
import { formatCount, quantity } from '../parts/format.ts'
import { listSettings, type Setting } from '../parts/link-actions.ts'
import { breakableUrl, shortUrlText } from '../parts/links.ts'
import { confirmation } from '../parts/messages.ts'
import { selectedRows } from '../parts/table.ts'
import { timeField, zoneFields } from '../parts/time-zones.ts'
import { keepAddressesBox } from './addresses.ts'
import { describeEffect } from './link.ts'

/** What a user does with links, and the notices about it. */
export interface LinkAction {
  readonly what: Setting | 'move' | 'tag' | 'limit' | 'replace' | 'delete'
  /** Whether the action needs a confirmation even for checked links. */
  readonly asks: boolean
  /** Returns what happens to some of the links. */
  readonly change: (ids: readonly number[]) => BatchChange
  readonly single?: Notice['code']
  readonly several: Notice['code']
  /** If no link changes. Without it, links that had the new values before count like the others. */
  readonly none?: Notice['code']
  readonly to?: Destination
  readonly replacement?: Replacement | undefined
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
  readonly actor: Actor
  /** The zone of times. */
  readonly timeZone: string
  readonly services: {
    readonly storage: Storage
    readonly shortUrl: ShortUrl
    readonly actions: { readonly links: LinkActions }
  }
}

/** Links and conflicts that a page names. */
const [namedLinks, namedConflicts, shownChanges] = [5, 10, 10]

/** Returns the page that asks whether to apply the action. Returns null if none of the links exists. */
export async function askAbout(selection: Selection, action: LinkAction): Promise<PageContent | null> {
  const links = await findBulkLinks(selection.services.storage, selection.actor.account, selection.ids)
  if (links.length === 0) return null
  switch (action.what) {
    case 'delete':
      return askToDelete(selection, links, action)
    case 'tag':
      return askForTags(selection, links, action)
    case 'limit':
      return askForLimits(selection, links, action)
    case 'replace':
      return askForReplacement(selection, links, action)
    case 'move':
      break
    default:
      return askToChange(selection, links, action.what)
  }
  return action.to?.kind === 'domain'
    ? askToChangeDomain(selection, links, action.to.id)
    : askToChangeSpace(selection, links, action.to?.id ?? 0)
}

/** Returns the number of a selection's links that people type before they delete them; null if there are few. */
export async function countToType({ ids, actor, services }: Selection): Promise<string | null> {
  if (ids.length < manyLinks) return null
  const links = await findBulkLinks(services.storage, actor.account, ids)
  return links.length < manyLinks ? null : formatCount(links.length)
}

async function askToDelete(
  selection: Selection,
  links: readonly BulkLink[],
  { violations }: LinkAction,
): Promise<PageContent> {
  const counts = quantity(links.length, 'link')
  const named = links.toSorted((one, other) => other.clicks - one.clicks).slice(0, namedLinks)
  const things = named.map((link) => html`${nameOf(link, selection)}: ${quantity(link.clicks, 'click')}`)
  const isSent = selection.fields.confirmed === 'true'
  const state = new FormState(selection.fields, isSent ? violations : [])
  const isMany = links.length >= manyLinks
  const page = confirmation({
    ...common(selection),
    title: `Delete ${counts}?`,
    notes: shortList(things, links.length),
    consequences: [html`${await effectOf(links, selection)} ${recentClicksIn(links)}`, restorableNote],
    controls: isMany ? state.withErrors(typedField(state, formatCount(links.length))) : null,
    verb: `Delete ${counts}`,
  })
  return { ...page, status: isSent ? 422 : 200 }
}

/** Asks which tags to add and to remove. */
async function askForTags(
  selection: Selection,
  links: readonly BulkLink[],
  { violations }: LinkAction,
): Promise<PageContent> {
  const counts = quantity(links.length, 'link')
  const suggestions = await loadTagNames(selection.services.storage, selection.actor.account)
  const isSent = selection.fields.confirmed === 'true'
  const state = new FormState(selection.fields, isSent ? violations : [])
  const field = (name: string, label: string, help: string, hasFocus = false) =>
    textField(state, { name, label, help, hasFocus, suggestions, isList: true })
  const controls = html`${field('add_tags', 'Add tags', 'Words with commas between them, such as Summer, Print.', !isSent)}${field('remove_tags', 'Remove tags', 'Links without these tags are unchanged.')}`
  const page = confirmation({
    ...common(selection),
    title: `Change the tags of ${counts}`,
    consequences: [`A link has up to ${maxTags} tags. ${restorableNote}`],
    controls: state.withErrors(controls),
    verb: `Change tags of ${counts}`,
    weight: 'primary',
  })
  return { ...page, status: isSent ? 422 : 200 }
}

/** What dates and limits are called on the page. */
export const limits = [
  { name: 'active_period_start_at', remove: 'Remove the start', type: 'datetime-local' },
  { name: 'active_period_end_at', remove: 'Remove the end', type: 'datetime-local' },
  { name: 'clicks_limit', remove: 'Remove the click limit', type: 'number' },
] as const

/** Asks which dates and limits to set and to remove. */
async function askForLimits(selection: Selection, links: readonly BulkLink[], { violations }: LinkAction) {
  const { timeZone } = selection
  const counts = quantity(links.length, 'link')
  const isSent = selection.fields.confirmed === 'true'
  const state = new FormState(selection.fields, isSent ? violations : [])
  const controls = limits.map(({ name, remove, type }, at) => {
    const field = { name, label: linkLabels[name], hasFocus: !isSent && at === 0 }
    const control = type === 'number' ? textField(state, { ...field, type }) : timeField(state, field, timeZone)
    return html`${control}${checkbox(state, { name: `remove_${name}`, label: remove })}`
  })
  const page = confirmation({
    ...common(selection),
    title: `Change dates and limits of ${counts}`,
    consequences: [`What you leave empty stays as it is. ${restorableNote}`],
    controls: state.withErrors(html`${zoneFields(timeZone)}${controls}`),
    verb: `Change ${counts}`,
    weight: 'primary',
  })
  return { ...page, status: isSent ? 422 : 200 }
}

const replacedLabels = { all: 'Everywhere', host: 'Only in the host name', query: 'Only in the query string' } as const

/** Asks what to replace, and then shows what that would change. `remarks` say why nothing would. */
async function askForReplacement(
  selection: Selection,
  links: readonly BulkLink[],
  { replacement, violations }: Pick<LinkAction, 'replacement' | 'violations'>,
  remarks: Html | null = null,
): Promise<PageContent> {
  if (replacement !== undefined) return askToReplace(selection, links, replacement)
  const isSent = selection.fields.find !== undefined
  const state = new FormState(selection.fields, isSent ? violations : [])
  const find = {
    name: 'find',
    label: 'Find',
    isRequired: true,
    help: 'Such as old.example.com or utm_campaign=spring.',
  }
  const replace = { name: 'replace', label: 'Replace with', help: 'Leave this empty to remove the text.' }
  const options = replacedParts.map((value) => ({ value, label: replacedLabels[value] }))
  const controls = html`${textField(state, { ...find, isCode: true, hasFocus: !isSent || remarks !== null })}${textField(state, { ...replace, isCode: true })}${selectField(state, { name: 'part', label: 'Where', options })}`
  const { fields, ...others } = common(selection)
  const { confirmed: _, ...unconfirmed } = fields
  const page = confirmation({
    ...others,
    fields: unconfirmed,
    title: remarks ? 'Nothing to replace' : `Replace text in the destinations of ${quantity(links.length, 'link')}`,
    notes: remarks,
    consequences: ['The next page shows the old and the new destinations. Capital letters matter.'],
    controls: state.withErrors(controls),
    verb: 'Preview',
    weight: 'primary',
  })
  return { ...page, status: isSent ? 422 : 200 }
}

/** Shows the first old and new destinations, and asks whether to change all. */
async function askToReplace(selection: Selection, links: readonly BulkLink[], replacement: Replacement) {
  const { storage, actions } = selection.services
  const plan = await planReplacement(storage, selection.actor.account, links, replacement, actions.links.rules)
  const { changes, conflicts, unchanged } = plan
  const others = [
    ...(unchanged > 0
      ? [`${quantity(unchanged, 'link')} without this text stay${unchanged === 1 ? 's' : ''} unchanged.`]
      : []),
    ...(conflicts.length > 0 ? [`${quantity(conflicts.length, 'link')} can’t be changed:`] : []),
  ]
  const reasons = conflicts.map(
    ({ link, violation: { refusal } }) => html`${linkTo(link, selection)}: ${refusal.forForm(linkLabels.url)}`,
  )
  const remarks = html`${others.map((each) => html`<p>${each}</p>`)}${shortList(reasons)}`
  if (changes.length === 0) return askForReplacement(selection, links, {}, remarks)
  const shown = changes.slice(0, shownChanges)
  const more = changes.length - shown.length
  const value = (when: string, url: string) =>
    html`<span class="hidden-text">${when}: </span><bdi>${breakableUrl(url)}</bdi>`
  const pair = ([before, after]: readonly [string, string]) =>
    html`<dd><del>${value('Before', before)}</del></dd><dd><ins>${value('After', after)}</ins></dd>`
  const rows = shown.map(({ link, urls }) => html`<div><dt>${linkTo(link, selection)}</dt>${urls.map(pair)}</div>`)
  const preview = html`<dl class="changed">${rows}</dl>`
  const { fields, ...all } = common(selection)
  const verb = `Change ${quantity(changes.length, 'destination')}`
  return confirmation({
    ...all,
    fields: { ...fields, ...replacement },
    title: `${verb}?`,
    notes: html`${preview}${more > 0 ? html`<p>and ${formatCount(more)} more</p>` : null}${remarks}`,
    consequences: ['Visitors will be redirected to the new destinations immediately.', restorableNote],
    verb,
    weight: 'primary',
  })
}

const effects = {
  enable: 'Visitors will be redirected immediately, unless a link is scheduled or has expired.',
  archive: 'Lists omit archived links. They keep working.',
  unarchive: 'Lists show these links again.',
  forward: 'Query strings of visitors, such as ?utm_source=mail, will be added to the destinations.',
  unforward: 'Destinations will no longer get the query strings of visitors.',
}

/** Asks before a setting of all matching links changes. */
async function askToChange(selection: Selection, links: readonly BulkLink[], what: Setting): Promise<PageContent> {
  const { label, verb: start = label }: { readonly label: string; readonly verb?: string } = listSettings[what]
  const verb = `${start} ${quantity(links.length, 'link')}`
  const effect = what === 'disable' ? await effectOf(links, selection) : effects[what]
  return confirmation({
    ...common(selection),
    title: `${verb}?`,
    consequences: [effect, restorableNote],
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
  const { services, actor } = selection
  const space = spaceId === 0 ? undefined : await spaceRecords.find(services.storage, actor.account, spaceId)
  if (spaceId !== 0 && space === undefined) throw validationFailed([unknownSpace(spaceId)])
  const verb = `Move ${quantity(links.length, 'link')}`
  return confirmation({
    ...common(selection),
    title: `${verb} to ${space?.record.name ?? '“No space”'}?`,
    consequences: ['The short links stay the same. Clicks move with the links.', restorableNote],
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
  const { services, actor } = selection
  const found = await domainRecords.find(services.storage, actor.account, domainId)
  if (found === undefined) throw validationFailed([unknownDomain(domainId)])
  const { name_unicode: name } = found.record
  const plan = await planMove(services.storage, actor.account, links, found.record, services.shortUrl)
  const remarks = remarksOn(plan, links.length, name).map((each) => html`<p>${each}</p>`)
  const notes = html`${remarks}${shortList(plan.conflicts.map(({ link }) => linkTo(link, selection)))}`
  if (plan.moving.length === 0) {
    const back = linkButton({ label: 'Back to the list', href: selection.next })
    const body = html`<div class="stack">${notes}</div><div class="actions">${back}</div>`
    return { title: `Nothing to move to ${name}`, section: 'links', body }
  }
  const counts = quantity(plan.moving.length, 'link')
  const effect = await effectOf(plan.moving, selection)
  return confirmation({
    ...common(selection),
    title: `Move ${counts} to ${name}?`,
    notes,
    controls: keepAddressesBox(),
    consequences: [
      html`Unless you keep the old addresses, the current short links stop working. ${effect} ${recentClicksIn(plan.moving)}`,
      `Clicks move with the links, so the statistics of the domains change. ${restorableNote}`,
    ],
    verb: `Move ${counts}`,
    weight: 'primary',
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

/** Renders the first of `total` things. */
function shortList(things: readonly Part[], total = things.length): Html | null {
  if (total === 0) return null
  const first = things.slice(0, namedConflicts)
  const more = total > first.length ? [`and ${formatCount(total - first.length)} more`] : []
  return html`<ul class="things">${[...first, ...more].map((each) => html`<li>${each}</li>`)}</ul>`
}

function linkTo(link: BulkLink, selection: Selection): Html {
  return html`<a href="/app/links/${link.id}">${nameOf(link, selection)}</a>`
}

function nameOf({ alias, domain_name }: BulkLink, { services }: Selection): Html {
  return html`<bdi>${shortUrlText(services.shortUrl(domain_name, alias))}</bdi>`
}

function recentClicksIn(links: readonly BulkLink[]): string {
  const clicks = links.reduce((sum, { recentClicks }) => sum + recentClicks, 0)
  return `${links.length === 1 ? 'It' : 'They'} had ${quantity(clicks, 'click')} in the last ${recentDays} days.`
}

function effectOf(links: readonly BulkLink[], { services, actor }: Selection): Promise<Part> {
  const domains = new Set(links.map(({ domain_id }) => domain_id))
  return describeEffect(services, actor.account, [...domains])
}

/** Returns what all confirmations have in common. The form repeats the selection, not the ids of all matching links. */
export function common({ ids, isMatching, next, fields }: Selection) {
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
