/** The question before links are deleted, and what their visitors will find. */
import { findDomain } from '../../domains/store.ts'
import type { Part } from '../../http/html.ts'
import { html } from '../../http/html.ts'
import { linkOf } from '../../links/shown.ts'
import type { LinkRow } from '../../links/statements.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Storage } from '../../storage/port.ts'
import type { Shown } from '../pages.ts'
import { confirmation } from '../parts/confirm.ts'
import { counted } from '../parts/number.ts'
import { selectedRows } from '../parts/selection.ts'
import { shortUrlText } from '../parts/short-url.ts'
import { targetOf } from '../parts/truncate.ts'

const home = '/app/links'
/** Links that the question names when there are many. */
const namedLinks = 5
const undoable = 'You can undo this for a minute.'

interface Doomed {
  readonly storage: Storage
  readonly account: number
  readonly shortUrl: ShortUrl
}

/** Asks whether to delete the link. `next`: the list that it was asked from; null on the link's own page. */
export async function deletePage(of: Doomed, link: LinkRow, next: string | null): Promise<Shown> {
  const shortUrl = textOf(of, link)
  const counts =
    link.clicks === 0 ? 'No one has followed it yet.' : `It has been followed ${counted(link.clicks, 'time')}.`
  const body = confirmation({
    action: `${home}/${link.id}/delete`,
    consequences: [html`${await afterwards(of, [link])} ${counts}`, undoable],
    verb: html`Delete ${shortUrl}`,
    cancel: next ?? `${home}/${link.id}`,
    ...(next !== null && { fields: { next } }),
  })
  return { title: `Delete ${shortUrl}?`, place: 'links', body }
}

/** Asks whether to delete all of these, of whom it names those that are followed most. */
export async function deleteManyPage(of: Doomed, links: readonly LinkRow[], next: string): Promise<Shown> {
  const counts = counted(links.length, 'link')
  const named = links.toSorted((one, other) => other.clicks - one.clicks).slice(0, namedLinks)
  const things: Part[] = named.map((link) => html`<bdi>${textOf(of, link)}</bdi>: ${counted(link.clicks, 'click')}`)
  if (links.length > namedLinks) things.push(`and ${links.length - namedLinks} more`)
  const body = confirmation({
    action: `${home}/selected`,
    things,
    consequences: [await afterwards(of, links), undoable],
    verb: `Delete ${counts}`,
    cancel: next,
    fields: { what: 'delete', confirmed: 'true', next, ...selectedRows(links.map(({ id }) => id)) },
  })
  return { title: `Delete ${counts}?`, place: 'links', body }
}

function textOf({ shortUrl }: Doomed, link: LinkRow): string {
  return shortUrlText(linkOf(link, shortUrl).short_url)
}

/** What visitors of the links find: the address that a domain has for unknown links, or a 404. */
async function afterwards({ storage, account }: Doomed, links: readonly LinkRow[]): Promise<Part> {
  const domains = [...new Set(links.map(({ domain_id }) => domain_id))]
  const found = await Promise.all(domains.map((id) => findDomain(storage, account, id)))
  const [address = null, ...others] = new Set(found.map((domain) => domain?.record.not_found_url ?? null))
  if (others.length > 0) return 'Visitors will see a 404 at once, or the page that the domain has for unknown links.'
  if (address === null) return 'Visitors will see a 404 at once.'
  return html`Visitors will be led to ${targetOf(address)} at once.`
}
