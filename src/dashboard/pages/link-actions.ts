/** What is done to links from their list: to one, or to all that are selected. */
import { Failure, found, notFound } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { html } from '../../http/html.ts'
import type { LinkActions } from '../../links/actions.ts'
import { findLink } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { attempted, Refused } from '../form-state.ts'
import { nextOf } from '../next.ts'
import type { Notice } from '../notices.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { confirmation } from '../parts/confirm.ts'
import { counted } from '../parts/number.ts'
import { shortUrlText } from '../parts/short-url.ts'

const home = '/app/links'

export interface LinkPageParts {
  readonly storage: Storage
  readonly actions: LinkActions
  readonly shortUrl: ShortUrl
  /** Forgets the clicks of the account's link; false if there is no such link. */
  readonly forget: (account: number, link: number) => Promise<boolean>
}

/** The forms that `/app/links` sends. */
export function linkActionPages(pages: Pages, parts: LinkPageParts): void {
  const { storage, actions, shortUrl, forget } = parts
  for (const [name, disabled, code] of switches) {
    pages.act(`${home}/:id/${name}`, async (asked) => {
      await actions.change(asked.account, idOf(asked, 'link'), { disabled }, null)
      return new Next(listOf(asked), { code, number: 1 })
    })
  }

  pages.show(`${home}/:id/delete`, async (asked) => {
    const { record } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return deletePage(record.id, shortUrlText(shortUrl(record.domain_name ?? '', record.alias)), record.clicks)
  })

  pages.act(`${home}/:id/delete`, async (asked) => {
    const id = idOf(asked, 'link')
    await actions.removeForNow(asked.account, id, null)
    return new Next(home, { code: 'link-deleted', number: id })
  })

  pages.act(`${home}/:id/restore`, async (asked) => {
    const id = idOf(asked, 'link')
    const link = await attempted(() => actions.restore(asked.account, id))
    if (link instanceof Refused) return new Next(home, { code: 'alias-taken' })
    return link === undefined
      ? new Next(home, { code: 'too-late' })
      : new Next(`${home}/${id}`, { code: 'link-restored' })
  })

  pages.show(`${home}/:id/forget`, async (asked) => {
    const { record } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return forgetPage(record.id, shortUrlText(shortUrl(record.domain_name ?? '', record.alias)), record.clicks)
  })

  pages.act(`${home}/:id/forget`, async (asked) => {
    const id = idOf(asked, 'link')
    if (!(await forget(asked.account, id))) throw notFound('link')
    return new Next(`${home}/${id}`, { code: 'clicks-forgotten' })
  })

  // Where a choice of colours leads back to from the question whether to delete them.
  pages.show(`${home}/selected`, async () => new Next(home))

  pages.act(`${home}/selected`, async (asked) => {
    const ids = selectedIn(asked.fields)
    const list = listOf(asked)
    if (ids.length === 0) return new Next(list)
    if (asked.fields.what === 'delete' && asked.fields.confirmed !== 'true') return deleteManyPage(ids, list)
    return new Next(list, await doneTo(ids, asked, actions))
  })
}

const switches = [
  ['enable', 'false', 'links-enabled'],
  ['disable', 'true', 'links-disabled'],
] as const

/** The page of one link. */
const ofOne = /^\/app\/links\/\d+$/

/** The list that the form was sent from, in the state that it was in; or the page of a link. */
function listOf({ fields }: Asked): string {
  const next = nextOf(fields.next)
  return next.startsWith(`${home}?`) || ofOne.test(next) ? next : home
}

/** The links whose boxes are checked. */
function selectedIn(fields: Fields): number[] {
  return Object.keys(fields).flatMap((name) => /^row-([1-9]\d{0,15})$/.exec(name)?.slice(1).map(Number) ?? [])
}

/** Does what the pressed button says, to each; those that are gone meanwhile are left out of the count. */
async function doneTo(ids: readonly number[], { account, fields }: Asked, actions: LinkActions): Promise<Notice> {
  const [code, act] = workOf(fields, account, actions)
  let number = 0
  for (const id of ids) {
    const isDone = await act(id).then(() => true, isGone)
    if (isDone) number += 1
  }
  return { code, number }
}

type Work = readonly [code: Notice['code'], act: (id: number) => Promise<unknown>]

function workOf({ what, space_id }: Fields, account: number, actions: LinkActions): Work {
  const change = (fields: Fields) => (id: number) => actions.change(account, id, fields, null)
  switch (what) {
    case 'enable':
      return ['links-enabled', change({ disabled: 'false' })]
    case 'disable':
      return ['links-disabled', change({ disabled: 'true' })]
    case 'move':
      return ['links-moved', change({ space_id: space_id ?? '' })]
    case 'delete':
      return ['links-deleted', (id) => actions.remove(account, id, null)]
    default:
      throw new Failure(
        'malformed_body',
        'The form does not say what to do. Open the list of links, and try again there.',
      )
  }
}

/** False for a link that is gone; throws any other error. */
function isGone(error: unknown): false {
  if (error instanceof Failure && error.code === 'not_found') return false
  throw error
}

function deletePage(id: number, shortUrl: string, clicks: number): Shown {
  const counts = clicks === 0 ? 'No one has followed it yet.' : `It has been followed ${counted(clicks, 'time')}.`
  const body = confirmation({
    action: `${home}/${id}/delete`,
    consequences: [`Visitors will see a 404 at once. ${counts}`, 'You can undo this for a minute.'],
    verb: html`Delete ${shortUrl}`,
    cancel: `${home}/${id}`,
  })
  return { title: `Delete ${shortUrl}?`, place: 'links', body }
}

function forgetPage(id: number, shortUrl: string, clicks: number): Shown {
  const body = confirmation({
    action: `${home}/${id}/forget`,
    consequences: [
      `This deletes its ${counted(clicks, 'click')} and its statistics for good, and takes them out of the totals of its domain and its space.`,
    ],
    verb: 'Delete the statistics',
    cancel: `${home}/${id}`,
  })
  return { title: `Delete the statistics of ${shortUrl}?`, place: 'links', body }
}

function deleteManyPage(ids: readonly number[], list: string): Shown {
  const links = counted(ids.length, 'link')
  const body = confirmation({
    action: `${home}/selected`,
    consequences: ['Visitors will see a 404 at once. This cannot be undone.'],
    verb: `Delete ${links}`,
    cancel: list,
    fields: {
      what: 'delete',
      confirmed: 'true',
      next: list,
      ...Object.fromEntries(ids.map((id) => [`row-${id}`, 'on'])),
    },
  })
  return { title: `Delete ${links}?`, place: 'links', body }
}
