import { type Html, html } from '../../http/html.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

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

/** Where a link leads: the host and the end of the path, at most `length` signs, with the whole URL behind them. */
export function targetOf(url: string, length = 36): Html {
  const { host, rest } = partsOf(url)
  const shownHost = cutInMiddle(host, Math.floor(length * 0.7))
  const before = [...graphemes.segment(shownHost)].length + 1
  const ends = cut(shownHost + rest, before, length - before - 1)
  const [start, end] = ends === null ? [shownHost, rest] : [`${ends[0]}…`, ends[1]]
  // Each from left to right by itself, since no sign of a path in another script may move before the cut.
  return html`<span class="target" title="${url}"><bdi dir="ltr">${start}</bdi><bdi dir="ltr">${end}</bdi></span>`
}

/** Without scheme, user and a bare slash; the escapes of the path in words. */
function partsOf(url: string): { readonly host: string; readonly rest: string } {
  const parsed = URL.parse(url)
  if (parsed === null) return { host: '', rest: url }
  const rest = `${parsed.pathname.replace(/^\/$/, '')}${parsed.search}`
  try {
    return { host: parsed.host, rest: decodeURI(rest) }
  } catch {
    return { host: parsed.host, rest }
  }
}
