/** What is done to all links that are selected in their list. */

import { Failure, validationFailed } from '../../errors.ts'
import { positiveInteger } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { findLink } from '../../links/store.ts'
import { attempted, Refused } from '../form-state.ts'
import { linkListOf } from '../next.ts'
import type { Notice } from '../notice-words.ts'
import { type Asked, Next, type Pages } from '../pages.ts'
import type { LinkPageParts } from './link-actions.ts'
import { deleteManyPage } from './link-deletion.ts'

const home = '/app/links'
/** What the choice of a space sends for none; empty stands for no choice. */
export const noSpace = '0'

/** `/app/links/selected`: the form of the list. */
export function selectedLinkPages(pages: Pages, parts: LinkPageParts): void {
  const { storage, shortUrl } = parts
  // Where a choice of colours leads back to from the question whether to delete them.
  pages.show(`${home}/selected`, async () => new Next(home))

  pages.act(`${home}/selected`, async (asked) => {
    const { account, fields } = asked
    const ids = selectedIn(fields)
    const list = linkListOf(fields.next)
    if (ids.length === 0) return new Next(list)
    if (fields.what !== 'delete' || fields.confirmed === 'true') return new Next(list, await doneTo(ids, asked, parts))
    const links = await Promise.all(ids.map((id) => findLink(storage, account, id)))
    const there = links.flatMap((link) => link?.record ?? [])
    return there.length === 0 ? new Next(list) : deleteManyPage({ storage, account, shortUrl }, there, list)
  })
}

/** The links whose boxes are checked. */
function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

/** Does what the pressed button says, to each. Returns what to say of those to which it was done, and of the others. */
async function doneTo(ids: readonly number[], { account, fields }: Asked, parts: LinkPageParts): Promise<Notice> {
  const { act, notice } = workOf(fields, account, parts)
  const done: number[] = []
  for (const id of ids) {
    try {
      if ((await act(id)) !== false) done.push(id)
    } catch (error) {
      if (isGone(error)) continue
      // What is done already must be told, and can be undone.
      if (done.length > 0 && error instanceof Failure) break
      throw error
    }
  }
  return notice(done, ids.length - done.length)
}

interface Work {
  /** False if it could not be done to the link. */
  readonly act: (id: number) => Promise<unknown>
  readonly notice: (done: readonly number[], others: number) => Notice
}

function workOf({ what, space_id }: Fields, account: number, { actions }: LinkPageParts): Work {
  const change = (fields: Fields) => (id: number) => actions.change(account, id, fields, null)
  switch (what) {
    case 'enable':
      return { act: change({ disabled: 'false' }), notice: switched('enabled') }
    case 'disable':
      return { act: change({ disabled: 'true' }), notice: switched('disabled') }
    case 'move':
      return moveTo(space_id, change)
    case 'delete':
      return { act: (id) => actions.removeForNow(account, id, null), notice: deleted }
    case 'restore':
      return { act: (id) => isBack(() => actions.restore(account, id)), notice: restored }
    default:
      throw new Failure(
        'malformed_body',
        'The form does not say what to do. Open the list of links, and try again there.',
      )
  }
}

function switched(to: 'enabled' | 'disabled'): Work['notice'] {
  return (done, others) => {
    if (done.length === 1 && others === 0) return { code: `link-${to}`, ids: done }
    return toMany({ code: `links-${to}` }, done, others)
  }
}

const deleted: Work['notice'] = (done, others) => {
  if (done.length === 1 && others === 0) return { code: 'link-deleted', ids: done }
  return toMany({ code: 'links-deleted', ids: done }, done, others)
}

const restored: Work['notice'] = (done, others) => {
  if (done.length === 0) return { code: 'links-lost', number: others }
  return { code: 'links-restored', number: done.length, others }
}

function toMany(notice: Notice, done: readonly number[], others: number): Notice {
  return done.length === 0 ? { code: 'links-gone' } : { ...notice, number: done.length, others }
}

function moveTo(space: unknown, change: (fields: Fields) => Work['act']): Work {
  if (space === undefined || space === '') {
    throw refusedSpace('required', 'Choose the space that the links move to, or “No space”.')
  }
  if (space === noSpace) {
    return { act: change({ space_id: '' }), notice: (...of) => toMany({ code: 'links-taken-out' }, ...of) }
  }
  const id = positiveInteger(String(space))
  if (id === undefined) throw refusedSpace('out_of_range', 'Choose a space of the list, or “No space”.')
  const ids = [id]
  return { act: change({ space_id: space }), notice: (...of) => toMany({ code: 'links-moved', ids }, ...of) }
}

function refusedSpace(code: 'required' | 'out_of_range', message: string): Failure {
  return validationFailed([{ field: 'space_id', code, message }])
}

/** Whether the link is back; false as well if another has its alias. */
async function isBack(restore: () => Promise<unknown>): Promise<boolean> {
  const link = await attempted(restore)
  return link !== undefined && !(link instanceof Refused)
}

function isGone(error: unknown): boolean {
  return error instanceof Failure && error.code === 'not_found'
}
