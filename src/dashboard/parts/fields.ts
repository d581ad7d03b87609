/**
 * Fields of forms: label above, help below, the error in its place. A field that was refused asks for the focus; with
 * several, browsers give it to the first.
 */
import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './buttons.ts'
import { icon } from './icons.ts'

/** What stands in the field, and why it was refused. */
export interface FieldState {
  readonly value: string
  readonly error: string | null
}

export interface Field {
  /** The name that the form sends. */
  readonly name: string
  readonly label: Part
  readonly state: FieldState
  readonly help?: Part
  readonly isRequired?: boolean
  /** Whether the field has the focus when the page opens. One on a page. */
  readonly hasFocus?: boolean
}

export interface TextField extends Field {
  readonly type?: 'text' | 'url' | 'search' | 'number' | 'password' | 'date' | 'datetime-local'
  readonly placeholder?: string
  /** `off`, unless said otherwise. */
  readonly autocomplete?: string
  /** In the type of short links and code. */
  readonly isCode?: boolean
  /** What stands before the value, such as the domain of an alias. */
  readonly prefix?: string
}

/** A field of one line. */
export function textField(field: TextField): Html {
  const { type = 'text', placeholder = null, autocomplete = 'off', prefix } = field
  const isCode = field.isCode === true || type === 'url'
  const input = html`<input${attributes({
    // A field of numbers forgets what is none, and it should come back with its error.
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

/** A choice of one from a list. */
export function selectField(field: Field & { readonly options: readonly Choice[] }): Html {
  const { options, state } = field
  return withLabel(
    field,
    html`<select${attributes(commonAttributes(field))}>${optionsOf(options, state.value)}</select>`,
  )
}

/** The options of a select, the chosen one marked. */
export function optionsOf(options: readonly Choice[], chosen: string): Html {
  return html`${options.map(
    ({ value, label }) => html`<option${attributes({ value, selected: value === chosen })}>${label}</option>`,
  )}`
}

/** Yes or no. It sends `true` when it is checked and nothing else; its state is checked with the value `true`. */
export function checkbox(field: Field): Html {
  const input = html`<input${attributes({ type: 'checkbox', ...commonAttributes(field), value: 'true', checked: field.state.value === 'true' })}>`
  return html`<div class="choice">${input}<label for="${controlId(field.name)}">${field.label}</label>${errorAndHelp(field)}</div>`
}

export interface RadioChoice {
  readonly value: string
  readonly label: Part
}

/** A choice of one from a few that all are seen. */
export function radioGroup(field: Field & { readonly options: readonly RadioChoice[] }): Html {
  const { label, state, options } = field
  const choices = options.map(({ value, label: words }, index) => {
    const { id, required, autofocus, ...others } = commonAttributes(field)
    const isChosen = value === state.value
    // The summary of errors leads to the first; so does the focus, unless one is chosen.
    const isFirst = index === 0
    const own = { id: isFirst ? id : null, required, autofocus: isFirst && autofocus, value, checked: isChosen }
    return html`<label><input${attributes({ type: 'radio', ...others, ...own })}>${words}</label>`
  })
  return html`<fieldset class="field"><legend>${label}</legend><div class="choices">${choices}</div>${errorAndHelp(field)}</fieldset>`
}

/** The `id` of the field's control. */
export function controlId(name: string): string {
  return `field-${name}`
}

function withLabel(field: Field, control: Html): Html {
  const label = html`<label for="${controlId(field.name)}">${field.label}</label>`
  return html`<div class="field">${label}${control}${errorAndHelp(field)}</div>`
}

/** The error and the help, where the control says that they are. */
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

export interface CollapsibleSection {
  readonly title: string
  /** What is set inside, in a few words: "Expires 3 March". */
  readonly set?: string
  /** Open from the start, as it must be when a field inside was refused. */
  readonly isOpen?: boolean
  readonly body: Part
}

/** What can be left out of a form, folded away under its theme. */
export function collapsibleSection({ title, set, isOpen = false, body }: CollapsibleSection): Html {
  const summary = html`<summary>${icon('chevron', 'chevron')}${title}${set === undefined ? null : html` <span class="set">${set}</span>`}</summary>`
  const inside = html`${summary}<div class="folded">${body}</div>`
  return isOpen ? html`<details class="fold" open>${inside}</details>` : html`<details class="fold">${inside}</details>`
}

/** What a form was refused for: the field, and the sentence of the rule. */
export interface Refused {
  readonly field: string
  readonly message: string
}

/** Stands above a form that was refused for several reasons and leads to each field; nothing when there is one, beside its field. */
export function errorSummary(violations: readonly Refused[]): Html {
  if (violations.length < 2) return html``
  const reasons = violations.map(({ field, message }) => html`<li><a href="#${controlId(field)}">${message}</a></li>`)
  return html`<div class="summary" role="alert"><h2>${violations.length} fields need another value</h2><ul>${reasons}</ul></div>`
}

/** An error that belongs to no field, above the form. */
export function formError(message: string): Html {
  return html`<div class="notice failed" role="alert">${icon('warning')}<p>${message}</p></div>`
}
