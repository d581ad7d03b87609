import { randomUUID } from 'node:crypto'
import { type Html, html, type Part } from '../../http/html.ts'
import { type IconName, icon } from './icons.ts'

/** The attributes that have a value, each after a space. `true` stands for one without a value; `null` and `false` for none. */
export function attributes(values: Readonly<Record<string, string | number | boolean | null>>): Html {
  const present = Object.entries(values).filter(([, value]) => value !== null && value !== false)
  return html`${present.map(([name, value]) => (value === true ? html` ${name}` : html` ${name}="${String(value)}"`))}`
}

/** How much a button weighs. A page has one primary button. */
export type Weight = 'primary' | 'plain' | 'danger' | 'link-like'

export interface LinkButton {
  readonly label: Part
  readonly href: string
  readonly weight?: Weight
  readonly icon?: IconName
  /** Opens what the link leads to in a dialog, where scripts run. */
  readonly inDialog?: boolean
  /** Leaves this page where it is. */
  readonly inNewTab?: boolean
}

/** A link that looks like a button. */
export function linkButton({ label, href, weight = 'plain', icon: name, ...where }: LinkButton): Html {
  const target = where.inNewTab ? '_blank' : null
  const all = attributes({ class: classOf(weight), href, target, 'data-dialog': where.inDialog ?? false })
  return html`<a${all}>${name === undefined ? null : icon(name)}${label}</a>`
}

export interface SubmitButton {
  readonly label: Part
  readonly weight?: Weight
  /** What the form sends when this button was pressed. */
  readonly name?: string
  readonly value?: string
  /** Whether the form is sent though a field that it must have is empty: the button needs none. */
  readonly needsNothing?: boolean
}

/** The button that sends a form. */
export function submitButton(button: SubmitButton): Html {
  const { label, weight = 'primary', name = null, value = null, needsNothing = false } = button
  return html`<button${attributes({ type: 'submit', class: classOf(weight), name, value, formnovalidate: needsNothing })}>${label}</button>`
}

export interface PostButton extends SubmitButton {
  readonly action: string
  /** What the form sends beside. */
  readonly fields?: Readonly<Record<string, string>>
}

/** A button with a form of its own, for what one press does. */
export function postButton({ action, fields = {}, ...button }: PostButton): Html {
  return html`<form method="post" action="${action}">${hiddenFields(fields)}${submitButton({ weight: 'plain', ...button })}</form>`
}

/** What a form sends along unseen. */
export function hiddenFields(fields: Readonly<Record<string, string>>): Html {
  return html`${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}`
}

/**
 * Copies the text and says so. `what` names it: "the short link". With a label it is a button with words, else a small one
 * with an icon. Without scripts it is not there.
 */
export function copyButton(text: string, what: string, label: string | null = null): Html {
  const words = label === null ? html`<span class="hidden-text">Copy ${what}</span>` : label
  const className = label === null ? 'button bare-icon copy' : 'button copy'
  return html`<button type="button" class="${className}" data-copy="${text}">${icon('copy')}${words}<span class="said" aria-hidden="true">Copied</span></button>`
}

function classOf(weight: Weight): string {
  return weight === 'link-like' ? weight : `button ${weight}`
}

/** Stands in each form whose work must be done once: what is pressed twice does it once. See `submissions.ts`. */
export function onceField(): Html {
  return hiddenFields({ once: randomUUID() })
}

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
