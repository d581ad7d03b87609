/**
 * What a form shows: what was stored or typed, and what is wrong with it, in the words that the API has for it.
 */
import { Failure, preconditionFailed, type Violation } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import type { Precondition } from '../storage/version.ts'
import { errorSummary, type FieldState, formError } from './parts/fields.ts'

export class FormState {
  readonly #values: Fields
  readonly #shown = new Set<string>()
  readonly violations: readonly Violation[]

  /** `values` by the names of the controls; text for a control that has none is empty. */
  constructor(values: Fields, violations: readonly Violation[] = []) {
    this.#values = values
    this.violations = violations
  }

  /** The state of the control of this name. */
  field(name: string): FieldState {
    this.#shown.add(name)
    const value = this.#values[name]
    const error = this.violations.find(({ field }) => field === name)?.message ?? null
    return { value: typeof value === 'string' || typeof value === 'number' ? String(value) : '', error }
  }

  /** The controls, which were drawn with this state, below what was refused of them, and what was refused beside them. */
  withErrors(controls: Html): Html {
    const { shown = [], others = [] } = Object.groupBy(this.violations, ({ field }) =>
      this.#shown.has(field) ? 'shown' : 'others',
    )
    return html`${others.map(({ message }) => formError(message))}${errorSummary(shown)}${controls}`
  }
}

/**
 * The result of the action, or why it was refused: what is wrong with the fields that were sent, or that another has changed
 * the record since. Throws what else it throws.
 */
export async function attempt<T>(action: () => Promise<T>): Promise<T | Rejection> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Failure && error.code === 'precondition_failed') return new Rejection([], true)
    if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
    return new Rejection(error.facts.violations)
  }
}

/** Nothing was changed. */
export class Rejection {
  readonly violations: readonly Violation[]
  readonly isConflict: boolean

  constructor(violations: readonly Violation[], isCollision = false) {
    this.violations = violations
    this.isConflict = isCollision
  }
}

/**
 * Demands that a record is still as the form was opened with: `version` came back with it. Null for a form that has none, as a
 * request to the API without `If-Match`. The demand throws `precondition_failed`.
 */
export function preconditionFrom(version: unknown): Precondition | null {
  if (version === undefined || version === '') return null
  return {
    check: (present) => {
      if (version !== present) throw preconditionFailed(present)
    },
  }
}
