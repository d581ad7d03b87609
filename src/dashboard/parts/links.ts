import { dayMs, recentDays } from '../../accounts/calendar.ts'
import { colors } from '../../forms/rules.ts'
import { type IconName, icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { capitalize, formatCount, quantity } from '../../lib/format.ts'
import { endingDays, type Lifetime, type Status } from '../../links/link.ts'
import { decodeShortUrl, decodeUrl } from '../../names/short-url.ts'
import { isWebUrl } from '../../names/web-url.ts'
import { spaceLabels } from '../../spaces/schema.ts'
import { countedMatches } from '../../storage/port.ts'
import type { Tag } from '../../tags/schema.ts'
import { copyButton } from './buttons.ts'
import { type FormState, radioGroup } from './fields.ts'
import { timeAgo } from './format.ts'

/** The maximum length of a host. */
const maxHost = 48

/**
 * Renders a short link to `href`, with a button that copies its encoded form. In a narrow place, the page truncates the
 * host and wraps the path.
 */
export function shortUrlLink(shortUrl: string, href: string, className = 'short-url'): Html {
  const { host, path } = shortUrlParts(shortUrl)
  // Screen readers would otherwise pause between the host and the path.
  const link = html`<a class="${className}" href="${href}" aria-label="${host}${path}"><bdi dir="ltr"><span class="host">${host}</span><span class="path">${path}</span></bdi></a>`
  return html`<span class="short">${link}${copyButton(shortUrl, 'the short link')}</span>`
}

/** Formats a short link in at most 60 characters: "bücher.example/été". */
export function shortUrlText(shortUrl: string): string {
  const { host, path } = decodeShortUrl(shortUrl)
  return truncateMiddle(host + path, 60)
}

/** Returns the decoded host in at most 48 characters, and the whole decoded path with its slash. */
export function shortUrlParts(shortUrl: string) {
  const { host, path } = decodeShortUrl(shortUrl)
  return { host: truncateHost(host), path }
}

export function truncateHost(host: string): string {
  return truncateMiddle(host, maxHost)
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Characters as people count them: an emoji or an accented letter is one. */
function charactersOf(text: string): string[] {
  return /^[ -~]*$/.test(text) ? text.split('') : Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/**
 * Truncates text to `length` characters, of which `tail` are its last ones. The result has at most eight UTF-16 code units
 * for each of them, because a single character may have thousands.
 */
export function truncateMiddle(text: string, length: number, tail = Math.floor((length - 1) / 2)): string {
  if (text.length <= length) return text
  const isLong = text.length > 8 * length
  const start = charactersOf(isLong ? text.slice(0, 4 * length) : text)
  if (!isLong && start.length <= length) return text
  const end = isLong ? charactersOf(text.slice(-4 * length)) : start
  return `${start.slice(0, length - 1 - tail).join('')}…${end.slice(end.length - tail).join('')}`.toWellFormed()
}

/** UTF-16 code units of a URL in a `title`, because a list may have 100 long URLs. */
const maxTitle = 160

/** Renders a destination in at most `length` characters: the host, the path or its end, and what fits of the query. */
export function destination(url: string, length = 36): Html {
  const { host, path, query } = urlParts(url)
  const shownHost = truncateMiddle(host, Math.floor(length * 0.7))
  const rest = length - charactersOf(shownHost).length
  const isCut = truncateMiddle(path, rest) !== path
  const cut = shownHost.endsWith(':') ? '…' : '/…'
  const start = isCut ? shownHost + cut : shownHost
  const end = isCut ? truncateMiddle(path, rest - 1, rest - 2).slice(1) : truncateMiddle(path + query, rest, 0)
  const title = url.length > maxTitle ? `${url.slice(0, maxTitle - 1).toWellFormed()}…` : url
  // Each part has its own direction, so that no right-to-left path moves before the ellipsis.
  return html`<span class="target" title="${title}"><bdi dir="ltr">${start}</bdi><bdi dir="ltr">${end}</bdi></span>`
}

/** Parts of a URL with more characters may have line breaks inside. */
const longPart = 32

/**
 * Renders a URL that can break after a path segment or a parameter, so that `utm_source=news` stays on one line. Long
 * parts also break between words.
 */
export function breakableUrl(url: string): Html {
  const parts = url.split(/(?<=[/?&#;,])/)
  const words = parts.flatMap((part) => (part.length > longPart ? part.split(/(?<=[=.:_~+-]|%20)/) : part))
  return html`${words.map((word, at) => html`${at > 0 && !/^[/?&]$/.test(word) ? html`<wbr>` : null}${word}`)}`
}

/** Returns the decoded parts of a URL, without http or https, user and a bare slash. */
function urlParts(url: string) {
  const parsed = URL.parse(url)
  if (parsed === null) return { host: '', path: url, query: '' }
  // Without the scheme, an address or a number would not tell what it opens.
  const host = isWebUrl(url) ? parsed.host : parsed.protocol + (parsed.host === '' ? '' : `//${parsed.host}`)
  return { host, path: decodeUrl(parsed.pathname.replace(/^\/$/, '')), query: decodeUrl(parsed.search) }
}

interface LinkState extends Pick<Lifetime, 'active_period_start_at' | 'active_period_end_at' | 'clicks_limit'> {
  readonly status: Status
}

/** Renders the status of a link with its reason. Returns null for an active link that does not end soon. */
export function statusBadge(link: LinkState, now: number): Html | null {
  const { status, active_period_start_at: start, active_period_end_at: end } = link
  const limit = formatCount(link.clicks_limit ?? 0)
  const badge = (name: IconName, words: Part) =>
    html`<span class="state ${status}">${icon(name)}<span>${words}</span></span>`
  const endsIn = end === null ? Number.POSITIVE_INFINITY : Date.parse(end) - now
  switch (status) {
    case 'disabled':
      return badge('off', 'Disabled')
    case 'scheduled':
      return badge('clock', html`Starts ${timeAgo(start ?? now, now)}`)
    case 'expired':
      if (end !== null && endsIn <= 0) return badge('warning', html`Expired ${timeAgo(end, now)}`)
      return badge('warning', `Used up, ${limit} of ${limit}`)
    case 'active':
      return end !== null && endsIn < endingDays * dayMs ? badge('clock', html`Ends ${timeAgo(end, now)}`) : null
  }
}

export function spaceLabel(space: { readonly name: string; readonly color: number }): Html {
  return html`<span class="space">${dot(space.color)}<bdi>${space.name}</bdi></span>`
}

/** Renders tags, each as a link to its links. */
export function tagList(tags: readonly Tag[]): Html {
  return html`<span class="tags">${tags.map((tag) => html`<a href="/app/links?tag_id=${tag.id}&amp;archived=any">${spaceLabel(tag)}</a> `)}</span>`
}

/** Renders the choice of one of the six colors. */
export function colorChoice(state: FormState): Html {
  const options = colors.map((word, index) => ({
    value: String(index + 1),
    label: html`${dot(index + 1)}${capitalize(word)}`,
  }))
  return radioGroup(state, { name: 'color', label: spaceLabels.color, options })
}

function dot(color: number): Html {
  return html`<span class="dot dot-${color}"></span>`
}

/** Renders the clicks in the last 30 days, with words where no column header names them. */
export function recentClickCount(clicks: number): Html {
  const words = ` ${clicks === 1 ? 'click' : 'clicks'} in ${recentDays} days`
  return html`${formatCount(clicks)}<span class="in-block">${words}</span>`
}

/** Renders the number of links from `countLinksIn` as a link to the list. */
export function linkCount(filter: string, links: number): Html {
  const words = links > countedMatches ? `More than ${quantity(countedMatches, 'link')}` : quantity(links, 'link')
  return html`<a href="/app/links?${filter}&amp;archived=any">${words}</a>`
}

/** Renders the QR code of a short link, which `path` sends. */
export function qrImage(shortUrl: string, path: string): Html {
  return html`<img src="${path}?format=svg&amp;size=512" width="160" height="160" alt="QR code for ${shortUrl}">`
}
