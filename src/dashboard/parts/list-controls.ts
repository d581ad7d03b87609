import { type Html, html } from '../../http/html.ts'
import { attributes, hiddenFields, menuItems } from './buttons.ts'
import { type Choice, optionsOf } from './fields.ts'
import { formatCount } from './format.ts'
import { icon } from './icons.ts'

interface Filter {
  readonly name: string
  readonly label: string
  readonly value: string
  /** The first option means "any". */
  readonly options: readonly Choice[]
}

interface Filters {
  readonly action: string
  readonly search: { readonly name: string; readonly label: string; readonly value: string }
  readonly filters: readonly Filter[]
  /** Other query fields to preserve, such as the order. */
  readonly preserved?: Readonly<Record<string, string>>
  /** The `id` of the results, which scripts update while people type. */
  readonly results: string
}

/** Renders the search and filter form above a list. */
export function filterBar({ action, search, filters, preserved = {}, results }: Filters): Html {
  const selects = filters.map(({ name, label, value, options }) => {
    const all = attributes({ id: `filter-${name}`, name, 'data-set': value !== (options[0]?.value ?? '') })
    return html`<div class="select"><label class="hidden-text" for="filter-${name}">${label}</label><select${all}>${optionsOf(options, value)}</select></div>`
  })
  return html`<form class="filters" method="get" action="${action}" role="search" data-live="${results}">
<div class="search">${icon('search')}<label class="hidden-text" for="filter-${search.name}">${search.label}</label>
<input type="search" id="filter-${search.name}" name="${search.name}" value="${search.value}" placeholder="${search.label}" autocomplete="off" spellcheck="false"></div>
${selects}${hiddenFields(preserved)}<button class="button plain without-script">Apply</button></form>`
}

/**
 * Renders the number of results, which scripts announce. `clear` is the URL without search and filters; null if there
 * are none.
 */
export function resultCount(words: string, clear: string | null): Html {
  const link = clear === null ? null : html`<a class="small" href="${clear}">Clear all</a>`
  return html`<div class="found"><p data-count>${words}</p>${link}</div>`
}

export interface Sorting {
  readonly by: string
  readonly isDescending: boolean
  /** Returns the URL of the list in another order. */
  readonly href: (by: string, isDescending: boolean) => string
}

/** A field that a list can be sorted by. */
export interface SortKey {
  readonly label: string
  readonly by: string
  readonly of: 'names' | 'numbers' | 'times'
}

/** Labels of both orders and whether they descend, the default order first. */
const orders = {
  names: { 'A to Z': false, 'Z to A': true },
  numbers: { 'most first': true, 'fewest first': false },
  times: { 'newest first': true, 'oldest first': false },
} as const

const id = 'sort-by'

/** Renders a menu of all orders, for narrow screens without sortable column headers. */
export function sortMenu(keys: readonly SortKey[], { by, isDescending, href }: Sorting): Html {
  const items = keys.flatMap((key) =>
    Object.entries(orders[key.of]).map(([words, isDown]) => ({
      label: `${key.label}, ${words}`,
      href: href(key.by, isDown),
      isCurrent: key.by === by && isDown === isDescending,
    })),
  )
  const current = items.find(({ isCurrent }) => isCurrent)?.label ?? 'another field'
  return html`<button type="button" class="button plain" popovertarget="${id}"><span class="muted">Sort by</span><span>${current}</span>${icon('chevron')}</button>
${menuItems(id, items)}`
}

interface Pagination {
  readonly page: number
  readonly perPage: number
  readonly total: number
  /** Whether there are no more rows than `total`. */
  readonly totalIsExact: boolean
  readonly href: (page: number) => string
}

/** Renders "1–25 of 214", and links to the previous and next page. */
export function pagination({ page, perPage, total, totalIsExact, href }: Pagination): Html {
  const first = Math.min((page - 1) * perPage + 1, total)
  const last = Math.min(page * perPage, total)
  const all = totalIsExact ? formatCount(total) : `more than ${formatCount(total)}`
  const range = html`<p data-count>${formatCount(first)}–${formatCount(last)} of ${all}</p>`
  if (page === 1 && last === total && totalIsExact) return html`<div class="pages">${range}</div>`
  const before = page > 1 ? href(page - 1) : null
  const after = last < total || !totalIsExact ? href(page + 1) : null
  return html`<div class="pages">${range}<nav class="actions" aria-label="Pages">
<a${step(before, 'prev')}>${icon('before')}Previous</a> <a${step(after, 'next')}>Next${icon('chevron')}</a></nav></div>`
}

/** A disabled link stays in place, so that the other one does not move. */
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
