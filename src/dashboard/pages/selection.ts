/** Actions on the selected links of the list, or on all links that match it, and the undo of edits of links. */
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import { icon } from '../../frame/icons.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { findBulkLinks, matchingLinks, maxBulkLinks, planMove } from '../../links/bulk.ts'
import { tagChangeForm } from '../../links/bulk-schema.ts'
import { linksDeletedBy } from '../../links/deleted-links.ts'
import { linksChangedBy } from '../../links/link-edits.ts'
import { findLinkDomain, unknownDomain } from '../../links/store.ts'
import { type Edit, newEdit } from '../../storage/undo.ts'
import { Refusal } from '../../violations.ts'
import { maxLines } from '../charts/line-chart.ts'
import { type ListState, linkListState } from '../lists.ts'
import type { Notice } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect, type Services } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { formatCount } from '../parts/format.ts'
import { emptyState } from '../parts/messages.ts'
import { attempt, noSpace } from '../record-forms.ts'
import { linkListReturnPath, undoReturnPath } from '../return-path.ts'
import { compareSelected } from './compare.ts'
import { linkSettings } from './link.ts'
import { askAbout, askWhereTo, type Destination, type LinkAction, type Selection } from './selection-questions.ts'

const home = '/app/links'
/** Links that are changed at the same time, because pending transactions share a commit. */
const concurrency = 16

export function addSelectionPages(pages: Pages, services: Services): void {
  // Changing the color scheme on the confirmation page returns to this path.
  pages.get(`${home}/selected`, async () => new Redirect(home))

  pages.get(`${home}/move`, (request) => movePage(request, services))

  pages.post(`${home}/undo`, async ({ account, fields }) => {
    const notice = await services.semaphores.selections.run(() => undo(fields, account, services), String(account))
    return new Redirect(undoReturnPath(fields.next), notice)
  })

  pages.post(`${home}/selected`, async (request) => {
    const { account, fields } = request
    const list = linkListReturnPath(fields.next)
    const ids = await selectedIn(fields, list, account, services)
    if (ids === null) return tooManyPage(list)
    if (ids.length === 0) return new Redirect(list)
    if (fields.what === 'compare') return compareSelected(ids, list)
    const selection = { ids, isMatching: fields.matching !== undefined, next: list, fields, account, services }
    return fields.what === 'move' && fields.to === undefined ? askWhereTo(selection) : act(selection)
  })
}

/** Applies the action of the form, or asks about it first. */
async function act(selection: Selection): Promise<PageContent | Redirect> {
  const { isMatching, fields, next, account } = selection
  const action = actionFrom(selection)
  const isValid = (action.violations ?? []).length === 0
  const isConfirmed = fields.confirmed === 'true' ? isValid : !(action.asks || isMatching)
  if (!isConfirmed) return (await askAbout(selection, action)) ?? new Redirect(next)
  const notice = await selection.services.semaphores.selections.run(
    () => applyToAll(selection, action),
    String(account),
  )
  return new Redirect(next, notice)
}

/** Renders the controls for the selected links. More actions can be added here and in `actionFrom`. */
export function selectedActions(list: ListState): Html {
  const what = (value: string, label: string, weight: 'plain' | 'danger' = 'plain') =>
    submitButton({ name: 'what', value, label, weight })
  const more = Object.entries(linkSettings).map(
    ([value, { label, icon: name }]) =>
      html`<li><button name="what" value="${value}">${icon(name)}${label}</button></li>`,
  )
  return html`${hiddenFields({ next: list.currentHref })}${what('move', 'Move…')}${what('tag', 'Tags…')}${what('compare', `Compare (up to ${maxLines})`)}
<button type="button" class="button plain" popovertarget="more-actions">${icon('menu')}More</button>
<div class="menu" id="more-actions" popover><ul class="items">${more}</ul></div>
${what('delete', 'Delete', 'danger')}`
}

/** Renders the box that selects all links on all pages, if there are several. */
export function matchingBox(total: number, shown: number, isExact: boolean): Html | null {
  if (total <= shown) return null
  if (!isExact || total > maxBulkLinks)
    return html`<span class="muted small">To select all, filter the list to ${formatCount(maxBulkLinks)} links.</span>`
  return html`<label><input type="checkbox" name="matching" value="1" data-select-matching="${total}"> All ${formatCount(total)} that match</label>`
}

/** Asks where to move all links that match the query, such as all links on a domain. */
async function movePage({ account, query }: PageRequest, services: Services): Promise<PageContent> {
  const list = linkListState(home, query)
  const ids = await matchingLinks(services.storage, account, list.request)
  if (ids === null) return tooManyPage(list.currentHref)
  if (ids.length === 0) return noLinksPage
  const fields = { what: 'move' }
  return askWhereTo({ ids, isMatching: true, next: list.currentHref, fields, account, services }, query.domain_id)
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

/** Returns the ids of the checked links, or of all links that match the list at `next`. Null for too many. */
async function selectedIn(
  fields: Fields,
  next: string,
  account: number,
  { storage }: Services,
): Promise<readonly number[] | null> {
  if (fields.matching === undefined)
    return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
  const query = Object.fromEntries(new URL(next, 'http://own.invalid').searchParams)
  return matchingLinks(storage, account, linkListState(home, query).request)
}

function actionFrom(selection: Selection): LinkAction {
  const { fields, account, services } = selection
  const { links } = services.actions
  const { what } = fields
  switch (what) {
    case 'enable':
    case 'disable':
    case 'archive':
    case 'unarchive': {
      const { change, past } = linkSettings[what]
      const apply = changeOf(change, selection)
      return { what, asks: false, apply, single: `link-${past}`, several: `links-${past}` }
    }
    case 'tag':
      return changeTags(selection)
    case 'move':
      return moveTo(destinationFrom(fields.to), selection)
    case 'delete': {
      const apply = async (id: number, edit: Edit) => {
        await links.removeWithUndo(account, id, edit)
        return 'changed' as const
      }
      return { what, asks: true, apply, single: 'link-deleted', several: 'links-deleted' }
    }
    default:
      throw new Failure('malformed_body', 'The form doesn’t say what to do. Open the list of links and try again.')
  }
}

function changeOf(fields: Fields, { account, services }: Selection): LinkAction['apply'] {
  return async (id, edit) => resultOf(await services.actions.links.changeWithUndo(account, id, fields, null, edit))
}

/** Returns the action that adds and removes tags, with the violations in their names. */
function changeTags({ fields: { add_tags, remove_tags }, account, services }: Selection): LinkAction {
  const { links } = services.actions
  const { values, violations } = tagChangeForm.read({ add_tags, remove_tags })
  const { add_tags: add = [], remove_tags: remove = [] } = values
  const apply = async (id: number, edit: Edit) => {
    const changed = await attempt(() => links.changeWithUndo(account, id, {}, null, edit, { add, remove }))
    return changed instanceof Failure ? 'impossible' : resultOf(changed)
  }
  const isEmpty = violations.length === 0 && add.length + remove.length === 0
  return {
    ...{ what: 'tag', asks: true, apply, several: 'links-tagged' },
    violations: isEmpty ? [new Refusal('required.tag_change').at('add_tags')] : violations,
  }
}

function moveTo(to: Destination, selection: Selection): LinkAction {
  const { kind, id: targetId } = to
  if (kind === 'space') {
    const several = targetId === 0 ? 'links-without-space' : 'links-moved'
    const apply = changeOf({ space_id: targetId === 0 ? '' : String(targetId) }, selection)
    return { what: 'move', asks: false, apply, several, to }
  }
  const { account, services } = selection
  const apply = async (id: number, edit: Edit) => {
    const moved = await attempt(() => services.actions.links.moveToDomainWithUndo(account, id, targetId, edit))
    return moved instanceof Failure ? 'impossible' : resultOf(moved)
  }
  return { what: 'move', asks: true, apply, several: 'links-on-domain', to }
}

function resultOf({ edit }: { readonly edit: number | null }) {
  return edit === null ? 'unchanged' : 'changed'
}

/** Returns where to move links. Throws `validation_failed`. */
function destinationFrom(text: unknown): Destination {
  const [, kind, id = ''] = /^(space|domain)-(\d{1,16})$/.exec(String(text)) ?? []
  if (kind === 'space' && id === noSpace) return { kind, id: 0 }
  const targetId = positiveInteger(id)
  if ((kind === 'space' || kind === 'domain') && targetId !== undefined) return { kind, id: targetId }
  throw validationFailed([new Refusal('required.new_space').at('space_id')])
}

async function applyToAll(selection: Selection, action: LinkAction): Promise<Notice> {
  const edit = newEdit()
  const { ids } = selection
  const possible = action.to?.kind === 'domain' ? await movableTo(action.to.id, selection) : ids
  let isChanged = false
  const { done, failed } = await forEach(possible, async (id) => {
    const result = await action.apply(id, edit)
    if (result === 'changed') isChanged = true
    return result !== 'impossible'
  })
  const { what, single, several, to } = action
  const [count, stuck] = [done.length, failed + ids.length - possible.length]
  if (count === 0) return { code: to?.kind === 'domain' ? 'links-not-moved' : 'links-gone' }
  const undo = isChanged ? edit.id : null
  if (single !== undefined && count === 1 && stuck === 0) {
    return { code: single, id: done[0], undo: what === 'delete' ? done[0] : undo }
  }
  return { code: several, id: to?.id, undo, count, failed: stuck }
}

/** Returns the ids of the links that can move to the account's domain. Throws `validation_failed` if the domain is gone. */
async function movableTo(domainId: number, { ids, account, services }: Selection): Promise<readonly number[]> {
  const { storage, shortUrl } = services
  const domain = await findLinkDomain(storage, account, domainId)
  if (domain === undefined) throw validationFailed([unknownDomain(domainId)])
  const links = await findBulkLinks(storage, account, ids)
  return (await planMove(storage, account, links, domain, shortUrl)).moving.map(({ id }) => id)
}

/** Undoes the edit of the form: each of its changes, unless that is no longer possible. */
async function undo({ edit: text, what, count: named }: Fields, account: number, services: Services): Promise<Notice> {
  const now = Date.now()
  const edit = positiveInteger(String(text)) ?? 0
  const { storage } = services
  const { links } = services.actions
  if (what === 'restore') {
    const ids = await linksDeletedBy(storage, account, edit, now)
    const restore = (id: number) => attempt(() => links.restore(account, id, now))
    const { done, failed } = await forEach(ids, async (id) => isDone(await restore(id)))
    if (done.length > 0) return { code: 'links-restored', count: done.length, failed }
    return { code: 'links-not-restored', count: ids.length || (positiveInteger(String(named)) ?? 1) }
  }
  const ids = await linksChangedBy(storage, account, edit, now)
  const failures: Failure[] = []
  const { done, failed } = await forEach(ids, async (id) => {
    const link = await attempt(() => links.undoEdit(account, edit, id, now))
    if (link instanceof Failure) failures.push(link)
    return isDone(link)
  })
  if (done.length > 0) {
    return { code: what === 'import' ? 'import-undone' : 'edits-undone', count: done.length, failed }
  }
  if (ids.length > 1) return { code: 'edits-not-undone', count: ids.length }
  return { code: undoFailure(failures[0]) }
}

function isDone(result: object | undefined): boolean {
  return result !== undefined && !(result instanceof Failure)
}

function undoFailure(failure: Failure | undefined): Notice['code'] {
  if (failure?.code === 'precondition_failed') return 'edit-conflict'
  if (failure?.code === 'alias_taken') return 'edit-alias-taken'
  if (failure?.code !== 'validation_failed') return 'edit-too-late'
  const isDomain = failure.facts.violations?.some(({ field }) => field === 'domain_id')
  return isDomain ? 'edit-domain-deleted' : 'edit-space-deleted'
}

/**
 * Does work for each link, several at a time. `work` returns whether it was possible. Missing links count as failed. After
 * any other error, no more work begins, and the result still has the finished links, so that users can undo them. Throws
 * the error if no link is finished.
 */
async function forEach(
  ids: readonly number[],
  work: (id: number) => Promise<boolean>,
): Promise<{ readonly done: readonly number[]; readonly failed: number }> {
  const done: number[] = []
  let error: Failure | undefined
  const attemptOne = async (id: number) => {
    try {
      if (await work(id)) done.push(id)
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown
      if (thrown.code !== 'not_found') error ??= thrown
    }
  }
  const left = ids.values()
  const run = async () => {
    for (const id of left) {
      if (error === undefined) await attemptOne(id)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, run))
  if (done.length === 0 && error !== undefined) throw error
  return { done, failed: ids.length - done.length }
}
