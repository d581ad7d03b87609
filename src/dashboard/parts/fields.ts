/** Form fields: label above, help below, errors in place. Browsers focus the first rejected field. */
import { icon } from '../../frame/icons.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { Refusal, Violation } from '../../violations.ts'
import { attributes, hiddenFields } from './buttons.ts'

/** The stored or submitted values of a form, and the violations in them. */
export class FormState {
  readonly values: Fields
  readonly violations: readonly Violation[]
  /** The control with the focus after a button changed the form without saving it; otherwise null. */
  readonly focus: string | null
  /** The controls that the form shows, by their names. */
  readonly #shown = new Map<string, Named>()
  /** The first violation of each field. */
  readonly #refusals: ReadonlyMap<string, Refusal>

  /** `values` are keyed by control name; a missing value shows as an empty control. */
  constructor(values: Fields, violations: readonly Violation[] = [], focus: string | null = null) {
    this.values = values
    this.violations = violations
    this.#refusals = new Map(violations.toReversed().map(({ field, refusal }) => [field, refusal]))
    this.focus = focus
  }

  /** Returns the value of the field, and whether it is invalid. */
  field(name: string) {
    const value = this.values[name]
    const isInvalid = this.#refusals.has(name)
    return { value: typeof value === 'string' || typeof value === 'number' ? String(value) : '', isInvalid }
  }

  /** Returns the value and the error of a control, which the form then shows. */
  control({ name, label, group }: Named) {
    this.#shown.set(name, { name, label, group })
    return { value: this.field(name).value, error: this.#refusals.get(name)?.forForm(label) ?? null }
  }

  /** Renders the controls with their errors above them, starting with errors that belong to no control. */
  withErrors(controls: Html): Html {
    const { shown = [], others = [] } = Object.groupBy(this.violations, ({ field }) =>
      this.#shown.has(field) ? 'shown' : 'others',
    )
    const errors = formMessages(others).map(
      (message) => html`<div class="notice failed" role="alert">${icon('warning')}<p>${message}</p></div>`,
    )
    return html`${errors}${this.#errorSummary(shown)}${controls}`
  }

  /** Renders links to all controls with errors; nothing for a single error, which appears next to its control. */
  #errorSummary(violations: readonly Violation[]): Html {
    if (violations.length < 2) return html``
    const reasons = violations.map(({ field, refusal }) => {
      const { label = '', group } = this.#shown.get(field) ?? {}
      const message = refusal.forForm(label)
      const names = [group, message.toLowerCase().includes(label.toLowerCase()) ? undefined : label]
      const words = [...names.filter((name) => name !== undefined), message].join(': ')
      return html`<li><a href="#${controlId(field)}">${words}</a></li>`
    })
    return html`<div class="summary" role="alert"><h2>Fix these ${violations.length} errors</h2><ul>${reasons}</ul></div>`
  }
}

/** Returns the messages about values that no control shows, each once. `labelOf` returns a field's label, if it has one. */
export function formMessages(
  violations: readonly Violation[],
  labelOf: (field: string) => string | null = () => null,
): string[] {
  return [...new Set(violations.map(({ field, refusal }) => refusal.forForm(labelOf(field))))]
}

export interface Field {
  readonly name: string
  readonly label: string
  /** Shown instead of the label, which error messages name. */
  readonly words?: Part
  /** Names the part of the form in the summary of errors, if several parts have such a control. */
  readonly group?: string | undefined
  /** Shown after the label. */
  readonly unit?: Html
  readonly help?: Part
  readonly isRequired?: boolean
  /** Whether the field is focused when the page opens. At most one on a page. */
  readonly hasFocus?: boolean
}

type Named = Pick<Field, 'name' | 'label' | 'group'>

interface TextField extends Field {
  readonly type?: 'text' | 'url' | 'number' | 'password' | 'date' | 'datetime-local'
  readonly placeholder?: string
  /** `off` by default. */
  readonly autocomplete?: string
  /** Uses the monospace font of short links and code. */
  readonly isCode?: boolean
  readonly prefix?: string
  /** The most UTF-16 code units that people can type. */
  readonly maxLength?: number
  /** Values that the browser suggests. */
  readonly suggestions?: readonly string[]
  /** The id of a `suggestionList` that several fields share. */
  readonly listId?: string | undefined
  /** Whether the field has several values with commas between them. Scripts suggest each of them. */
  readonly isList?: boolean
}

export function textField(state: FormState, field: TextField): Html {
  const { type = 'text', placeholder = null, autocomplete = 'off', prefix, suggestions = [] } = field
  const ownList = suggestions.length === 0 ? null : `${controlId(field.name)}-suggestions`
  const { value, error } = state.control(field)
  const isCode = field.isCode === true || type === 'url'
  const isLiteral = isCode || type === 'password'
  const input = html`<input${attributes({
    // A number input would discard an invalid value. The form shows it again with its error.
    type: type === 'number' ? 'text' : type,
    ...commonAttributes(field, error),
    value,
    placeholder,
    autocomplete,
    class: isCode ? 'mono' : null,
    spellcheck: isLiteral ? 'false' : null,
    autocapitalize: isLiteral ? 'none' : null,
    inputmode: type === 'number' ? 'numeric' : null,
    maxlength: field.maxLength ?? null,
    list: field.listId ?? ownList,
    'data-list': field.isList === true,
  })}>${ownList && suggestionList(ownList, suggestions)}`
  if (prefix === undefined) return withLabel(field, error, input)
  const prefixed = html`<div class="prefixed"><span class="prefix"><bdi>${prefix}</bdi></span>${input}</div>`
  return withLabel(field, error, prefixed)
}

/** Renders values that the browser suggests in the fields with this `listId`. */
export function suggestionList(id: string, values: readonly string[]): Html {
  return html`<datalist id="${id}">${values.map((value) => html`<option value="${value}"></option>`)}</datalist>`
}

/** Renders a field for text with several lines, or for code in the monospace font. */
export function textArea(state: FormState, field: Field & Pick<TextField, 'isCode'>): Html {
  const { value, error } = state.control(field)
  const code = field.isCode === true ? { rows: 8, class: 'mono', spellcheck: 'false', autocapitalize: 'none' } : null
  const all = attributes({ ...commonAttributes(field, error), rows: 3, ...code })
  return withLabel(field, error, html`<textarea${all}>${value}</textarea>`)
}

/** Renders a control for a color such as #0b5c6b. */
export function colorField(state: FormState, field: Field): Html {
  const { value, error } = state.control(field)
  return withLabel(
    field,
    error,
    html`<input${attributes({ type: 'color', ...commonAttributes(field, error), value })}>`,
  )
}

/** Renders a control for a file. Browsers keep no file when a form is shown again. */
export function fileField(state: FormState, field: Field & { readonly accept: string }): Html {
  const { error } = state.control(field)
  const all = { type: 'file', ...commonAttributes(field, error), accept: field.accept }
  return withLabel(field, error, html`<input${attributes(all)}>`)
}

export interface Choice<Label = string> {
  readonly value: string
  readonly label: Label
}

export function selectField(state: FormState, field: Field & { readonly options: readonly Choice[] }): Html {
  const { value, error } = state.control(field)
  const options = optionsOf(field.options, value)
  return withLabel(field, error, html`<select${attributes(commonAttributes(field, error))}>${options}</select>`)
}

export function optionsOf(options: readonly Choice[], chosen: string): Html {
  return html`${options.map(
    ({ value, label }) => html`<option value="${value}"${value === chosen ? html` selected` : null}>${label}</option>`,
  )}`
}

/** Renders a checkbox. It sends `true` if checked, otherwise nothing. */
export function checkbox(state: FormState, field: Field): Html {
  const { value, error } = state.control(field)
  const all = { type: 'checkbox', ...commonAttributes(field, error), value: 'true', checked: value === 'true' }
  return html`<div class="choice"><input${attributes(all)}><label for="${controlId(field.name)}">${field.label}</label>${errorAndHelp(field, error)}</div>`
}

export function radioGroup(state: FormState, field: Field & { readonly options: readonly Choice<Part>[] }): Html {
  const { value: chosen, error } = state.control(field)
  const { id, required, autofocus, ...others } = commonAttributes(field, error)
  const choices = field.options.map(({ value, label }, index) => {
    const checked = value === chosen
    // The error summary links to the first radio button, which is focused unless another one is selected.
    const first = { id: index === 0 ? id : null, required, autofocus: index === 0 && autofocus }
    return html`<label><input${attributes({ type: 'radio', ...others, ...first, value, checked })}>${label}</label>`
  })
  return html`<fieldset class="field"><legend>${field.label}</legend><div class="choices">${choices}</div>${errorAndHelp(field, error)}</fieldset>`
}

/** Renders checkboxes, which send `true` as `name.value`, and an empty field `name`. */
export function checkboxGroup(state: FormState, field: Field & { readonly options: readonly Choice[] }): Html {
  const { name, options, words = field.label } = field
  const { error } = state.control(field)
  const { id, autofocus, required: _, ...others } = commonAttributes(field, error)
  const choices = options.map(({ value, label }, index) => {
    const box = `${name}.${value}`
    const first = { id: index === 0 ? id : null, autofocus: index === 0 && autofocus }
    const checked = state.field(box).value === 'true'
    const all = { type: 'checkbox', ...others, ...first, name: box, value: 'true', checked }
    return html`<label><input${attributes(all)}>${label}</label>`
  })
  return html`<fieldset class="field"><legend>${words}</legend>${hiddenFields({ [name]: '' })}<div class="choices">${choices}</div>${errorAndHelp(field, error)}</fieldset>`
}

/** Renders the error of a value that several controls have together. Returns null without one. */
export function sharedError(state: FormState, field: Named): Html | null {
  const { error } = state.control(field)
  return error === null
    ? null
    : html`<div id="${controlId(field.name)}" tabindex="-1" autofocus>${errorAndHelp(field, error)}</div>`
}

function controlId(name: string): string {
  return `field-${name}`
}

function withLabel(field: Field, error: string | null, control: Html): Html {
  const unit = field.unit && html` ${field.unit}`
  const label = html`<label for="${controlId(field.name)}">${field.words ?? field.label}${unit ?? null}</label>`
  return html`<div class="field">${label}${control}${errorAndHelp(field, error)}</div>`
}

function errorAndHelp({ name, help }: Pick<Field, 'name' | 'help'>, error: string | null): Html {
  const id = controlId(name)
  const reason = error && html`<p class="error" id="${id}-error">${icon('warning')}<span>${error}</span></p>`
  return html`${reason}${help === undefined ? null : html`<p class="help" id="${id}-help">${help}</p>`}`
}

function commonAttributes({ name, help, isRequired = false, hasFocus = false }: Field, error: string | null) {
  const id = controlId(name)
  const described = [error === null ? '' : `${id}-error`, help === undefined ? '' : `${id}-help`]
  return {
    id,
    name,
    required: isRequired,
    autofocus: error !== null || hasFocus,
    'aria-invalid': error === null ? null : 'true',
    'aria-describedby': described.filter(Boolean).join(' ') || null,
  }
}

/** Renders a section with a summary of its values: "Expires 3 March". It must be open if a field inside has an error. */
export function collapsibleSection(title: string, values: string, isOpen: boolean, body: Part): Html {
  const set = values === '' ? null : html` <span class="set">${values}</span>`
  const summary = html`<summary>${icon('chevron', 'chevron')}${title}${set}</summary>`
  return html`<details${attributes({ class: 'fold', open: isOpen })}>${summary}<div class="folded">${body}</div></details>`
}
