import { type Html, html } from '../../http/html.ts'
import { countedAtMost } from '../../links/counts-parameters.ts'
import { count, counted } from './number.ts'

/** How many links there are, counted up to `countedAtMost`, leading to their list with this filter. */
export function linksOf(filter: string, links: number): Html {
  const words = links < countedAtMost ? counted(links, 'link') : `More than ${count(countedAtMost - 1)} links`
  return html`<a href="/app/links?${filter}">${words}</a>`
}
