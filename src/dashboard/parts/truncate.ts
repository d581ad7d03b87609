import { type Html, html } from '../../http/html.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The text with its middle left out when it has more signs than `length`; both ends stay. No sign is cut in two. Only the ends
 * are read: a target may have kilobytes, and a list a hundred of them.
 */
export function cutInMiddle(text: string, length: number): string {
  const segments = graphemes.segment(text)
  const behind = Math.floor((length - 1) / 2)
  const before = length - 1 - behind
  let [read, head, tail] = [0, 0, text.length]
  for (let signs = 1; signs <= length; signs++) {
    const sign = segments.containing(read)
    if (sign === undefined) return text
    read += sign.segment.length
    if (signs === before) head = read
  }
  if (read === text.length) return text
  for (let signs = 0; signs < behind; signs++) tail = segments.containing(tail - 1)?.index ?? 0
  return `${text.slice(0, head)}…${text.slice(tail)}`
}

/** Where a link leads: host and path, cut in the middle, with the whole URL behind it. */
export function targetOf(url: string, length = 52): Html {
  return html`<span class="target" title="${url}"><bdi>${cutInMiddle(hostAndPath(url), length)}</bdi></span>`
}

/** Without scheme, user and a bare slash; the escapes of the path in words. */
function hostAndPath(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url
  const rest = `${parsed.pathname.replace(/^\/$/, '')}${parsed.search}`
  try {
    return parsed.host + decodeURI(rest)
  } catch {
    return parsed.host + rest
  }
}
