/**
 * Forms declare the fields of a request once, for validation, types and the OpenAPI schema.
 */
import { distance } from 'fastest-levenshtein'
import { type Failure, Refusal, type Violation, validationFailed } from '../errors.ts'
import { type Fields, repeated } from '../http/form-encoding.ts'
import type { TSchema } from './json-schema.ts'

/** Parses a value. The text is trimmed, well-formed, not empty, and free of control characters. */
export interface Rule<T> {
  readonly schema: TSchema
  /** Whether JSON may carry the value as a number. */
  readonly number?: boolean
  /** Whether JSON may carry the value as a boolean. */
  readonly boolean?: boolean
  /** `label` is the field's name in error messages. */
  parse(text: string, label: string): T | Refusal
}

/** A rule, and the meaning of an absent or empty field. */
export interface Field<T> {
  /** The schema of a value, with its default. */
  readonly schema: TSchema
  readonly required: boolean
  /** Whether the value may be empty text, or null in JSON. */
  readonly acceptsEmpty: boolean
  /** Whether JSON may carry the value as a number. */
  readonly acceptsNumber: boolean
  /** Whether JSON may carry the value as a boolean. */
  readonly acceptsBoolean: boolean
  read(raw: unknown, label: string): T | Refusal
}

/** The valid values, and all violations. Without violations, the values are complete. */
export interface Reading<T> {
  readonly values: Partial<T>
  readonly violations: readonly Violation[]
}

export interface Form<T> {
  /** Names that are ignored, so that clients may send a record back. */
  readonly ignored: readonly string[]
  readonly fields: { readonly [Name in keyof T]: Field<T[Name]> }
  /** Parses all fields. */
  read(input: Fields): Reading<T>
  /** Returns the values, or `validation_failed` with all violations. */
  check(input: Fields): T | Failure
}

/** A field that must be sent with a value. */
export function required<T>(rule: Rule<T>): Field<T> {
  return { ...fieldOf(rule, missing, missing), required: true }
}

/** A field that is `fallback` if absent or empty. */
export function optional<T, const F>(rule: Rule<T>, fallback: F): Field<T | F> {
  const schema = fallback === null || fallback === undefined ? rule.schema : { ...rule.schema, default: fallback }
  const absent = () => fallback
  return { ...fieldOf<T | F>(rule, absent, absent), schema, acceptsEmpty: true }
}

/** A field of a change: undefined if absent, and invalid if empty. */
export function change<T>(rule: Rule<T>): Field<T | undefined> {
  return fieldOf<T | undefined>(rule, unsent, missing)
}

/** A field of a change: undefined if absent, and null, which clears it, if empty. */
export function clearable<T>(rule: Rule<T>): Field<T | null | undefined> {
  return { ...fieldOf<T | null | undefined>(rule, unsent, () => null), acceptsEmpty: true }
}

/** A field that cannot change but may be sent back. The value is the text, for a comparison; undefined if absent. */
export function fixed(schema: TSchema, { number = false } = {}): Field<string | undefined> {
  return fieldOf<string | undefined>({ schema, number, parse: (text) => text }, unsent, () => '')
}

const unsent = () => undefined

function fieldOf<T>(rule: Rule<T>, absent: Absence<T>, empty: Absence<T>): Field<T> {
  const { schema, number: acceptsNumber = false, boolean: acceptsBoolean = false } = rule
  const read = (raw: unknown, label: string) => {
    if (raw === undefined) return absent(label)
    if (raw === null) return empty(label)
    const text = textOf(raw, rule, label)
    if (typeof text !== 'string') return text
    return text === '' ? empty(label) : rule.parse(text, label)
  }
  return { schema, required: false, acceptsEmpty: false, acceptsNumber, acceptsBoolean, read }
}

/**
 * Declares the fields of a request. Names in `ignored` are ignored, and any other name is a violation. `conflicts` returns
 * the violations of values that are valid on their own but not together.
 */
export function form<T>(
  fields: { readonly [Name in keyof T]: Field<T[Name]> },
  ignored: readonly string[] = [],
  conflicts: (values: T) => readonly Violation[] = () => [],
): Form<T> {
  const entries = Object.entries<Field<unknown>>(fields)
  const names = Object.keys(fields)
  const read = (input: Fields): Reading<T> => {
    const values: Record<string, unknown> = {}
    const violations: Violation[] = []
    for (const [name, field] of entries) {
      const value = field.read(input[name], name)
      if (value instanceof Refusal) violations.push({ field: name, code: value.code, message: value.message })
      else values[name] = value
    }
    const unknown = unknownFieldViolations(input, names, ignored)
    // An error about the whole request comes first.
    violations.unshift(...unknown.filter(({ field }) => isJson(field)))
    violations.push(...unknown.filter(({ field }) => !isJson(field)))
    if (violations.length === 0) violations.push(...conflicts(values as T))
    return { values: values as Partial<T>, violations }
  }
  return { fields, ignored, read, check: (input) => checked(read(input)) }
}

/** Returns the violations of fields that the form does not declare. */
function unknownFieldViolations(input: Fields, names: readonly string[], ignored: readonly string[]): Violation[] {
  const violations: Violation[] = []
  for (const name in input) {
    if (names.includes(name)) continue
    const violation = ignored.includes(name) ? ignoredField(name, input[name]) : unknownField(name, names)
    if (violation !== null) violations.push(violation)
  }
  return violations
}

function checked<T>({ values, violations }: Reading<T>): T | Failure {
  return violations.length > 0 ? validationFailed(violations) : (values as T)
}

type Absence<T> = (label: string) => T | Refusal

function textOf(raw: unknown, rule: Rule<unknown>, label: string): string | Refusal {
  if (raw === repeated || Array.isArray(raw)) return notSingle(label)
  if (typeof raw !== 'string') {
    if (!(rule.number || rule.boolean)) return new Refusal('not_a_string', `The ${label} field must be a string.`)
    // Converting an object would run its own toString. The name of its type is text that no rule accepts.
    return isAccepted(raw, rule) ? String(raw) : typeof raw
  }
  const text = raw.trim()
  if (unprintable.test(text) || !text.isWellFormed()) {
    return new Refusal(
      'control_characters',
      `The ${label} field must not contain control characters or malformed Unicode.`,
    )
  }
  return text
}

function isAccepted(raw: unknown, { number, boolean }: Rule<unknown>): boolean {
  return (typeof raw === 'number' && number === true) || (typeof raw === 'boolean' && boolean === true)
}

function notSingle(label: string): Refusal {
  return new Refusal('not_single', `The ${label} field must be sent once, as a single value.`)
}

const unprintable = /\p{Cc}/u

function missing(label: string): Refusal {
  return new Refusal('required', `The ${label} field is required.`)
}

/** An ignored field may have any single value. */
function ignoredField(name: string, raw: unknown): Violation | null {
  return raw === repeated ? { field: name, ...notSingle(name) } : null
}

const maxEcho = 64

function unknownField(name: string, names: readonly string[]): Violation {
  const field = name.length > maxEcho ? `${name.slice(0, maxEcho).toWellFormed()}…` : name.toWellFormed()
  const near = names.find((candidate) => distance(candidate, field.toLowerCase()) <= Math.max(1, candidate.length / 3))
  const known = near === undefined ? `Known are: ${names.join(', ')}.` : `Did you mean ${near}?`
  const wayOut = isJson(name) ? 'It looks like JSON: send it with "Content-Type: application/json".' : known
  return {
    field,
    code: 'unknown_field',
    message: `${field === '' ? 'A field without a name' : `The ${field} field`} is unknown. ${wayOut}`,
  }
}

/** Without a Content-Type, curl -d '{…}' sends a form with such a field. */
function isJson(name: string): boolean {
  return /^\{\s*"/.test(name)
}
