/** Actions on the selected links of the list, or on all links that match it. */

import { requireScope } from '../../access/roles.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import type { BatchChange, BatchResponse } from '../../links/batch.ts'
import { changedTogether } from '../../links/batch-preview.ts'
import { findBulkLinks, matchingLinks } from '../../links/bulk-links.ts'
import { setForm, tagChangeForm } from '../../links/bulk-schema.ts'
import { maxBulkLinks } from '../../links/link.ts'
import { listWithExactFirst } from '../../links/link-list.ts'
import { type Replacement, replacementForm } from '../../links/replacement.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { loadChoices, noSpace } from '../choices.ts'
import { countArchived, fingerprint, linkListAt, linkListState } from '../link-list.ts'
import type { ListState } from '../lists.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { controlFor, hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { requireTyped } from '../parts/deletion.ts'
import { isSetting, listSettings } from '../parts/link-actions.ts'
import { spaceLabel } from '../parts/links.ts'
import { emptyState } from '../parts/messages.ts'
import { formZone, withUtcTimes } from '../parts/time-zones.ts'
import { attempt } from '../record-forms.ts'
import { linkListReturnPath } from '../return-path.ts'
import { compareSelected } from './compare.ts'
import { common, compareShown, isSameQuestion, type Question, type Selection, stayedPage } from './selected-links.ts'
import {
  askForLimits,
  askForReplacement,
  askForTags,
  askToChange,
  askToChangeDomain,
  askToChangeSpace,
  askToDelete,
  askToReplace,
  countToType,
  type LinkAction,
  limits,
} from './selection-questions.ts'

const home = '/app/links'

type Services = Selection['services'] & {
  readonly semaphores: { readonly selections: Semaphore }
}

export function addSelectionPages(pages: Pages, services: Services): void {
  // Changing the color scheme on the confirmation page returns to this path.
  pages.get(`${home}/selected`, 'links:read', async () => new Redirect(home))

  pages.get(`${home}/move`, 'links:write', (request) => movePage(request, services))

  pages.post(`${home}/selected`, 'links:read', async (request) => {
    if (request.fields.what !== 'compare') requireScope(request.actor, 'links:write')
    const { fields, next, list } = readForm(request.fields)
    const ids = list === null ? checkedIn(fields) : await matchingLinks(services.storage, request.account, list.request)
    if (ids === null) return tooManyPage(next)
    if (ids.length === 0) return new Redirect(next)
    if (fields.what === 'compare') return compareSelected(ids, next)
    const selection = await loadSelection({ ids, next, fields }, list, request, services)
    const page = await act(selection, services)
    return page instanceof Redirect ? page : compareShown(page, selection, await readListed(selection, list))
  })
}

/** Returns the fields, the path to return to, and the list if the form is about all of its links. */
function readForm({ include_archived, ...sent }: Fields) {
  const path = linkListReturnPath(sent.next)
  const isWider = include_archived !== undefined
  const next = isWider ? linkListAt(path).href({ archived: 'any' }) : path
  // No one has seen these links yet.
  const fields: Fields = isWider ? { ...sent, confirmed: undefined, shown: undefined, listed: undefined } : sent
  return { fields, next, list: fields.matching === undefined ? null : linkListAt(next) }
}

/** Returns the present fingerprint of the list that the form is from; null if it is from another page. */
async function readListed({ fields, actor, services }: Selection, list: ListState | null): Promise<string | null> {
  if (list === null || fields.shown !== undefined || fields.listed === undefined) return null
  const { rows, total } = await listWithExactFirst(services.storage, actor.account, list.request)
  return fingerprint(rows, total)
}

/** Adds to the ids of a selection what its questions show. `list` is null for checked links. */
async function loadSelection(
  given: Pick<Selection, 'ids' | 'next' | 'fields'>,
  list: ListState | null,
  request: PageRequest,
  services: Services,
): Promise<Selection> {
  const { account, actor } = request
  const { storage } = services
  const [links, archived] = await Promise.all([
    findBulkLinks(storage, account, given.ids),
    list === null ? 0 : countArchived(storage, account, list),
  ])
  return { ...given, links, archived, isMatching: list !== null, actor, timeZone: formZone(request), services }
}

/** Applies the action of the form if the page that was confirmed still shows the same. Otherwise asks about it. */
async function act(selection: Selection, services: Services): Promise<Question | PageContent | Redirect> {
  const { isMatching, fields, next, actor, links } = selection
  if (fields.what === 'move' && fields.to === undefined) return askWhereTo(selection)
  const action = await chooseAction(selection)
  const isConfirmed = fields.confirmed === 'true'
  let staying: Question['staying']
  if (isConfirmed || action.isAsked || isMatching) {
    if (links.length === 0) return new Redirect(next, { code: 'links-stayed' })
    const question = await action.ask()
    const isValid = (action.violations ?? []).length === 0
    if (!isConfirmed || !isValid || !isSameQuestion(question, selection)) return question
    staying = question.staying
  }
  const apply = () => applyToAll({ ...selection, runBatch: services.runBatch }, action)
  const applied = await services.semaphores.selections.run(apply, String(actor.account))
  const failed = selection.ids.length - applied.length
  const remark = { code: applied.length === 0 ? 'links-stayed' : (action.obstacle ?? 'stayed'), count: failed } as const
  const repeatRedirect = new Redirect(next, failed === 0 ? 'changes' : remark)
  const known = new Set([...applied, ...(staying ?? links).map(({ id }) => id)])
  const stayed = links.filter(({ id }) => !known.has(id))
  return stayed.length === 0 ? repeatRedirect : { ...stayedPage(stayed, selection, applied.length), repeatRedirect }
}

/** Asks where to move all links that match the query, such as all links on a domain. */
async function movePage(request: PageRequest, services: Services): Promise<PageContent> {
  const { account, query } = request
  const list = linkListState(home, query)
  const ids = await matchingLinks(services.storage, account, list.request)
  if (ids === null) return tooManyPage(list.currentHref)
  if (ids.length === 0) return noLinksPage
  const given = { ids, next: list.currentHref, fields: { what: 'move' } }
  return askWhereTo(await loadSelection(given, list, request, services), query.domain_id)
}

/** Returns the page that asks where to move links. Each space and domain is a button. */
async function askWhereTo(selection: Selection, currentDomain?: unknown): Promise<PageContent> {
  const { spaces, domains } = await loadChoices(selection.services.storage, selection.actor.account, {})
  const others = domains.filter(({ id }) => String(id) !== currentDomain)
  const to = (value: string, label: Part) => submitButton({ name: 'to', value, label, weight: 'plain' })
  const inSpace = [
    to(`space-${noSpace}`, 'No space'),
    ...spaces.map((each) => to(`space-${each.id}`, spaceLabel(each))),
  ]
  const onDomain = others.map(({ id, name_unicode: name }) => to(`domain-${id}`, html`<bdi>${name}</bdi>`))
  const toAdd = html`<p>To move links to another domain, <a href="/app/domains/new">add it first</a>.</p>`
  const toDomain =
    domains.length > 1
      ? html`<h2>To a domain</h2><p>The next page shows the consequences.</p><div class="destinations">${onDomain}</div>`
      : controlFor(selection.actor, 'domains:write', toAdd)
  const { action, cancel, fields, more } = common(selection)
  const body = html`<form method="post" action="${action}" class="form">${hiddenFields(fields)}
<h2>To a space</h2><div class="destinations">${inSpace}</div>${toDomain}
<div class="actions"><a class="button plain" href="${cancel}" data-close>Cancel</a>${more}</div></form>`
  return { title: `Move ${quantity(selection.ids.length, 'link')}`, section: 'links', body }
}

const noLinksPage: PageContent = {
  title: 'Move links',
  section: 'links',
  body: emptyState({
    title: 'No links to move',
    why: 'Nothing matches any more.',
    action: linkButton({ label: 'View all links', href: home }),
  }),
}

function tooManyPage(list: string): PageContent {
  const why = `One action changes up to ${formatCount(maxBulkLinks)} links. Narrow the search or the filters, then try again.`
  const action = linkButton({ label: 'Back to the list', href: list })
  return {
    title: 'Too many links',
    section: 'links',
    body: emptyState({ title: 'Too many links match', why, action }),
    status: 422,
  }
}

function checkedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

/** What each action of the list does with its form: the violations, the question, and the change. */
const listActions: Readonly<Record<string, (selection: Selection) => LinkAction | Promise<LinkAction>>> = {
  tag: changeTags,
  limit: changeLimits,
  replace: replaceText,
  move: moveAll,
  delete: deleteAll,
}

/** Returns the action of the form, with the violations in its values. Throws `validation_failed` if its space is gone. */
async function chooseAction(selection: Selection): Promise<LinkAction> {
  const what = readText(selection.fields.what)
  if (isSetting(what)) {
    const ask = () => askToChange(selection, what)
    return { ask, isAsked: false, change: await changeSettings(listSettings[what].change, selection) }
  }
  const action = Object.hasOwn(listActions, what) ? listActions[what] : undefined
  if (action) return action(selection)
  throw new Failure('malformed_body', 'The form doesn’t say what to do. Open the list of links and try again.')
}

function update(change: Partial<Extract<BatchChange, { kind: 'update' }>>): LinkAction['change'] {
  return (ids) => ({ kind: 'update', values: {}, ...change, ids })
}

/** Returns the change that sets these fields on all links. Throws `validation_failed`. */
async function changeSettings(fields: Fields, { actor, services }: Selection): Promise<LinkAction['change']> {
  return update({ values: await services.actions.links.prepareChange(actor.account, setForm.read(fields)) })
}

async function deleteAll(selection: Selection): Promise<LinkAction> {
  const { fields } = selection
  const count = fields.confirmed === 'true' ? countToType(selection) : null
  const digits = (text: string) => text.replace(/[,.\s]/g, '')
  const typed = await attempt(async () => {
    if (count !== null) requireTyped(fields, count, (text) => digits(text) === digits(count))
  })
  const violations = typed instanceof Failure ? (typed.facts.violations ?? []) : []
  const ask = () => askToDelete(selection, violations)
  return { ask, isAsked: true, change: (ids) => ({ kind: 'delete', ids }), violations }
}

function changeTags(selection: Selection): LinkAction {
  const { add_tags, remove_tags } = selection.fields
  const { values, violations: invalid } = tagChangeForm.read({ add_tags, remove_tags })
  const { add_tags: add = [], remove_tags: remove = [] } = values
  const isEmpty = invalid.length === 0 && add.length + remove.length === 0
  const violations = isEmpty ? [new Refusal('required.tag_change').at('add_tags')] : invalid
  const ask = () => askForTags(selection, violations)
  return { ask, isAsked: true, change: update({ tags: { add, remove } }), obstacle: 'too-many-tags', violations }
}

/** Returns the action that sets and removes dates and the click limit. Empty fields leave the links as they are. */
async function changeLimits(selection: Selection): Promise<LinkAction> {
  const times = limits.flatMap(({ name, type }) => (type === 'number' ? [] : [name]))
  const fields = withUtcTimes(selection.fields, times, selection.timeZone)
  const sent: Record<string, unknown> = {}
  const violations: Violation[] = []
  for (const { name } of limits) {
    const value = fields[name] ?? ''
    const isRemoved = fields[`remove_${name}`] === 'true'
    if (isRemoved && value !== '') violations.push(new Refusal('not_allowed.removed').at(name))
    else if (isRemoved || value !== '') sent[name] = value
  }
  const isEmpty = violations.length === 0 && Object.keys(sent).length === 0
  if (isEmpty) violations.push(new Refusal('required.limit_change').at(limits[0].name))
  const change = await attempt(() => changeSettings(sent, selection))
  if (change instanceof Failure) violations.push(...(change.facts.violations ?? []))
  const ask = () => askForLimits(selection, violations)
  return { ask, isAsked: true, change: change instanceof Failure ? update({}) : change, violations }
}

function replaceText(selection: Selection): LinkAction {
  const { find, replace, part } = selection.fields
  const { values, violations } = replacementForm.read({ find, replace, part })
  const replacement = violations.length > 0 ? undefined : (values as Replacement)
  const ask = () =>
    replacement === undefined ? askForReplacement(selection, violations) : askToReplace(selection, replacement)
  return { ask, isAsked: true, change: update({ replacement }), violations }
}

/** Throws `validation_failed` if the form names no target. The id 0 stands for no space. */
async function moveAll(selection: Selection): Promise<LinkAction> {
  const [, kind, id = ''] = /^(space|domain)-(\d{1,16})$/.exec(readText(selection.fields.to)) ?? []
  const target = kind === 'space' && id === noSpace ? 0 : positiveInteger(id)
  if (target === undefined) throw validationFailed([new Refusal('required.new_space').at('space_id')])
  if (kind === 'domain') {
    const keep_address = selection.fields.keep_addresses === 'true'
    const change = update({ values: { domain_id: target, keep_address } })
    return { ask: () => askToChangeDomain(selection, target), isAsked: true, change }
  }
  const change = await changeSettings({ space_id: target === 0 ? '' : String(target) }, selection)
  return { ask: () => askToChangeSpace(selection, target), isAsked: false, change }
}

/**
 * Applies the action in parts, all of which belong to the actor's batch. After an error, no more parts begin. Returns the ids of
 * the links in the finished parts that have the new values. Throws the error if there are none.
 */
export async function applyToAll(
  { ids, actor, runBatch }: Pick<Selection, 'ids' | 'actor'> & Pick<Services, 'runBatch'>,
  { change }: Pick<LinkAction, 'change'>,
): Promise<readonly number[]> {
  const done: BatchResponse[] = []
  try {
    for (let at = 0; at < ids.length; at += changedTogether) {
      const part = change(ids.slice(at, at + changedTogether))
      done.push(await runBatch({ actor, change: part, isAtomic: false, claim: null, hasResults: false }))
    }
  } catch (error) {
    if (!(error instanceof Failure) || done.length === 0) throw error
  }
  return done.flatMap(({ applied }) => applied.map(({ id }) => id))
}
