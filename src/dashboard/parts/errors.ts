import { type Html, html } from '../../http/html.ts'
import { idOf } from './fields.ts'
import { icon } from './icons.ts'

/** What a form was refused for: the field, and the sentence of the rule. */
export interface Refused {
  readonly field: string
  readonly message: string
}

/** Stands above a form that was refused for several reasons and leads to each field; nothing when there is one, beside its field. */
export function errorSummary(violations: readonly Refused[]): Html {
  if (violations.length < 2) return html``
  const reasons = violations.map(({ field, message }) => html`<li><a href="#${idOf(field)}">${message}</a></li>`)
  return html`<div class="summary" role="alert"><h2>${violations.length} fields need another value</h2><ul>${reasons}</ul></div>`
}

/** An error that belongs to no field, above the form. */
export function formError(message: string): Html {
  return html`<div class="notice failed" role="alert">${icon('warning')}<p>${message}</p></div>`
}
