/** Actions on the selected links of the list. */
import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { LinkActions } from '../../links/actions.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLink } from '../../links/store.ts'
import { Refusal } from '../../violations.ts'
import { type Choices, spaceChoice } from '../choices.ts'
import type { ListState } from '../lists.ts'
import type { Notice } from '../notices.ts'
import { type PageContent, type PageRequest, type Pages, Redirect, type Services } from '../pages.ts'
import { hiddenFields, submitButton } from '../parts/buttons.ts'
import { optionsOf } from '../parts/fields.ts'
import { quantity } from '../parts/format.ts'
import { shortUrlText } from '../parts/links.ts'
import { confirmation } from '../parts/messages.ts'
import { selectedRows } from '../parts/table.ts'
import { attempt } from '../record-forms.ts'
import { linkListReturnPath, undoReturnPath } from '../return-path.ts'
import { comparePath } from './compare.ts'
import { describeEffect, undoNote } from './link.ts'

const home = '/app/links'

export function addSelectionPages(pages: Pages, services: Services): void {
  const { storage, shortUrl } = services

  // Changing the color scheme on the confirmation page returns to this path.
  pages.get(`${home}/selected`, async () => new Redirect(home))

  pages.post(`${home}/undo`, async ({ account, fields }) => {
    const notice = await undoEdits(selectedIn(fields), account, services.actions.links)
    return new Redirect(undoReturnPath(fields.next), notice)
  })

  pages.post(`${home}/selected`, async (request) => {
    const { account, fields } = request
    const ids = selectedIn(fields)
    const list = fields.what === 'restore' ? undoReturnPath(fields.next) : linkListReturnPath(fields.next)
    if (ids.length === 0) return new Redirect(list)
    if (fields.what === 'compare') return new Redirect(comparePath(ids))
    if (fields.what !== 'delete' || fields.confirmed === 'true')
      return new Redirect(list, await applyToAll(ids, request, services))
    const rows = await Promise.all(ids.map((id) => findLink(storage, account, id)))
    const links = rows.flatMap((row) => (row === undefined ? [] : linkOf(row.record, shortUrl)))
    return links.length === 0 ? new Redirect(list) : deleteManyPage(services, account, links, list)
  })
}

const namedLinks = 5

export async function deleteManyPage(
  services: Services,
  account: number,
  links: readonly Link[],
  next: string,
): Promise<PageContent> {
  const counts = quantity(links.length, 'link')
  const named = links.toSorted((one, other) => other.clicks - one.clicks).slice(0, namedLinks)
  const things: Part[] = named.map(
    ({ short_url, clicks }) => html`<bdi>${shortUrlText(short_url)}</bdi>: ${quantity(clicks, 'click')}`,
  )
  if (links.length > namedLinks) things.push(`and ${links.length - namedLinks} more`)
  return confirmation({
    title: `Delete ${counts}?`,
    place: 'links',
    action: `${home}/selected`,
    things,
    consequences: [await describeEffect(services, account, links), undoNote],
    verb: `Delete ${counts}`,
    cancel: next,
    fields: { what: 'delete', confirmed: 'true', next, ...selectedRows(links.map(({ id }) => id)) },
  })
}

export function selectedActions({ spaces }: Choices, list: ListState): Html {
  const what = (value: string, label: string, weight: 'plain' | 'danger' = 'plain') =>
    submitButton({ name: 'what', value, label, weight, needsNothing: value !== 'move' })
  const options = [{ value: '', label: 'Move to…' }, { value: noSpace, label: 'No space' }, ...spaces.map(spaceChoice)]
  return html`${hiddenFields({ next: list.currentHref })}${what('compare', 'Compare')}${what('enable', 'Enable')}${what('disable', 'Disable')}
<label class="hidden-text" for="move-to">Space</label><select id="move-to" name="space_id" required>${optionsOf(options, '')}</select>${what('move', 'Move')}
${what('delete', 'Delete', 'danger')}`
}

/** The form value for "no space"; an empty value means no choice. */
export const noSpace = '0'

function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

async function applyToAll(
  ids: readonly number[],
  { account, fields }: PageRequest,
  { actions }: Services,
): Promise<Notice> {
  const action = actionFrom(fields, account, actions.links)
  const done: number[] = []
  for (const id of ids) {
    try {
      if ((await action.apply(id)) !== false) done.push(id)
    } catch (error) {
      if (error instanceof Failure && error.code === 'not_found') continue
      // Completed changes must be reported, because they can be undone.
      if (done.length > 0 && error instanceof Failure) break
      throw error
    }
  }
  if (done.length > 0) return noticeFor(action, done, ids.length - done.length)
  return fields.what === 'restore' ? { code: 'links-not-restored', count: ids.length } : { code: 'links-gone' }
}

function noticeFor(action: LinkAction, done: readonly number[], failed: number): Notice {
  const { single, several, edits, space } = action
  const undoable = edits ?? done
  if (single !== undefined && done.length === 1 && failed === 0) {
    return { code: single, ids: edits === undefined ? done : [...done, ...edits] }
  }
  return { code: several, ids: space === undefined ? undoable : [space, ...undoable], count: done.length, failed }
}

interface LinkAction {
  /** Returns false if the action was not possible. */
  readonly apply: (id: number) => Promise<unknown>
  readonly single?: Notice['code']
  readonly several: Notice['code']
  /** The edits so far, with which the action can be undone. */
  readonly edits?: readonly number[]
  readonly space?: number
}

function actionFrom({ what, space_id }: Fields, account: number, links: LinkActions): LinkAction {
  const change = (fields: Fields): Pick<LinkAction, 'apply' | 'edits'> => {
    const edits: number[] = []
    const apply = async (id: number) => {
      const { edit } = await links.changeForNow(account, id, fields, null)
      if (edit !== null) edits.push(edit)
    }
    return { apply, edits }
  }
  switch (what) {
    case 'enable':
      return { ...change({ disabled: 'false' }), single: 'link-enabled', several: 'links-enabled' }
    case 'disable':
      return { ...change({ disabled: 'true' }), single: 'link-disabled', several: 'links-disabled' }
    case 'move': {
      const space = requestedSpace(space_id)
      if (space === null) return { ...change({ space_id: '' }), several: 'links-without-space' }
      return { ...change({ space_id: String(space) }), several: 'links-moved', space }
    }
    case 'delete':
      return { apply: (id) => links.removeForNow(account, id, null), single: 'link-deleted', several: 'links-deleted' }
    case 'restore':
      return {
        apply: async (id) => {
          const link = await attempt(() => links.restore(account, id))
          return link !== undefined && !(link instanceof Failure)
        },
        several: 'links-restored',
      }
    default:
      throw new Failure('malformed_body', 'The form doesn’t say what to do. Open the list of links and try again.')
  }
}

/** Undoes edits of the account's links, each unless its link has been changed since. */
async function undoEdits(edits: readonly number[], account: number, links: LinkActions): Promise<Notice> {
  const results: Notice['code'][] = []
  for (const edit of edits) {
    const link = await attempt(() => links.undoEdit(account, edit))
    if (link instanceof Failure) results.push(undoFailures[link.code] ?? 'edit-too-late')
    else results.push(link === undefined ? 'edit-too-late' : 'edits-undone')
  }
  const [only = 'edit-too-late', ...others] = results
  if (others.length === 0) return { code: only, count: 1 }
  const count = results.filter((code) => code === 'edits-undone').length
  if (count === 0) return { code: 'edits-not-undone', count: results.length }
  return { code: 'edits-undone', count, failed: results.length - count }
}

const undoFailures: Readonly<Record<string, Notice['code']>> = {
  precondition_failed: 'edit-conflict',
  alias_taken: 'edit-alias-taken',
  validation_failed: 'edit-space-deleted',
}

/** Returns the selected space; null means no space. Throws `validation_failed`. */
function requestedSpace(text: unknown): number | null {
  if (text === noSpace) return null
  const id = positiveInteger(String(text))
  if (id !== undefined) return id
  throw validationFailed([new Refusal('required.new_space').at('space_id')])
}
