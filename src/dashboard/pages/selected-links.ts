/** What is done to all links that are selected in their list. */
import { positiveInteger } from '../../api/integer.ts'
import { Failure, validationFailed } from '../../errors.ts'
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

/** Does what the pressed button says, to each. Returns what to say of those to which it was done. */
async function doneTo(ids: readonly number[], { account, fields }: Asked, parts: LinkPageParts): Promise<Notice> {
  const { act, notice } = workOf(fields, account, parts)
  const done: number[] = []
  for (const id of ids) {
    if (await act(id).then((isDone) => isDone !== false, isGone)) done.push(id)
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
  return (done) =>
    done.length === 1 ? { code: `link-${to}`, ids: done } : { code: `links-${to}`, number: done.length }
}

function deleted(done: readonly number[]): Notice {
  return done.length === 1
    ? { code: 'link-deleted', ids: done }
    : { code: 'links-deleted', number: done.length, ids: done }
}

function restored(done: readonly number[], others: number): Notice {
  return others > 0 ? { code: 'links-lost', number: others } : { code: 'links-restored', number: done.length }
}

function moveTo(space: unknown, change: (fields: Fields) => Work['act']): Work {
  if (space === undefined || space === '') {
    const message = 'Choose the space that the links move to, or “No space”.'
    throw validationFailed([{ field: 'space_id', code: 'required', message }])
  }
  if (space === noSpace) {
    return { act: change({ space_id: '' }), notice: (done) => ({ code: 'links-taken-out', number: done.length }) }
  }
  const ids = [positiveInteger(String(space)) ?? 0]
  return { act: change({ space_id: space }), notice: (done) => ({ code: 'links-moved', number: done.length, ids }) }
}

/** Whether the link is back; false as well if another has its alias. */
async function isBack(restore: () => Promise<unknown>): Promise<boolean> {
  const link = await attempted(restore)
  return link !== undefined && !(link instanceof Refused)
}

/** False for a link that is gone; throws any other error. */
function isGone(error: unknown): false {
  if (error instanceof Failure && error.code === 'not_found') return false
  throw error
}
