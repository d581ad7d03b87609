import { type Html, html } from '../../http/html.ts'
import { count, counted } from './number.ts'

/** Counted no further than this. */
const most = 1_000

/** How many links there are, leading to their list with this filter. */
export function linksOf(filter: string, links: number): Html {
  const words = links > most ? `More than ${count(most)} links` : counted(links, 'link')
  return html`<a href="/app/links?${filter}">${words}</a>`
}
