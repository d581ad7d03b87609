import { domainToUnicode } from 'node:url'
import { type Html, html } from '../../http/html.ts'
import { maxCountedLinks } from '../../links/store.ts'
import { colors } from '../../spaces/space.ts'
import { copyButton } from './buttons.ts'
import { type Field, radioGroup } from './fields.ts'
import { formatCount, quantity } from './format.ts'
import { type IconName, icon } from './icons.ts'

export interface ShortUrlLink {
  readonly shortUrl: string
  /** Leads there instead of to the short link itself. */
  readonly href?: string
  /** Whether the whole row of a table is the target. */
  readonly coversRow?: boolean
}

/** Signs of a host or of a path. */
const shownPart = 48

/**
 * A short link in people's words, and the button that copies it whole, as it is sent. Where there is no room, the host gives way
 * before the path.
 */
export function shortUrlLink({ shortUrl, href = shortUrl, coversRow = false }: ShortUrlLink): Html {
  const className = coversRow ? 'short-url cover' : 'short-url'
  const { host, path } = shortUrlParts(shortUrl)
  // With a name of its own, since parts in boxes are read with a pause between them.
  const link = html`<a class="${className}" href="${href}" aria-label="${host}${path}"><bdi dir="ltr"><span class="host">${host}</span><span class="path">${path}</span></bdi></a>`
  return html`<span class="short">${link}${copyButton(shortUrl, 'the short link')}</span>`
}

/** "bücher.example/été": the short link in words, at most 60 signs of it. */
export function shortUrlText(shortUrl: string): string {
  const { host, path } = partsOf(shortUrl)
  return truncateMiddle(host + path, 60)
}

/** Host and path in words, at most 48 signs of each. The path begins with its slash. */
export function shortUrlParts(shortUrl: string): { readonly host: string; readonly path: string } {
  const { host, path } = partsOf(shortUrl)
  return { host: truncateMiddle(host, shownPart), path: truncateMiddle(path, shownPart) }
}

/** Host and path, each in its own script. */
function partsOf(shortUrl: string): { readonly host: string; readonly path: string } {
  const [, name = '', port = '', path = ''] = /^(?:https?:\/\/)?([^/:]*)(:\d+)?(.*)$/s.exec(shortUrl) ?? []
  return { host: (domainToUnicode(name) || name) + port, path: decoded(path) }
}

function decoded(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Each of its characters is a sign, which need not be looked for: a list has a hundred of such texts. */
const isPlain = /^[ -~]*$/

/** The text with its middle left out when it has more signs than `length`; both ends stay. No sign is cut in two. */
export function truncateMiddle(text: string, length: number): string {
  const behind = Math.floor((length - 1) / 2)
  return cut(text, length - 1 - behind, behind)?.join('…') ?? text
}

/**
 * The first and the last signs of a text that has more than those and one. Only the ends are read: a target may have kilobytes,
 * and a list a hundred of them.
 */
function cut(text: string, before: number, behind: number): readonly [head: string, tail: string] | null {
  if (isPlain.test(text)) {
    const isShort = text.length <= before + 1 + behind
    return isShort ? null : [text.slice(0, before), text.slice(text.length - behind)]
  }
  const segments = graphemes.segment(text)
  let [read, head, tail] = [0, 0, text.length]
  for (let signs = 1; signs <= before + 1 + behind; signs++) {
    const sign = segments.containing(read)
    if (sign === undefined) return null
    read += sign.segment.length
    if (signs === before) head = read
  }
  if (read === text.length) return null
  for (let signs = 0; signs < behind; signs++) tail = segments.containing(tail - 1)?.index ?? 0
  return [text.slice(0, head), text.slice(tail)]
}

/** Characters of a URL that a `title` has at most: a list of 100 long ones would otherwise be a page of megabytes. */
const maxTitle = 300
/** Characters of a path and of a query that are read: a sign may be many, but no reader needs more. */
const maxRead = 1_000

/**
 * Renders a destination in at most `length` characters, with more of the URL in the `title`: the host and the path, and as
 * much of the query as fits. A long path keeps its end.
 */
export function destination(url: string, length = 36): Html {
  const { host, path, query } = urlParts(shortened(url))
  const shownHost = truncateMiddle(host, Math.floor(length * 0.7))
  const before = signsIn(shownHost) + 1
  const ends = cut(shownHost + path, before, length - before - 1)
  const [start, end] =
    ends === null ? [shownHost, cutAtEnd(path + query, length - before + 1)] : [`${ends[0]}…`, ends[1]]
  const title = url.length > maxTitle ? `${url.slice(0, maxTitle - 1).toWellFormed()}…` : url
  // Each from left to right by itself, since no sign of a path in another script may move before the cut.
  return html`<span class="target" title="${title}"><bdi dir="ltr">${start}</bdi><bdi dir="ltr">${end}</bdi></span>`
}

/** The URL with only the end of a long path, and only the beginning of a long query. The host is unchanged. */
function shortened(url: string): string {
  if (url.length <= maxRead) return url
  const [, origin = '', path = '', query = ''] = /^([^/]*\/\/[^/?#]*)([^?#]*)([^#]*)/s.exec(url) ?? ['', '', url]
  const end = path.length > maxRead ? `/${path.slice(-maxRead).replace(brokenStart, '')}` : path
  return origin + end + query.slice(0, maxRead).replace(brokenEnd, '')
}

/** The rest of an escaped character whose beginning is missing, and the beginning of one whose rest is. */
const brokenStart = /^[0-9a-f]{0,2}(?:%[89ab][0-9a-f])*/i
const brokenEnd = /(?:%[c-f][0-9a-f](?:%[89ab][0-9a-f])*)?(?:%[0-9a-f]?)?$/i

function signsIn(text: string): number {
  return isPlain.test(text) ? text.length : [...graphemes.segment(text)].length
}

function cutAtEnd(text: string, length: number): string {
  const ends = cut(text, length - 1, 0)
  return ends === null ? text : `${ends[0]}…`
}

/** Without scheme, user and a bare slash; escapes in words. */
function urlParts(url: string): { readonly host: string; readonly path: string; readonly query: string } {
  const parsed = URL.parse(url)
  if (parsed === null) return { host: '', path: url, query: '' }
  return { host: parsed.host, path: inWords(parsed.pathname.replace(/^\/$/, '')), query: inWords(parsed.search) }
}

function inWords(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}

const states: Readonly<Record<string, readonly [word: string, icon: IconName]>> = {
  disabled: ['Disabled', 'off'],
  scheduled: ['Scheduled', 'clock'],
  expired: ['Expired', 'warning'],
}

/** What a link is when it does not simply work; nothing for an active one. */
export function statusBadge(status: string): Html {
  const state = states[status]
  if (state === undefined) return html``
  const [word, name] = state
  return html`<span class="state ${status}">${icon(name)}${word}</span>`
}

/** A space: the dot of its colour and its name. */
export function spaceLabel(space: { readonly name: string; readonly color: number }): Html {
  return html`<span class="space">${dot(space.color)}<bdi>${space.name}</bdi></span>`
}

/** The choice of a space's colour, each a dot and a word. */
export function colorField(field: Omit<Field, 'label'>): Html {
  const options = colors.map((word, index) => ({
    value: String(index + 1),
    label: html`${dot(index + 1)}${word.replace(/^./, (letter) => letter.toUpperCase())}`,
  }))
  return radioGroup({ ...field, label: 'Colour', options })
}

function dot(color: number): Html {
  return html`<span class="dot dot-${color}"></span>`
}

/** How many links there are, counted up to `maxCountedLinks`, leading to their list with this filter. */
export function linkCount(filter: string, links: number): Html {
  const words =
    links < maxCountedLinks ? quantity(links, 'link') : `More than ${formatCount(maxCountedLinks - 1)} links`
  return html`<a href="/app/links?${filter}">${words}</a>`
}
