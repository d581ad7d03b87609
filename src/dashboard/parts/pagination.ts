import { type Html, html } from '../../http/html.ts'
import { attributes } from './attributes.ts'
import { icon } from './icons.ts'
import { count } from './number.ts'

export interface Pagination {
  readonly page: number
  readonly perPage: number
  readonly total: number
  /** Whether there are not more than `total`. */
  readonly totalIsExact: boolean
  readonly href: (page: number) => string
}

/** "1–25 of 214", and the ways to the pages before and after. */
export function pagination({ page, perPage, total, totalIsExact, href }: Pagination): Html {
  const first = Math.min((page - 1) * perPage + 1, total)
  const last = Math.min(page * perPage, total)
  const all = totalIsExact ? count(total) : `more than ${count(total)}`
  const range = html`<p data-count>${count(first)}–${count(last)} of ${all}</p>`
  if (page === 1 && last === total && totalIsExact) return html`<div class="pages">${range}</div>`
  const before = page > 1 ? href(page - 1) : null
  const after = last < total || !totalIsExact ? href(page + 1) : null
  return html`<div class="pages">${range}<nav class="actions" aria-label="Pages">
<a${step(before, 'prev')}>${icon('before')}Previous</a> <a${step(after, 'next')}>Next${icon('chevron')}</a></nav></div>`
}

/** A link with nowhere to go stays in its place, so that the other does not move. */
function step(href: string | null, rel: string): Html {
  const isOff = href === null
  return attributes({
    class: 'button',
    href,
    rel: isOff ? null : rel,
    role: isOff ? 'link' : null,
    'aria-disabled': isOff ? 'true' : null,
  })
}
