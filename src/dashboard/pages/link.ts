/** One link: what is known of it, its QR code, and its statistics. */

import { findDomain } from '../../domains/store.ts'
import { found, notFound } from '../../errors.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { LinkActions } from '../../links/actions.ts'
import { sendQr } from '../../links/qr-route.ts'
import type { Link } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import type { LinkRow } from '../../links/statements.ts'
import { findLink } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import type { Space } from '../../spaces/schema.ts'
import { findSpace } from '../../spaces/store.ts'
import type { Storage } from '../../storage/port.ts'
import { attempted, Refused } from '../form-state.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { copyButton, hiddenFields, linkButton, postButton, submitButton } from '../parts/buttons.ts'
import { counted, exactTimeOf, timeAgo } from '../parts/format.ts'
import { cutInMiddle, shortUrlParts, shortUrlText, spaceName, stateBadge, targetOf } from '../parts/links.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'
import { selectedRows } from '../parts/table.ts'
import { linkListOf, linkPlaceOf } from '../return-path.ts'
import {
  allBreakdowns,
  breakdownBars,
  clicksOverTime,
  hasVisits,
  noClicksYet,
  periodOf,
  sendClicks,
} from '../statistics.ts'

const home = '/app/links'

/** `/app/links/{id}`, and the files of the link. */
export function linkPage(pages: Pages, { storage, shortUrl }: Pick<LinkPageParts, 'storage' | 'shortUrl'>): void {
  pages.show(`${home}/:id`, async (asked) => {
    const { account, query } = asked
    const link = await linkAsked(asked)
    const reading = periodOf(query)
    const path = `${home}/${link.id}`
    const subject = { scope: 'link', id: link.id } as const
    const of = { db: storage, account, subject, reading, path }
    const isRefused = reading.violations.length > 0
    // A refused period is said above the figures.
    const isQuiet = !isRefused && link.clicks === 0 && !(await hasVisits(of))
    const [space, stats] = await Promise.all([
      link.space_id === null ? undefined : findSpace(storage, account, link.space_id),
      isQuiet ? null : Promise.all([clicksOverTime(of), breakdownBars(of, allBreakdowns)]),
    ])
    const body = html`${identityOf(link, space?.record, `${path}/qr`)}
${clicksOf(link, stats)}
${removals(link, stats !== null)}`
    const status = isRefused ? 422 : 200
    return { ...namesOf(link), place: 'links', action: headActions(link), body, status }
  })

  pages.serve(`${home}/:id/clicks.csv`, async (asked) => {
    const { id, alias } = await linkAsked(asked)
    return sendClicks(asked, storage, { scope: 'link', id }, `${alias}-clicks.csv`)
  })

  pages.serve(`${home}/:id/qr`, async (asked) => {
    const { alias: name, short_url: address } = await linkAsked(asked)
    const { download, ...query } = asked.query
    const disposition = download === undefined ? 'inline' : 'attachment'
    const headers = { 'cache-control': 'no-store' }
    return sendQr(asked.exchange, { name, shortUrl: address, query, disposition, headers }, null)
  })

  async function linkAsked(asked: Asked): Promise<Link> {
    const { record } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return linkOf(record, shortUrl)
  }
}

function clicksOf(link: Link, stats: readonly Html[] | null): Html {
  if (stats === null) {
    return html`<section id="clicks" data-refresh><h2>Clicks</h2>${noClicksYet(link)}</section>`
  }
  return html`<section id="clicks" data-arrived="${link.clicks > 0 ? 'The first click is here' : 'A bot or a link preview was here first'}"><h2>Clicks</h2>${stats}</section>`
}

/** What can be destroyed; the questions say what then happens. */
function removals({ id }: Link, hasStatistics: boolean): Html {
  const path = `${home}/${id}`
  const forget = html`<div><p>Its clicks go back to 0. The link goes on working.</p>${confirmLink('Delete the statistics', `${path}/forget`)}</div>`
  return html`<section id="delete"><h2>Delete</h2><div class="removals">${hasStatistics ? forget : null}
<div>${confirmLink('Delete the link', `${path}/delete`)}</div></div></section>`
}

/** Signs of the target. */
const shownUrl = 160

/** What the page is called: in lists of windows, and on itself. */
export function namesOf({ short_url, status }: Pick<Link, 'short_url' | 'status'>): {
  readonly title: string
  readonly heading: Html
} {
  const { host, path } = shortUrlParts(short_url)
  // A phone breaks it after the host.
  return {
    title: `${path} on ${host}`,
    heading: html`<bdi class="short-url" dir="ltr">${host}/<wbr>${path.slice(1)}</bdi> ${stateBadge(status)}`,
  }
}

/** What is done with the link: it is copied, opened, edited, and switched off or on. */
export function headActions({ id, short_url, disabled }: Link): Html {
  const path = `/app/links/${id}`
  const [label, action] = disabled ? ['Enable', 'enable'] : ['Disable', 'disable']
  return html`<div class="actions">${copyButton(short_url, 'the short link', 'Copy')}
${linkButton({ label: 'Open', href: short_url, inNewTab: true })}
${linkButton({ label: 'Edit', href: `${path}/edit`, weight: 'primary', icon: 'edit' })}
${postButton({ label, action: `${path}/${action}`, fields: { next: path } })}</div>`
}

/** The facts of the link beside its QR code, whose pictures are at `path`. */
export function identityOf(link: Link, space: Space | undefined, path: string): Html {
  return html`<div class="identity"><dl id="facts" class="facts" data-with="clicks">${factsOf(link, space).map(
    ([label, fact]) => html`<dt>${label}</dt><dd>${fact}</dd>`,
  )}</dl>${code(link, path)}</div>`
}

/** Those that are set. */
function factsOf(link: Link, space: Space | undefined): (readonly [label: string, fact: Part])[] {
  const now = Date.now()
  const { url, title, active_period_start_at: start, active_period_end_at: end, clicks_limit } = link
  const all: readonly (readonly [label: string, fact: Part | null])[] = [
    ['Leads to', html`<a href="${url}" title="${url}" rel="noreferrer"><bdi>${cutInMiddle(url, shownUrl)}</bdi></a>`],
    ['Title', title && html`<bdi>${title}</bdi>`],
    ['Space', space ? html`<a href="/app/links?space_id=${space.id}">${spaceName(space)}</a>` : null],
    [start !== null && Date.parse(start) > now ? 'Starts working on' : 'Worked from', start && exactTimeOf(start)],
    [end !== null && Date.parse(end) < now ? 'Stopped working on' : 'Stops working on', end && exactTimeOf(end)],
    ['Clicks until it expires', clicks_limit === null ? null : String(clicks_limit)],
    ['Password', link.has_redirect_password ? 'Visitors have to enter it first.' : null],
    ['Created', timeAgo(link.created_at, now)],
    ['Last click', link.last_clicked_at === null ? 'never' : timeAgo(link.last_clicked_at, now)],
  ]
  return all.flatMap(([label, fact]) => (fact === null ? [] : [[label, fact] as const]))
}

/** The picture of the QR code at `path`. */
export function codePicture(shortUrl: string, path: string): Html {
  return html`<img src="${path}?format=svg&amp;size=512" width="160" height="160" alt="QR code of ${shortUrl}">`
}

function code({ short_url }: Link, path: string): Html {
  return html`<section id="qr" class="qr">${codePicture(short_url, path)}
<div class="stack"><h2>QR code</h2><p><code>${short_url}</code></p>
<a class="button plain" href="${path}?format=svg&amp;size=1024&amp;download=1">Download SVG</a>
<form method="get" action="${path}" class="actions">${hiddenFields({ format: 'png', download: '1' })}${submitButton({ label: 'Download PNG', weight: 'plain' })}<label for="qr-size" class="hidden-text">Pixels</label>
<select id="qr-size" name="size"><option value="256">256 px</option><option value="512" selected>512 px</option><option value="1024">1024 px</option><option value="2048">2048 px</option></select></form></div></section>`
}

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
