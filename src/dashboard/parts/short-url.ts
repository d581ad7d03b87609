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

/** A short link without its scheme, and the button that copies it whole. */
export function shortUrlOf({ shortUrl, href = shortUrl, coversRow = false }: ShortUrlShown): Html {
  const className = coversRow ? 'short-url cover' : 'short-url'
  return html`<span class="short"><a class="${className}" href="${href}"><bdi>${shortUrlText(shortUrl)}</bdi></a>${copyButton(shortUrl, 'the short link')}</span>`
}

/** "go.acme.com/été": the short link in words, at most 60 signs of it. */
export function shortUrlText(shortUrl: string): string {
  return cutInMiddle(decoded(shortUrl.replace(/^https?:\/\//, '')), 60)
}

function decoded(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}
