import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './attributes.ts'
import { hiddenFields } from './buttons.ts'
import { type IconName, icon } from './icons.ts'

/** A line of a menu: a link, or with `fields` a button that posts them to the address. */
export interface MenuItem {
  readonly label: Part
  readonly href: string
  readonly icon?: IconName
  readonly fields?: Readonly<Record<string, string>>
  readonly isDangerous?: boolean
  /** Opens what the link leads to in a dialog, where scripts run. */
  readonly inDialog?: boolean
  /** Whether the line stands for what is shown now. */
  readonly isCurrent?: boolean
}

/** A button that opens a menu; the browser closes it with Esc or a press elsewhere. `id` is unique on the page, and `label` names what it is for. */
export function menu(id: string, label: string, items: readonly MenuItem[]): Html {
  return html`<button type="button" class="button bare-icon" popovertarget="${id}">${icon('menu')}<span class="hidden-text">${label}</span></button>
${menuItems(id, items)}`
}

/** The menu itself, which a button with its `id` as `popovertarget` opens. */
export function menuItems(id: string, items: readonly MenuItem[]): Html {
  return html`<div class="menu" id="${id}" popover><ul class="items">${items.map((item) => html`<li>${entry(item)}</li>`)}</ul></div>`
}

function entry({ label, href, icon: name, fields, isDangerous = false, ...rest }: MenuItem): Html {
  const className = isDangerous ? 'danger' : null
  const words = html`${name === undefined ? null : icon(name)}${label}`
  if (fields === undefined)
    return html`<a${attributes({ href, class: className, 'data-dialog': rest.inDialog ?? false, 'aria-current': rest.isCurrent ? 'true' : null })}>${words}</a>`
  return html`<form method="post" action="${href}">${hiddenFields(fields)}<button${attributes({ class: className })}>${words}</button></form>`
}
