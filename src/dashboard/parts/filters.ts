import { type Html, html } from '../../http/html.ts'
import { attributes } from './attributes.ts'
import { hiddenFields } from './buttons.ts'
import { type Choice, optionsOf } from './fields.ts'
import { icon } from './icons.ts'

export interface Filter {
  readonly name: string
  readonly label: string
  readonly value: string
  /** The first stands for "any". */
  readonly options: readonly Choice[]
}

export interface Filters {
  readonly action: string
  readonly search: { readonly name: string; readonly label: string; readonly value: string }
  readonly filters: readonly Filter[]
  /** What else of the address stays, such as the order. */
  readonly kept?: Readonly<Record<string, string>>
  /** The `id` of the element that shows what was found: it changes while somebody types, where scripts run. */
  readonly results: string
}

/** The bar above a list: a form whose answer is the list at another address. */
export function filterBar({ action, search, filters, kept = {}, results }: Filters): Html {
  const selects = filters.map(({ name, label, value, options }) => {
    const all = attributes({ id: `filter-${name}`, name, 'data-set': value !== (options[0]?.value ?? '') })
    return html`<div class="select"><label class="hidden-text" for="filter-${name}">${label}</label><select${all}>${optionsOf(options, value)}</select></div>`
  })
  return html`<form class="filters" method="get" action="${action}" role="search" data-live="${results}">
<div class="search">${icon('search')}<label class="hidden-text" for="filter-${search.name}">${search.label}</label>
<input type="search" id="filter-${search.name}" name="${search.name}" value="${search.value}" placeholder="${search.label}" autocomplete="off" spellcheck="false"></div>
${selects}${hiddenFields(kept)}<button class="button plain without-script">Apply</button></form>`
}

/** How much was found, in words that scripts say aloud. `clear`: the list without search and filters; null where there are none. */
export function foundLine(words: string, clear: string | null): Html {
  const link = clear === null ? null : html`<a class="small" href="${clear}">Clear all</a>`
  return html`<div class="found"><p data-count>${words}</p>${link}</div>`
}
