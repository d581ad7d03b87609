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

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Characters as people count them: an emoji or an accented letter is one. */
function charactersOf(text: string): string[] {
  return /^[ -~]*$/.test(text) ? text.split('') : Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Shortens a text to `length` characters by leaving out its middle. */
export function truncateMiddle(text: string, length: number): string {
  const characters = charactersOf(text)
  if (characters.length <= length) return text
  const tail = Math.floor((length - 1) / 2)
  return `${characters.slice(0, length - 1 - tail).join('')}…${characters.slice(characters.length - tail).join('')}`
}

function truncateEnd(text: string, length: number): string {
  const characters = charactersOf(text)
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : text
}

/** UTF-16 code units of a URL in a `title`: a list of 100 long URLs would otherwise make a page of megabytes. */
const maxTitle = 300
/** UTF-16 code units of a path and of a query that are split into characters. */
const maxRead = 1_000

/**
 * Renders a destination in at most `length` characters, with more of the URL in the `title`: the host and the path, and as
 * much of the query as fits. A long path keeps its end.
 */
export function destination(url: string, length = 36): Html {
  const { host, path, query } = urlParts(url)
  const shownHost = truncateMiddle(host, Math.floor(length * 0.7))
  const rest = length - charactersOf(shownHost).length
  const pathEnd = charactersOf(path.slice(-maxRead))
  const isLong = pathEnd.length > rest
  const start = isLong ? `${shownHost}/…` : shownHost
  const end = isLong ? pathEnd.slice(2 - rest).join('') : truncateEnd(path + query.slice(0, maxRead), rest)
  const title = url.length > maxTitle ? `${url.slice(0, maxTitle - 1).toWellFormed()}…` : url
  // Each part has its own direction, so that no right-to-left path moves before the ellipsis.
  return html`<span class="target" title="${title}"><bdi dir="ltr">${start}</bdi><bdi dir="ltr">${end}</bdi></span>`
}

/** Returns the decoded parts of a URL, without scheme, user and a bare slash. */
function urlParts(url: string): { readonly host: string; readonly path: string; readonly query: string } {
  const parsed = URL.parse(url)
  if (parsed === null) return { host: '', path: url, query: '' }
  return { host: parsed.host, path: decoded(parsed.pathname.replace(/^\/$/, '')), query: decoded(parsed.search) }
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
