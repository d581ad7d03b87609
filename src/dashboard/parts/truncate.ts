import { type Html, html } from '../../http/html.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Each of its characters is a sign, which need not be looked for: a list has a hundred of such texts. */
const isPlain = /^[ -~]*$/

/** The text with its middle left out when it has more signs than `length`; both ends stay. No sign is cut in two. */
export function cutInMiddle(text: string, length: number): string {
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
export function targetOf(url: string, length = 36): Html {
  const { host, path, query } = partsOf(shortened(url))
  const shownHost = cutInMiddle(host, Math.floor(length * 0.7))
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
function partsOf(url: string): { readonly host: string; readonly path: string; readonly query: string } {
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
