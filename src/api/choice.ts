import { Refusal } from '../errors.ts'
import type { Rule } from './fields.ts'
import { Type } from './json-schema.ts'

/** One of a few words, as they are written here. */
export function oneOf<const Value extends string>(allowed: readonly Value[], description: string): Rule<Value> {
  return {
    schema: Type.Enum([...allowed], { description }),
    parse: (text, label) => allowed.find((value) => value === text) ?? notAllowed(label, allowed),
  }
}

export function notAllowed(label: string, allowed: readonly (string | number)[]): Refusal {
  return new Refusal(
    'not_allowed',
    `The ${label} must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}.`,
  )
}
