/** Form fields: label above, help below, errors in place. Browsers focus the first rejected field. */
import type { Violation } from '../../errors.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './buttons.ts'
import { icon } from './icons.ts'

/** The value of a field, and its error. */
export interface FieldState {
  readonly value: string
  readonly error: string | null
}

export interface Field {
  readonly name: string
  readonly label: Part
  readonly state: FieldState
  readonly help?: Part
  readonly isRequired?: boolean
  /** Whether the field is focused when the page opens. At most one on a page. */
  readonly hasFocus?: boolean
}

interface TextField extends Field {
  readonly type?: 'text' | 'url' | 'number' | 'password' | 'date' | 'datetime-local'
  readonly placeholder?: string
  /** `off` by default. */
  readonly autocomplete?: string
  /** Uses the monospace font of short links and code. */
  readonly isCode?: boolean
  /** The text before the input, such as the domain of an alias. */
  readonly prefix?: string
}

/** Renders a single-line field. */
export function textField(field: TextField): Html {
  const { type = 'text', placeholder = null, autocomplete = 'off', prefix } = field
  const isCode = field.isCode === true || type === 'url'
  const isLiteral = isCode || type === 'password'
  const input = html`<input${attributes({
    // A number input would discard an invalid value. The form shows it again with its error.
    type: type === 'number' ? 'text' : type,
    ...commonAttributes(field),
    value: field.state.value,
    placeholder,
    autocomplete,
    class: isCode ? 'mono' : null,
    spellcheck: isLiteral ? 'false' : null,
    autocapitalize: isLiteral ? 'none' : null,
    inputmode: type === 'number' ? 'numeric' : null,
  })}>`
  if (prefix === undefined) return withLabel(field, input)
  return withLabel(field, html`<div class="prefixed"><span class="prefix"><bdi>${prefix}</bdi></span>${input}</div>`)
}

export interface Choice {
  readonly value: string
  readonly label: string
}

export function selectField(field: Field & { readonly options: readonly Choice[] }): Html {
  const options = optionsOf(field.options, field.state.value)
  return withLabel(field, html`<select${attributes(commonAttributes(field))}>${options}</select>`)
}

/** Renders the options of a select. */
export function optionsOf(options: readonly Choice[], chosen: string): Html {
  return html`${options.map(
    ({ value, label }) => html`<option${attributes({ value, selected: value === chosen })}>${label}</option>`,
  )}`
}

/** Renders a checkbox. It sends `true` if checked, otherwise nothing. */
export function checkbox(field: Field): Html {
  const checked = field.state.value === 'true'
  const input = html`<input${attributes({ type: 'checkbox', ...commonAttributes(field), value: 'true', checked })}>`
  return html`<div class="choice">${input}<label for="${controlId(field.name)}">${field.label}</label>${errorAndHelp(field)}</div>`
}

interface RadioGroup extends Field {
  readonly options: readonly { readonly value: string; readonly label: Part }[]
}

export function radioGroup(field: RadioGroup): Html {
  const { id, required, autofocus, ...others } = commonAttributes(field)
  const choices = field.options.map(({ value, label }, index) => {
    const checked = value === field.state.value
    // The error summary links to the first radio button, which is focused unless another one is selected.
    const first = { id: index === 0 ? id : null, required, autofocus: index === 0 && autofocus }
    return html`<label><input${attributes({ type: 'radio', ...others, ...first, value, checked })}>${label}</label>`
  })
  return html`<fieldset class="field"><legend>${field.label}</legend><div class="choices">${choices}</div>${errorAndHelp(field)}</fieldset>`
}

/** Returns the `id` of a control. */
function controlId(name: string): string {
  return `field-${name}`
}

function withLabel(field: Field, control: Html): Html {
  const label = html`<label for="${controlId(field.name)}">${field.label}</label>`
  return html`<div class="field">${label}${control}${errorAndHelp(field)}</div>`
}

function errorAndHelp({ name, state, help }: Field): Html {
  const id = controlId(name)
  const error = state.error && html`<p class="error" id="${id}-error">${icon('warning')}<span>${state.error}</span></p>`
  return html`${error}${help === undefined ? null : html`<p class="help" id="${id}-help">${help}</p>`}`
}

function commonAttributes({ name, state, help, isRequired = false, hasFocus = false }: Field) {
  const id = controlId(name)
  const isRejected = state.error !== null
  const described = [isRejected ? `${id}-error` : '', help === undefined ? '' : `${id}-help`]
  return {
    id,
    name,
    required: isRequired,
    autofocus: isRejected || hasFocus,
    'aria-invalid': isRejected ? 'true' : null,
    'aria-describedby': described.filter(Boolean).join(' ') || null,
  }
}

interface CollapsibleSection {
  readonly title: string
  /** A short summary of the values inside: "Expires 3 March". */
  readonly set?: string
  /** Whether the section is open. It must be if a field inside has an error. */
  readonly isOpen: boolean
  readonly body: Part
}

/** Renders a collapsible section with optional fields. */
export function collapsibleSection({ title, set, isOpen, body }: CollapsibleSection): Html {
  const summary = html`<summary>${icon('chevron', 'chevron')}${title}${set === undefined ? null : html` <span class="set">${set}</span>`}</summary>`
  return html`<details${attributes({ class: 'fold', open: isOpen })}>${summary}<div class="folded">${body}</div></details>`
}

/** Renders links to all fields with errors; nothing for a single error, which appears next to its field. */
export function errorSummary(violations: readonly Violation[]): Html {
  if (violations.length < 2) return html``
  const reasons = violations.map(({ field, message }) => html`<li><a href="#${controlId(field)}">${message}</a></li>`)
  return html`<div class="summary" role="alert"><h2>${violations.length} fields need another value</h2><ul>${reasons}</ul></div>`
}

/** Renders an error that belongs to no field, above the form. */
export function formError(message: string): Html {
  return html`<div class="notice failed" role="alert">${icon('warning')}<p>${message}</p></div>`
}
