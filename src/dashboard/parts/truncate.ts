import { type Html, html } from '../../http/html.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The text with its middle left out when it has more signs than `length`; both ends stay. No sign is cut in two. */
export function cutInMiddle(text: string, length: number): string {
  const signs = Array.from(graphemes.segment(text), ({ segment }) => segment)
  if (signs.length <= length) return text
  const end = Math.floor((length - 1) / 2)
  return `${signs.slice(0, length - 1 - end).join('')}…${signs.slice(-end).join('')}`
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
