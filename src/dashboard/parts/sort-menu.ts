import { type Html, html } from '../../http/html.ts'
import { icon } from './icons.ts'
import { menuItems } from './menu.ts'

export interface Sorting {
  readonly by: string
  readonly isDescending: boolean
  /** The address of the list in another order. */
  readonly href: (by: string, isDescending: boolean) => string
}

/** What a list can be sorted by. */
export interface SortKey {
  readonly label: string
  readonly by: string
  readonly of: 'names' | 'numbers' | 'times'
}

/** The usual order first: its words, and whether it descends. */
const orders = {
  names: { 'A to Z': false, 'Z to A': true },
  numbers: { 'most first': true, 'fewest first': false },
  times: { 'newest first': true, 'oldest first': false },
} as const

const id = 'sort-by'

/** Stands for the heads that sort where a table has no room for them: a button that opens a menu of all orders. */
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
