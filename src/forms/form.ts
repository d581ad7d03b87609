/** Forms declare the fields of a request once, for validation, types and the OpenAPI schema. */
import { distance } from 'fastest-levenshtein'
import { type Failure, validationFailed } from '../errors.ts'
import { type Fields, isForm, repeated } from '../http/form-encoding.ts'
import { foldCase, trimText } from '../lib/text.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type TSchema, Type } from './json-schema.ts'

/** Parses a value. The text is trimmed, well-formed, not empty, and has only the control characters that the rule allows. */
export interface Rule<T> {
  readonly schema: TSchema
  /** Whether JSON may carry the value as a number. */
  readonly number?: boolean
  /** Whether JSON may carry the value as a boolean. */
  readonly boolean?: boolean
  /** Whether the text may have tabs and line feeds. CR LF becomes LF. */
  readonly multiline?: boolean
  /** `sent` is the text before it was trimmed. */
  parse(text: string, sent?: string): T | Refusal
}

/** A rule, and the meaning of an absent or empty field. `schema` has the default. */
export interface Field<T> extends Omit<Rule<T>, 'parse'> {
  readonly required: boolean
  /** Whether the value may be empty text, or null in JSON. */
  readonly acceptsEmpty: boolean
  /** Whether the value is a list: an array in JSON, or text with commas between the values. */
  readonly list?: boolean
  /** Whether forms have the value as JSON text. */
  readonly json?: boolean
  read(raw: unknown): T | Refusal
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

/** A label for each field of a form. */
export type LabelsOf<F> = F extends Form<infer Values> ? Readonly<Record<keyof Values, string>> : never

/** A field that must be sent with a value. `absent` returns the violation otherwise. */
export function required<T>(rule: Rule<T>, absent = missing): Field<T> {
  return { ...createField(rule, absent, absent), required: true }
}

/** A field that is `fallback` if absent or empty. */
export function optional<T, const F>(rule: Rule<T>, fallback: F): Field<T | F> {
  const schema = fallback === null || fallback === undefined ? rule.schema : { ...rule.schema, default: fallback }
  const absent = () => fallback
  return { ...createField<T | F>(rule, absent, absent), schema, acceptsEmpty: true }
}

/** A field of a change: undefined if absent, and invalid if empty. */
export function change<T>(rule: Rule<T>): Field<T | undefined> {
  return createField<T | undefined>(rule, unsent, missing)
}

/** A field of a change: undefined if absent, and null, which clears it, if empty. */
export function clearable<T>(rule: Rule<T>): Field<T | null | undefined> {
  return { ...createField<T | null | undefined>(rule, unsent, () => null), acceptsEmpty: true }
}

/** A field with a list of texts; `absent` if it was not sent. The first of several texts that differ only in case counts. */
export function list<const Absent>(
  rule: Rule<string>,
  { most, description }: { readonly most: number; readonly description: string },
  absent: Absent,
): Field<readonly string[] | Absent> {
  const { description: _, ...items } = rule.schema as TSchema & { description?: string }
  const schema = Type.Array(items as TSchema, { maxItems: most, description })
  const read = (raw: unknown) => {
    if (raw === undefined) return absent
    if (raw === repeated) return new Refusal('not_single.list')
    const texts = raw === null ? [] : readTexts(raw, most)
    if (texts instanceof Refusal) return texts
    const values = parseValues(texts, rule)
    return Array.isArray(values) && values.length > most ? new Refusal('too_many', { most }) : values
  }
  return { schema, required: false, acceptsEmpty: true, list: true, read }
}

/** Returns the values of texts, without values that differ from an earlier one only in case. */
function parseValues(texts: readonly string[], rule: Rule<string>): string[] | Refusal {
  const values = new Map<string, string>()
  for (const text of texts) {
    const value = rule.parse(text)
    if (value instanceof Refusal) return value
    const folded = foldCase(value)
    if (!values.has(folded)) values.set(folded, value)
  }
  return [...values.values()]
}

/** Texts of one list, with duplicates and empty ones. A body of a megabyte could have half a million. */
const maxTexts = 1_000

/** Returns the non-empty texts in a list. */
function readTexts(raw: unknown, most: number): string[] | Refusal {
  const texts: string[] = []
  const items: readonly unknown[] = Array.isArray(raw) ? raw : [raw]
  if (items.length > maxTexts) return new Refusal('too_many', { most })
  for (const item of items) {
    const text = readText(item, {})
    if (text instanceof Refusal) return text
    if (Array.isArray(raw) && text.includes(',')) return new Refusal('invalid_character.comma')
    const parts = text.split(',', maxTexts + 1)
    if (parts.length > maxTexts) return new Refusal('too_many', { most })
    texts.push(...parts.map(trimText))
  }
  return texts.filter((text) => text !== '')
}

/** A field that cannot change but may be sent back. The value is the text, for a comparison; undefined if absent. */
export function fixed(schema: TSchema, { number = false } = {}): Field<string | undefined> {
  return createField<string | undefined>({ schema, number, parse: (text) => text }, unsent, () => '')
}

const unsent = () => undefined

type Absence<T> = () => T | Refusal

function createField<T>({ parse, ...rule }: Rule<T>, absent: Absence<T>, empty: Absence<T>): Field<T> {
  const read = (raw: unknown) => {
    if (raw === undefined) return absent()
    if (raw === null) return empty()
    const text = readText(raw, rule)
    if (typeof text !== 'string') return text
    return text === '' ? empty() : parse(text, typeof raw === 'string' ? raw : text)
  }
  return { ...rule, required: false, acceptsEmpty: false, read }
}

/** Declares a request's fields. Other names than `ignored` are violations; so is what `conflicts` returns for valid values. */
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
      const value = field.read(input[name])
      if (value instanceof Refusal) violations.push(...value.allAt(name))
      else values[name] = value
    }
    violations.push(...unknownFieldViolations(input, names, ignored))
    // Errors about the whole request are first.
    violations.sort((a, b) => Number(isJson(b.field)) - Number(isJson(a.field)))
    if (violations.length === 0) violations.push(...conflicts(values as T))
    return { values: values as Partial<T>, violations }
  }
  const check = (input: Fields) => {
    const { values, violations } = read(input)
    return violations.length > 0 ? validationFailed(violations) : (values as T)
  }
  return { fields, ignored, read, check }
}

function unknownFieldViolations(input: Fields, names: readonly string[], ignored: readonly string[]): Violation[] {
  /** The field before, if its value is a URL that an ampersand has probably ended. */
  let cut: string | null = null
  return Object.keys(input).flatMap((name) => {
    const isKnown = names.includes(name)
    if (isKnown || ignored.includes(name)) {
      cut = isForm(input) && /^\s*https?:[^#]*\?/i.test(String(input[name])) ? name : null
      return !isKnown && input[name] === repeated ? notSingle.at(name) : []
    }
    return unknownField(name, names, cut)
  })
}

function readText(raw: unknown, { number, boolean, multiline }: Partial<Rule<unknown>>): string | Refusal {
  if (raw === repeated || Array.isArray(raw)) return notSingle
  if (typeof raw !== 'string') {
    if (!(number || boolean)) return new Refusal('not_a_string')
    const isAccepted = (typeof raw === 'number' && number) || (typeof raw === 'boolean' && boolean)
    // Converting an object would run its own toString. The name of its type is text that no rule accepts.
    return isAccepted ? String(raw) : typeof raw
  }
  const text = trimText(multiline ? raw.replaceAll('\r\n', '\n') : raw)
  const controls = multiline ? /[^\P{Cc}\t\n]/u : /\p{Cc}/u
  return !controls.test(text) && text.isWellFormed() ? text : new Refusal('control_characters')
}

const notSingle = new Refusal('not_single')
const missing = () => new Refusal('required')

const maxEcho = 64

/** `cut` is the field with a URL before this one. */
function unknownField(name: string, names: readonly string[], cut: string | null): Violation {
  const field = name.length > maxEcho ? `${name.slice(0, maxEcho).toWellFormed()}…` : name.toWellFormed()
  const near = names.find((candidate) => {
    const most = Math.max(1, candidate.length / 3)
    // The distance takes long to compute, and a request may have 100,000 unknown fields.
    const isPossible = Math.abs(candidate.length - field.length) <= most
    return isPossible && distance(candidate, field.toLowerCase()) <= most
  })
  const belongs = `If it belongs to the ${cut}, send & as %26, as curl --data-urlencode does.`
  const suggested = near === undefined ? [] : [`Did you mean ${near}?`]
  const known = cut === null ? (suggested[0] ?? `Known are: ${names.join(', ')}.`) : [...suggested, belongs].join(' ')
  const wayOut = isJson(name) ? 'It looks like JSON: send it with "Content-Type: application/json".' : known
  return new Refusal(field === '' ? 'unknown_field.unnamed' : 'unknown_field', { wayOut }).at(field)
}

/** Without a Content-Type, curl -d '{…}' sends a form with such a field. */
function isJson(name: string): boolean {
  return /^\{\s*"/.test(name)
}
