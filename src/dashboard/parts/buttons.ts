import { randomUUID } from 'node:crypto'
import { allows, type Identity, type NeededScope } from '../../access/actor.ts'
import { type IconName, icon } from '../../frame/icons.ts'
import { escaped, Html, html, type Part } from '../../http/html.ts'

/** Renders attributes. `true` means an attribute without a value; `null` and `false` omit it. */
export function attributes(values: Readonly<Record<string, string | number | boolean | null>>): Html {
  let text = ''
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === false) continue
    text += value === true ? ` ${name}` : ` ${name}="${escaped(String(value))}"`
  }
  return new Html(text)
}

/** Decides which controls a page has. */
export type Viewer = Pick<Identity, 'scopes'>

/** Returns the control if the viewer has its scope; otherwise null, because the control would only fail. */
export function controlFor<Control>(viewer: Viewer, scope: NeededScope, control: Control): Control | null {
  return allows(viewer, scope) ? control : null
}

/** Renders controls in a row. Returns null without any. */
export function actionRow(controls: readonly (Html | null)[]): Html | null {
  const shown = controls.filter((control) => control !== null)
  return shown.length === 0 ? null : html`<div class="actions">${shown.map((control) => html`${control}\n`)}</div>`
}

/** The visual weight. A page has one primary button. */
type Weight = 'primary' | 'plain' | 'danger' | 'link-like'

interface LinkButton {
  readonly label: Part
  readonly href: string
  readonly weight?: Weight
  readonly icon?: IconName
  /** Opens the target in a dialog, with scripts. */
  readonly inDialog?: boolean
  readonly inNewTab?: boolean
}

export function linkButton({ label, href, weight = 'plain', icon: name, inDialog = false, ...rest }: LinkButton): Html {
  const target = rest.inNewTab ? '_blank' : null
  const all = attributes({ class: classOf(weight), href, target, 'data-dialog': inDialog })
  return html`<a${all}>${name === undefined ? null : icon(name)}${label}</a>`
}

interface SubmitButton {
  readonly label: Part
  readonly weight?: Weight
  readonly name?: string
  readonly value?: string
  /** Its form's id, if the button is outside. */
  readonly form?: string
}

export function submitButton(button: SubmitButton): Html {
  const { label, weight = 'primary', name = null, value = null, form = null } = button
  return html`<button${attributes({ type: 'submit', class: classOf(weight), name, value, form })}>${label}</button>`
}

type HiddenFields = Readonly<Record<string, string>>

export function postButton(button: SubmitButton & { readonly action: string; readonly fields?: HiddenFields }): Html {
  const { action, fields = {}, weight = 'plain' } = button
  return html`<form method="post" action="${action}">${hiddenFields(fields)}${submitButton({ ...button, weight })}</form>`
}

export function hiddenFields(fields: HiddenFields): Html {
  const inputs = Object.entries(fields)
  return html`${inputs.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

/** Renders a unique value, so that pressing a button twice does the work once. See `submissions.ts`. */
export function onceField(): Html {
  return hiddenFields({ once: randomUUID() })
}

/** Renders a button that copies the text. `what` names it: "the short link". Without a label, the button is an icon. */
export function copyButton(text: string, what: string, label: string | null = null, weight: Weight = 'plain'): Html {
  const words = label ?? html`<span class="hidden-text">Copy ${what}</span>`
  const className = label === null ? 'button bare-icon copy' : `${classOf(weight)} copy`
  return html`<button type="button" class="${className}" data-copy="${text}">${icon('copy')}${words}<span class="said" aria-hidden="true">Copied</span></button>`
}

/** Renders a text, such as a key, with a button that copies it. */
export function copyable(text: string, what: string, label: string): Html {
  return html`<p class="secret"><code>${text}</code>${copyButton(text, what, label)}</p>`
}

function classOf(weight: Weight): string {
  return weight === 'link-like' ? weight : `button ${weight}`
}

/** A menu item: a link, or with `isPost` a button that posts the fields of `menuForm` to `href`. */
export interface MenuItem extends Pick<LinkButton, 'label' | 'href' | 'icon' | 'inDialog' | 'inNewTab'> {
  readonly isPost?: boolean
  readonly isDangerous?: boolean
  readonly isCurrent?: boolean
}

/**
 * Renders a menu and the button that opens it. `id` is unique on the page, and `label` names the button, which has no
 * edge unless its style is `plain`.
 */
export function menu(
  id: string,
  label: string,
  items: readonly MenuItem[],
  style: 'bare-icon' | 'plain' = 'bare-icon',
): Html {
  return html`<button type="button" class="button ${style}" popovertarget="${id}">${icon('menu')}<span class="hidden-text">${label}</span></button>
${menuItems(id, items)}`
}

/** Renders a menu without its button. Any button opens it with `popovertarget`. */
export function menuItems(id: string, items: readonly MenuItem[]): Html {
  return html`<div class="menu" id="${id}" popover><ul class="items">${items.map((item) => html`<li>${entry(item)}</li>`)}</ul></div>`
}

const menuFormId = 'menu-form'

/** Renders the form that the menus of a page share. */
export function menuForm(fields: HiddenFields): Html {
  return html`<form method="post" id="${menuFormId}" hidden>${hiddenFields(fields)}</form>`
}

function entry(item: MenuItem): Html {
  const { label, href, icon: name, isPost, isDangerous, inDialog = false, inNewTab, isCurrent } = item
  const className = isDangerous ? 'danger' : null
  const words = html`${name === undefined ? null : icon(name)}${label}`
  if (isPost) return html`<button form="${menuFormId}" formaction="${href}">${words}</button>`
  const current = isCurrent ? 'true' : null
  return html`<a${attributes({ href, class: className, target: inNewTab ? '_blank' : null, 'data-dialog': inDialog, 'aria-current': current })}>${words}</a>`
}
