/** The pages that ask before an action on several links. */

import { domainRecords } from '../../domains/store.ts'
import { validationFailed } from '../../errors.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { foldCase } from '../../lib/text.ts'
import { maxAddresses } from '../../links/addresses.ts'
import type { BatchChange } from '../../links/batch.ts'
import type { Update } from '../../links/batch-changes.ts'
import type { PreviewedRow } from '../../links/batch-preview.ts'
import type { BulkLink } from '../../links/bulk-links.ts'
import { maxTags } from '../../links/link.ts'
import { findLinkWarnings } from '../../links/link-warnings.ts'
import { type Replacement, replacedParts } from '../../links/replacement.ts'
import { linkLabels } from '../../links/schema.ts'
import { unknownDomain, unknownSpace } from '../../links/store.ts'
import { spaceRecords } from '../../spaces/store.ts'
import type { Violation } from '../../violations.ts'
import { loadTagNames } from '../choices.ts'
import { type Remark, restorableNote } from '../notice-messages.ts'
import { linkButton } from '../parts/buttons.ts'
import { manyLinks, typedField } from '../parts/deletion.ts'
import { checkbox, FormState, selectField, textField } from '../parts/fields.ts'
import { listSettings, type Setting } from '../parts/link-actions.ts'
import { breakableUrl } from '../parts/links.ts'
import { confirmation } from '../parts/messages.ts'
import { timeField, zoneFields } from '../parts/time-zones.ts'
import { warningNotes } from '../parts/warnings.ts'
import { keepAddressesBox } from './addresses.ts'
import {
  common,
  describeLinksEffect,
  linkTo,
  nameOf,
  type Question,
  type QuestionParts,
  question,
  recentClicksIn,
  type Selection,
  shortList,
} from './selected-links.ts'

/** What a user does with links. */
export interface LinkAction {
  /** Returns the page that asks whether to apply the action. At least one of the links exists. */
  readonly ask: () => Promise<Question>
  /** Whether the action needs a confirmation even for checked links. */
  readonly isAsked: boolean
  /** Returns what happens to some of the links. */
  readonly change: (ids: readonly number[]) => BatchChange
  /** What the notice says about links that couldn't be changed; by default only their number. */
  readonly obstacle?: Remark
  /** The action can't be confirmed with these. */
  readonly violations?: readonly Violation[]
}

/** Links and changes that a page names. */
const [namedLinks, shownChanges] = [5, 10]

/** Returns the number of a selection's links that people type before they delete them; null if there are few. */
export function countToType({ links }: Selection): string | null {
  return links.length < manyLinks ? null : formatCount(links.length)
}

/** Returns a question with controls. Once they were sent, it has the violations in them. */
function askWithControls(
  selection: Selection,
  violations: readonly Violation[],
  {
    controls,
    ...parts
  }: Omit<QuestionParts, 'controls'> & {
    /** `isNew` is false once they were sent. */
    readonly controls: (state: FormState, isNew: boolean) => Html | null
  },
): Question {
  const isSent = selection.fields.confirmed === 'true'
  const state = new FormState(selection.fields, isSent ? violations : [])
  const shown = controls(state, !isSent)
  const page = question(selection, { ...parts, controls: shown && state.withErrors(shown) })
  return { ...page, status: isSent ? 422 : 200 }
}

export async function askToDelete(selection: Selection, violations: readonly Violation[]): Promise<Question> {
  const { links } = selection
  const counts = quantity(links.length, 'link')
  const named = links.toSorted((one, other) => other.clicks - one.clicks).slice(0, namedLinks)
  const things = named.map((link) => html`${nameOf(link, selection)}: ${quantity(link.clicks, 'click')}`)
  const typed = countToType(selection)
  return askWithControls(selection, violations, {
    title: `Delete ${counts}?`,
    notes: shortList(things, links.length),
    consequences: [html`${await describeLinksEffect(links, selection)} ${recentClicksIn(links)}`, restorableNote],
    controls: (state) => (typed === null ? null : typedField(state, typed)),
    verb: `Delete ${counts}`,
    weight: 'danger',
  })
}

/** Asks which tags to add and to remove. */
export async function askForTags(selection: Selection, violations: readonly Violation[]): Promise<Question> {
  const counts = quantity(selection.links.length, 'link')
  const suggestions = await loadTagNames(selection.services.storage, selection.actor.account)
  return askWithControls(selection, violations, {
    title: `Change the tags of ${counts}`,
    consequences: [`A link has up to ${maxTags} tags. ${restorableNote}`],
    controls: (state, isNew) => {
      const field = (name: string, label: string, help: string, hasFocus = false) =>
        textField(state, { name, label, help, hasFocus, suggestions, isList: true })
      return html`${field('add_tags', 'Add tags', 'Words with commas between them, such as Summer, Print.', isNew)}${field('remove_tags', 'Remove tags', 'Links without these tags are unchanged.')}`
    },
    verb: `Change tags of ${counts}`,
  })
}

/** What dates and limits are called on the page. */
export const limits = [
  { name: 'active_period_start_at', remove: 'Remove the start', type: 'datetime-local' },
  { name: 'active_period_end_at', remove: 'Remove the end', type: 'datetime-local' },
  { name: 'clicks_limit', remove: 'Remove the click limit', type: 'number' },
] as const

/** Asks which dates and limits to set and to remove. */
export async function askForLimits(selection: Selection, violations: readonly Violation[]): Promise<Question> {
  const { links, timeZone } = selection
  const counts = quantity(links.length, 'link')
  return askWithControls(selection, violations, {
    title: `Change dates and limits of ${counts}`,
    consequences: [`What you leave empty stays as it is. ${restorableNote}`],
    controls: (state, isNew) => {
      const fields = limits.map(({ name, remove, type }, at) => {
        const field = { name, label: linkLabels[name], hasFocus: isNew && at === 0 }
        const control = type === 'number' ? textField(state, { ...field, type }) : timeField(state, field, timeZone)
        return html`${control}${checkbox(state, { name: `remove_${name}`, label: remove })}`
      })
      return html`${zoneFields(timeZone)}${fields}`
    },
    verb: `Change ${counts}`,
  })
}

const replacedLabels = { all: 'Everywhere', host: 'Only in the host name', query: 'Only in the query string' } as const

/** Asks what to replace, and then shows what that would change. `remarks` say why nothing would. */
export async function askForReplacement(
  selection: Selection,
  violations: readonly Violation[],
  remarks: Html | null = null,
): Promise<Question> {
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
  const page = confirmation({
    ...common(selection),
    title: remarks
      ? 'Nothing to replace'
      : `Replace text in the destinations of ${quantity(selection.links.length, 'link')}`,
    notes: remarks,
    consequences: ['The next page shows the old and the new destinations. Capital letters matter.'],
    controls: state.withErrors(controls),
    verb: 'Preview',
    weight: 'primary',
  })
  return { ...page, status: isSent ? 422 : 200 }
}

/** Shows the first old and new destinations, and asks whether to change all. */
export async function askToReplace(selection: Selection, replacement: Replacement): Promise<Question> {
  const { storage, actions } = selection.services
  const rows = await previewed(selection, selection.links, { values: {}, replacement })
  const conflicts = rows.filter(({ failure }) => failure !== null)
  const changes = rows.filter(({ isChanged }) => isChanged)
  const unchanged = rows.length - conflicts.length - changes.length
  const others = [
    ...(unchanged > 0
      ? [`${quantity(unchanged, 'link')} without this text stay${unchanged === 1 ? 's' : ''} unchanged.`]
      : []),
    ...(conflicts.length > 0 ? [`${quantity(conflicts.length, 'link')} can’t be changed:`] : []),
  ]
  const reasons = conflicts.map(({ link, failure }) => {
    const reason = failure?.facts.violations?.[0]?.refusal.forForm(linkLabels.url) ?? failure?.message
    return html`${linkTo(link, selection)}: ${reason ?? ''}`
  })
  const remarks = html`${others.map((each) => html`<p>${each}</p>`)}${shortList(reasons)}`
  if (changes.length === 0) return askForReplacement(selection, [], remarks)
  const shown = changes.slice(0, shownChanges)
  const more = changes.length - shown.length
  const value = (when: string, url: string) =>
    html`<span class="hidden-text">${when}: </span><bdi>${breakableUrl(url)}</bdi>`
  const after = new Map(shown.flatMap(({ destinations: urls }) => urls.map(([, url]) => [url, { url }])))
  const warningsOf = await findLinkWarnings(storage, selection.actor.account, [...after.values()], actions.links.rules)
  const notes = (url: string) => warningNotes(warningsOf(after.get(url) ?? {}), selection.actor)('url')
  const pair = ([before, now]: readonly [string, string]) =>
    html`<dd><del>${value('Before', before)}</del></dd><dd><ins>${value('After', now)}</ins>${notes(now)}</dd>`
  const items = shown.map(
    ({ link, destinations: urls }) => html`<div><dt>${linkTo(link, selection)}</dt>${urls.map(pair)}</div>`,
  )
  const preview = html`<dl class="changed">${items}</dl>`
  const verb = `Change ${quantity(changes.length, 'destination')}`
  const parts = {
    fields: { ...replacement },
    title: `${verb}?`,
    notes: html`${preview}${more > 0 ? html`<p>and ${formatCount(more)} more</p>` : null}${remarks}`,
    consequences: ['Visitors will be redirected to the new destinations immediately.', restorableNote],
    verb,
  }
  const asked = question(selection, parts, [changes.map(({ id }) => id), shown.map(({ destinations }) => destinations)])
  return { ...asked, staying: conflicts.map(({ link }) => link) }
}

type ListSetting = { readonly label: string; readonly effect: string | null; readonly verb?: string }

/** Asks before a setting of all matching links changes. */
export async function askToChange(selection: Selection, what: Setting): Promise<Question> {
  const { links } = selection
  const { label, effect, verb: start = label }: ListSetting = listSettings[what]
  const verb = `${start} ${quantity(links.length, 'link')}`
  const consequence = effect ?? (await describeLinksEffect(links, selection))
  return question(selection, { title: `${verb}?`, consequences: [consequence, restorableNote], verb })
}

/** Asks before all matching links move to a space. Throws `validation_failed` if the account does not have it. */
export async function askToChangeSpace(selection: Selection, spaceId: number): Promise<Question> {
  const { services, actor, links } = selection
  const space = spaceId === 0 ? undefined : await spaceRecords.find(services.storage, actor.account, spaceId)
  if (spaceId !== 0 && space === undefined) throw validationFailed([unknownSpace(spaceId)])
  const verb = `Move ${quantity(links.length, 'link')}`
  return question(selection, {
    title: `${verb} to ${space?.record.name ?? '“No space”'}?`,
    consequences: ['The short links stay the same. Clicks move with the links.', restorableNote],
    verb,
  })
}

/** Asks before links move to another domain. Lists the links that can't move. Throws `validation_failed` without the domain. */
export async function askToChangeDomain(selection: Selection, domainId: number): Promise<Question> {
  const { services, actor, links } = selection
  const found = await domainRecords.find(services.storage, actor.account, domainId)
  if (found === undefined) throw validationFailed([unknownDomain(domainId)])
  const { name_unicode: name } = found.record
  const { keep_addresses, confirmed } = selection.fields
  // The box is checked at first.
  const keepsAddress = confirmed !== 'true' || keep_addresses === 'true'
  const plan = await planMove(selection, links, { domain_id: domainId, keep_address: keepsAddress })
  const remarks = remarksOn(plan, links.length, name).map((each) => html`<p>${each}</p>`)
  const notes = html`${remarks}${shortList(plan.conflicts.map(({ link }) => linkTo(link, selection)))}`
  if (plan.moving.length === 0) {
    const back = linkButton({ label: 'Back to the list', href: selection.next })
    const body = html`<div class="stack">${notes}</div><div class="actions">${back}</div>`
    return { title: `Nothing to move to ${name}`, section: 'links', body }
  }
  const counts = quantity(plan.moving.length, 'link')
  const effect = await describeLinksEffect(plan.moving, selection)
  const parts = {
    title: `Move ${counts} to ${name}?`,
    notes,
    controls: keepAddressesBox(keepsAddress),
    consequences: [
      html`Unless you keep the old addresses, the current short links stop working. ${effect} ${recentClicksIn(plan.moving)}`,
      `Clicks move with the links, so the statistics of the domains change. ${restorableNote}`,
    ],
    verb: `Move ${counts}`,
  }
  const staying = plan.conflicts.map(({ link }) => link)
  const ids = [plan.moving, staying].map((some) => some.map(({ id }) => id))
  return { ...question(selection, parts, ids), staying }
}

/** What would happen to links that move to a domain. */
interface MovePlan {
  readonly moving: readonly BulkLink[]
  readonly conflicts: readonly { readonly link: BulkLink; readonly reason: Obstacle }[]
  /** The number of links that are on the domain already. */
  readonly there: number
}

/** Why a link can't move. `repeated`: another of the links takes the address. `full`: it can't keep another address. */
type Obstacle = 'taken' | 'repeated' | 'loops' | 'full'

async function planMove(selection: Selection, links: readonly BulkLink[], values: Update['values']): Promise<MovePlan> {
  // Existing links, too, because the change has all of them in its parts.
  const rows = await previewed(selection, links, { values })
  const leaving = rows.filter(({ link }) => link.domain_id !== values.domain_id)
  const moving = leaving.filter(({ failure }) => failure === null).map(({ link }) => link)
  const moved = new Set(moving.map(({ alias }) => foldCase(alias)))
  const conflicts = leaving.flatMap(({ link, failure }) => {
    if (failure === null) return []
    const clash = moved.has(foldCase(link.alias)) ? 'repeated' : 'taken'
    const isLoop = failure.facts.violations?.some(({ code }) => code === 'loops')
    return { link, reason: failure.code === 'alias_taken' ? clash : isLoop ? 'loops' : 'full' } as const
  })
  return { moving, conflicts, there: links.length - leaving.length }
}

/** Returns what a change would do to links. */
async function previewed(
  { actor, services }: Selection,
  links: readonly BulkLink[],
  change: Omit<Update, 'kind' | 'ids'>,
) {
  const update = { kind: 'update', ids: links.map(({ id }) => id), ...change } as const
  const request = { actor, change: update, isAtomic: false, claim: null, hasResults: false, isPreview: true }
  const { preview } = await services.runBatch(request)
  return links.map((link, at) => ({ link, ...(preview[at] as PreviewedRow) }))
}

/** Returns sentences about the links that stay where they are. */
function remarksOn({ conflicts, there }: MovePlan, all: number, domain: string): Part[] {
  const count = (reason: Obstacle) => conflicts.filter((each) => each.reason === reason).length
  const of = (some: number) => `${formatCount(some)} of ${quantity(all, 'alias', 'aliases')}`
  const [taken, repeated, looping, full] = [count('taken'), count('repeated'), count('loops'), count('full')]
  const are = (some: number) => (some === 1 ? 'is' : 'are')
  const sentences: readonly (readonly [number, Part])[] = [
    [there, html`${quantity(there, 'link')} ${are(there)} already on <bdi>${domain}</bdi>.`],
    [taken, html`${of(taken)} ${are(taken)} taken on <bdi>${domain}</bdi>.`],
    [
      repeated,
      `${of(repeated)} ${repeated === 1 ? 'belongs' : 'belong'} to several of these links, and the first one moves.`,
    ],
    [
      looping,
      html`${quantity(looping, 'link')} would redirect to ${looping === 1 ? 'itself' : 'themselves'} on <bdi>${domain}</bdi>.`,
    ],
    [full, `${quantity(full, 'link')} can’t keep the old address: a link has up to ${maxAddresses} further addresses.`],
    [conflicts.length, 'These links stay where they are:'],
  ]
  return sentences.filter(([number]) => number > 0).map(([, sentence]) => sentence)
}
