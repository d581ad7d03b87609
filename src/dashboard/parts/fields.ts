/**
 * Form fields: label above, help below, errors in place. Each rejected field has `autofocus`; browsers focus the first
 * one.
 */
import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './buttons.ts'
import { icon } from './icons.ts'

/** The value of a field, and its error. */
export interface FieldState {
  readonly value: string
  readonly error: string | null
}

export interface Field {
  /** The name in the submitted form. */
  readonly name: string
  readonly label: Part
  readonly state: FieldState
  readonly help?: Part
  readonly isRequired?: boolean
  /** Whether the field is focused when the page opens. At most one on a page. */
  readonly hasFocus?: boolean
}

export interface TextField extends Field {
  readonly type?: 'text' | 'url' | 'search' | 'number' | 'password' | 'date' | 'datetime-local'
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
  const input = html`<input${attributes({
    // A number input would discard an invalid value. The form shows it again with its error.
    type: type === 'number' ? 'text' : type,
    ...commonAttributes(field),
    value: field.state.value,
    placeholder,
    autocomplete,
    class: isCode ? 'mono' : null,
    spellcheck: isCode || type === 'password' ? 'false' : null,
    autocapitalize: isCode || type === 'password' ? 'none' : null,
    inputmode: type === 'number' ? 'numeric' : null,
  })}>`
  if (prefix === undefined) return withLabel(field, input)
  return withLabel(field, html`<div class="prefixed"><span class="prefix"><bdi>${prefix}</bdi></span>${input}</div>`)
}

export interface Choice {
  readonly value: string
  readonly label: string
}

/** Renders a select. */
export function selectField(field: Field & { readonly options: readonly Choice[] }): Html {
  const { options, state } = field
  return withLabel(
    field,
    html`<select${attributes(commonAttributes(field))}>${optionsOf(options, state.value)}</select>`,
  )
}

/** Renders the options of a select. */
export function optionsOf(options: readonly Choice[], chosen: string): Html {
  return html`${options.map(
    ({ value, label }) => html`<option${attributes({ value, selected: value === chosen })}>${label}</option>`,
  )}`
}

/** Renders a checkbox. It sends `true` if checked, otherwise nothing. */
export function checkbox(field: Field): Html {
  const input = html`<input${attributes({ type: 'checkbox', ...commonAttributes(field), value: 'true', checked: field.state.value === 'true' })}>`
  return html`<div class="choice">${input}<label for="${controlId(field.name)}">${field.label}</label>${errorAndHelp(field)}</div>`
}

interface RadioChoice {
  readonly value: string
  readonly label: Part
}

/** Renders radio buttons. */
export function radioGroup(field: Field & { readonly options: readonly RadioChoice[] }): Html {
  const { label, state, options } = field
  const choices = options.map(({ value, label: words }, index) => {
    const { id, required, autofocus, ...others } = commonAttributes(field)
    const isChosen = value === state.value
    // The error summary links to the first radio button, which is focused unless another one is selected.
    const isFirst = index === 0
    const own = { id: isFirst ? id : null, required, autofocus: isFirst && autofocus, value, checked: isChosen }
    return html`<label><input${attributes({ type: 'radio', ...others, ...own })}>${words}</label>`
  })
  return html`<fieldset class="field"><legend>${label}</legend><div class="choices">${choices}</div>${errorAndHelp(field)}</fieldset>`
}

/** Returns the `id` of a control. */
function controlId(name: string): string {
  return `field-${name}`
}

function withLabel(field: Field, control: Html): Html {
  const label = html`<label for="${controlId(field.name)}">${field.label}</label>`
  return html`<div class="field">${label}${control}${errorAndHelp(field)}</div>`
}

/** Renders the error and the help that `aria-describedby` refers to. */
function errorAndHelp({ name, state, help }: Field): Html {
  const error =
    state.error === null
      ? null
      : html`<p class="error" id="${controlId(name)}-error">${icon('warning')}<span>${state.error}</span></p>`
  return html`${error}${help === undefined ? null : html`<p class="help" id="${controlId(name)}-help">${help}</p>`}`
}

function commonAttributes({ name, state, help, isRequired = false, hasFocus = false }: Field) {
  const isRefused = state.error !== null
  const described = [isRefused ? `${controlId(name)}-error` : '', help === undefined ? '' : `${controlId(name)}-help`]
  return {
    id: controlId(name),
    name,
    required: isRequired,
    autofocus: isRefused || hasFocus,
    'aria-invalid': isRefused ? 'true' : null,
    'aria-describedby': described.filter(Boolean).join(' ') || null,
  }
}

interface CollapsibleSection {
  readonly title: string
  /** A short summary of the values inside: "Expires 3 March". */
  readonly set?: string
  /** Whether the section is open. It must be if a field inside has an error. */
  readonly isOpen?: boolean
  readonly body: Part
}

/** Renders a collapsible section with optional fields. */
export function collapsibleSection({ title, set, isOpen = false, body }: CollapsibleSection): Html {
  const summary = html`<summary>${icon('chevron', 'chevron')}${title}${set === undefined ? null : html` <span class="set">${set}</span>`}</summary>`
  const inside = html`${summary}<div class="folded">${body}</div>`
  return isOpen ? html`<details class="fold" open>${inside}</details>` : html`<details class="fold">${inside}</details>`
}

/** An error of a field. */
interface FieldError {
  readonly field: string
  readonly message: string
}

/** Renders links to all fields with errors; nothing for a single error, which appears next to its field. */
export function errorSummary(violations: readonly FieldError[]): Html {
  if (violations.length < 2) return html``
  const reasons = violations.map(({ field, message }) => html`<li><a href="#${controlId(field)}">${message}</a></li>`)
  return html`<div class="summary" role="alert"><h2>${violations.length} fields need another value</h2><ul>${reasons}</ul></div>`
}

/** Renders an error that belongs to no field, above the form. */
export function formError(message: string): Html {
  return html`<div class="notice failed" role="alert">${icon('warning')}<p>${message}</p></div>`
}
