/** What is done to one link from its list or its page. */
import { found, notFound } from '../../errors.ts'
import type { LinkActions } from '../../links/actions.ts'
import { findLink } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import { attempted, Refused } from '../form-state.ts'
import { linkListOf, linkPlaceOf } from '../next.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { confirmation } from '../parts/confirm.ts'
import { counted } from '../parts/number.ts'
import { shortUrlText } from '../parts/short-url.ts'
import { deletePage } from './link-deletion.ts'

const home = '/app/links'

export interface LinkPageParts {
  readonly storage: Storage
  readonly actions: LinkActions
  readonly shortUrl: ShortUrl
  /** Forgets the clicks of the account's link; false if there is no such link. */
  readonly forget: (account: number, link: number) => Promise<boolean>
}

/** The forms that `/app/links/{id}` and its row in the list send. Each leads back to the list as it was, or to the page. */
export function linkActionPages(pages: Pages, parts: LinkPageParts): void {
  const { storage, actions, shortUrl, forget } = parts
  for (const [name, disabled, code] of switches) {
    pages.act(`${home}/:id/${name}`, async (asked) => {
      const id = idOf(asked, 'link')
      await actions.change(asked.account, id, { disabled }, null)
      return new Next(linkPlaceOf(asked.fields.next), { code, ids: [id] })
    })
  }

  pages.show(`${home}/:id/delete`, async (asked) => {
    const { account, query } = asked
    const next = query.next === undefined ? null : linkListOf(query.next)
    return deletePage({ storage, account, shortUrl }, await linkAsked(asked), next)
  })

  pages.act(`${home}/:id/delete`, async (asked) => {
    const id = idOf(asked, 'link')
    await actions.removeForNow(asked.account, id, null)
    return new Next(linkListOf(asked.fields.next), { code: 'link-deleted', ids: [id] })
  })

  pages.act(`${home}/:id/restore`, async (asked) => {
    const id = idOf(asked, 'link')
    const list = linkListOf(asked.fields.next)
    const link = await attempted(() => actions.restore(asked.account, id))
    if (link instanceof Refused) return new Next(list, { code: 'alias-taken' })
    return new Next(list, link === undefined ? { code: 'too-late' } : { code: 'link-restored', ids: [id] })
  })

  pages.show(`${home}/:id/forget`, async (asked) => {
    const { id, domain_name, alias, clicks } = await linkAsked(asked)
    return forgetPage(id, shortUrlText(shortUrl(domain_name ?? '', alias)), clicks)
  })

  pages.act(`${home}/:id/forget`, async (asked) => {
    const id = idOf(asked, 'link')
    if (!(await forget(asked.account, id))) throw notFound('link')
    return new Next(`${home}/${id}`, { code: 'clicks-forgotten' })
  })

  async function linkAsked(asked: Asked) {
    return found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link').record
  }
}

const switches = [
  ['enable', 'false', 'link-enabled'],
  ['disable', 'true', 'link-disabled'],
] as const

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
