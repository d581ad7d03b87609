/** What a link's page begins with: what is known of the link, and its QR code. */
import { type Html, html, type Part } from '../../http/html.ts'
import type { Link } from '../../links/schema.ts'
import type { Space } from '../../spaces/schema.ts'
import { copyButton, hiddenFields, linkButton, postButton, submitButton } from '../parts/buttons.ts'
import { shortUrlParts } from '../parts/short-url.ts'
import { spaceName } from '../parts/space.ts'
import { stateBadge } from '../parts/state.ts'
import { exactTimeOf, timeAgo } from '../parts/time.ts'
import { cutInMiddle } from '../parts/truncate.ts'

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
