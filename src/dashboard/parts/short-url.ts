import { domainToUnicode } from 'node:url'
import { type Html, html } from '../../http/html.ts'
import { copyButton } from './buttons.ts'
import { cutInMiddle } from './truncate.ts'

export interface ShortUrlShown {
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
export function shortUrlOf({ shortUrl, href = shortUrl, coversRow = false }: ShortUrlShown): Html {
  const className = coversRow ? 'short-url cover' : 'short-url'
  const { host, path } = shortUrlParts(shortUrl)
  // With a name of its own, since parts in boxes are read with a pause between them.
  const link = html`<a class="${className}" href="${href}" aria-label="${host}${path}"><bdi dir="ltr"><span class="host">${host}</span><span class="path">${path}</span></bdi></a>`
  return html`<span class="short">${link}${copyButton(shortUrl, 'the short link')}</span>`
}

/** "bücher.example/été": the short link in words, at most 60 signs of it. */
export function shortUrlText(shortUrl: string): string {
  const { host, path } = partsOf(shortUrl)
  return cutInMiddle(host + path, 60)
}

/** Host and path in words, at most 48 signs of each. The path begins with its slash. */
export function shortUrlParts(shortUrl: string): { readonly host: string; readonly path: string } {
  const { host, path } = partsOf(shortUrl)
  return { host: cutInMiddle(host, shownPart), path: cutInMiddle(path, shownPart) }
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
