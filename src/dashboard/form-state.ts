/** The state of a form: its stored or submitted values, and the errors of the API. */
import { Failure, type Violation } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import { errorSummary, type FieldState, formError } from './parts/fields.ts'

export class FormState {
  readonly values: Fields
  readonly violations: readonly Violation[]
  readonly #shown = new Set<string>()

  /** `values` are keyed by control name; a missing value shows as an empty control. */
  constructor(values: Fields, violations: readonly Violation[] = []) {
    this.values = values
    this.violations = violations
  }

  /** Returns the state of a control. */
  field(name: string): FieldState {
    this.#shown.add(name)
    const value = this.values[name]
    const error = this.violations.find(({ field }) => field === name)?.message ?? null
    return { value: typeof value === 'string' || typeof value === 'number' ? String(value) : '', error }
  }

  /** Renders the controls with their errors above them, starting with errors that belong to no control. */
  withErrors(controls: Html): Html {
    const { shown = [], others = [] } = Object.groupBy(this.violations, ({ field }) =>
      this.#shown.has(field) ? 'shown' : 'others',
    )
    return html`${others.map(({ message }) => formError(message))}${errorSummary(shown)}${controls}`
  }
}

/** Returns the result of the action, or a `Rejection` if fields are invalid or someone else has changed the record. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | Rejection> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Failure && error.code === 'precondition_failed') return new Rejection([], true)
    if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
    return new Rejection(error.facts.violations)
  }
}

/** The action changed nothing. */
export class Rejection {
  readonly violations: readonly Violation[]
  readonly isConflict: boolean

  constructor(violations: readonly Violation[], isConflict = false) {
    this.violations = violations
    this.isConflict = isConflict
  }
}
