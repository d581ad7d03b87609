/**
 * The conditions of rules. Each entry of the table has its label and its words, its form control, its field in requests, and which
 * visitors it matches. Validation, documents, forms, sentences and decisions derive from it. Pure.
 */
import { normalizeLanguage } from '../analytics/capture/language.ts'
import { browsers, countryCodes, devices, operatingSystems } from '../analytics/capture/names.ts'
import { change, type Field, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { boundedText, integer, oneOf } from '../forms/rules.ts'
import { parseTime } from '../forms/times.ts'
import { memoized } from '../lib/lru-cache.ts'
import { Refusal } from '../violations.ts'
import { listIn, objectRefusal } from './json-values.ts'

/** What conditions look at. Each fact is computed when it is first read, and null if it is unknown. */
export interface RuleVisitor {
  /** Unix milliseconds. */
  readonly atMs: number
  /** The ISO 3166-1 alpha-2 code. */
  readonly country: string | null
  /** The tag of the most preferred language, in lower case. */
  readonly language: string | null
  readonly software: {
    readonly device: string | null
    readonly operating_system: string | null
    readonly browser: string | null
  }
  /** The query of the visited URL. */
  readonly query: Pick<URLSearchParams, 'has'>
}

/** The time of a visit in the time zone of the account. */
export interface LocalTime {
  /** From Monday, 1, to Sunday, 7. */
  readonly weekday: number
  /** The minutes since midnight. */
  readonly minute: number
}

/** The conditions of a rule by name, as records have them. */
export interface Conditions {
  readonly countries?: readonly string[]
  readonly languages?: readonly string[]
  readonly devices?: readonly string[]
  readonly operating_systems?: readonly string[]
  readonly browsers?: readonly string[]
  readonly query?: Readonly<Record<string, string | null>>
  readonly from?: string
  readonly until?: string
  readonly weekdays?: readonly number[]
  readonly hours?: string
}

export type ConditionName = keyof Conditions

export interface Condition<Value> {
  readonly label: string
  /** The words between "If" and the value. */
  readonly words: string
  /** The form control. `choices` shows all options, because they are few. */
  readonly control: 'list' | 'choices' | 'query' | 'time' | 'hours'
  /** The valid values of a list. Without them, any text can be valid. */
  readonly options?: readonly (string | number)[]
  /** Data that must be loaded before the condition can be decided. */
  readonly needs?: 'country'
  /** Undefined if absent, and invalid if empty: a rule that lost its condition would match everyone. */
  readonly field: Field<Value | undefined>
  readonly matches: (value: Value, visitor: RuleVisitor, time: LocalTime, rule: Conditions) => boolean
}

/** Returns a condition with a list of values. */
function listOf<Value extends string | number>(
  rule: Rule<Value>,
  description: string,
  condition: Omit<Condition<readonly Value[]>, 'field'>,
): Condition<readonly Value[]> {
  const item = required(rule)
  const schema = Type.Array(rule.schema, { minItems: 1, maxItems: maxValues, description })
  const read = (raw: unknown) => {
    if (raw === undefined) return undefined
    if (raw === null || raw === '') return new Refusal('required')
    const list = listIn(raw, maxValues)
    if (list instanceof Refusal) return list
    const values = list.map((each) => item.read(each))
    const at = values.findIndex((value) => value instanceof Refusal)
    if (at >= 0) return namedRefusal(values[at] as Refusal, list[at])
    return values.length === 0 ? new Refusal('required') : [...new Set(values as Value[])]
  }
  return { ...condition, field: { schema, required: false, acceptsEmpty: false, read } }
}

/** Every country. */
const maxValues = 250

/** Returns the refusal of an item. If possible, its message names the item, because lists can be long. */
function namedRefusal(refusal: Refusal, value: unknown): Refusal {
  const { options } = refusal.params
  if (refusal.code !== 'not_allowed' || options === undefined || !nameable.test(String(value))) return refusal
  return new Refusal('not_allowed.value', { value: String(value), options })
}

/** Short texts without control characters. */
const nameable = /^[\p{L}\p{N}\p{P}\p{S} ]{1,40}$/u

/** A rule for a country code, in any case. Clients need not know all of them. */
export const country: Rule<string> = {
  schema: Type.String({ pattern: '^[A-Za-z]{2}$' }),
  parse: (text) => {
    // Some letters have two letters as their capital.
    const code = text.length === 2 ? text.toUpperCase() : text
    return countries.has(code) ? code : new Refusal('not_allowed', { options: 'an ISO 3166-1 country code such as DE' })
  },
}

const countries: ReadonlySet<string> = new Set(countryCodes)

/** Returns a condition on what software the visitor uses. */
function software(
  fact: keyof RuleVisitor['software'],
  options: readonly string[],
  parts: Pick<Condition<unknown>, 'label' | 'words' | 'control'>,
): Condition<readonly string[]> {
  const description = `The ${parts.label.toLowerCase()}, as in statistics.`
  return listOf(oneOf(options, ''), description, {
    ...parts,
    options,
    matches: (values, { software: { [fact]: value } }) => value !== null && values.includes(value),
  })
}

/** RFC 4647 §2.1: basic language ranges. Like visitors' languages, they begin with two or three letters: others match none. */
const languageRange = /^(?:[a-z]{2,3}(?:-[a-z\d]{1,8})*|\*)$/i

const language: Rule<string> = {
  schema: Type.String({ pattern: '^(?:[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*|\\*)$', maxLength: 64 }),
  parse: (text) =>
    text.length <= 64 && languageRange.test(text)
      ? text
      : new Refusal('not_allowed.text', { options: 'a language such as de or pt-BR' }),
}

const normalizedRange = memoized(normalizeLanguage)

/** Returns whether a range matches a tag in lower case by basic filtering (RFC 4647 §3.3.1). */
function matchesLanguage(range: string, tag: string): boolean {
  const prefix = normalizedRange(range)
  return prefix === '*' || tag === prefix || tag.startsWith(`${prefix}-`)
}

/** `HH:MM-HH:MM`. Only the end can be 24:00. */
const hoursOfDay = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/

/** Returns the minutes from midnight to the start and to the end; null for other texts, and for a period without a minute. */
function parseHours(text: string): { readonly start: number; readonly end: number } | null {
  const [, h = '', m, untilH, untilM] = hoursOfDay.exec(text) ?? []
  const [start, end] = [Number(h) * 60 + Number(m), Number(untilH) * 60 + Number(untilM)]
  return h !== '' && end <= minutesPerDay && start !== end ? { start, end } : null
}

const minutesPerDay = 1_440

/** Returns whether the time is on the last night's part of a period such as 22:00-06:00, which belongs to the day before. */
function isAfterMidnight({ minute }: LocalTime, { hours }: Conditions): boolean {
  const period = hours === undefined ? null : parseHours(hours)
  return period !== null && period.start > period.end && minute < period.end
}

const parameterName = required(boundedText(255, ''))
const parameterValue = required(boundedText(1_024, ''))
const maxParameters = 20

/** Reads the parameters that a query must have. Null stands for any value. */
function readQuery(raw: unknown): Readonly<Record<string, string | null>> | Refusal | undefined {
  if (raw === undefined) return undefined
  if (raw === null || raw === '') return new Refusal('required')
  const refusal = objectRefusal(raw, maxParameters)
  if (refusal !== null) return refusal
  const sent = Object.entries(raw as Readonly<Record<string, unknown>>)
  if (sent.length === 0) return new Refusal('required')
  const entries: [string, string | null][] = []
  for (const [name, value] of sent) {
    const read = [
      parameterName.read(name),
      value === null || value === '' ? value : parameterValue.read(value),
    ] as const
    for (const part of read) if (part instanceof Refusal) return part
    entries.push(read as [string, string | null])
  }
  return Object.fromEntries(entries)
}

const time = (description: string): Field<string | undefined> =>
  change({ schema: Type.String({ description: `${description} RFC 3339.` }), parse: parseTime })

/** The conditions in the order of records and forms. All of a rule's conditions must match. */
export const conditions: { readonly [Name in ConditionName]: Condition<Required<Conditions>[Name]> } = {
  countries: listOf(country, 'ISO 3166-1 alpha-2 codes. An unknown country matches none.', {
    label: 'Country',
    words: 'the country is',
    control: 'list',
    options: countryCodes,
    needs: 'country',
    matches: (codes, { country: code }) => code !== null && codes.includes(code),
  }),
  languages: listOf(language, 'Language ranges such as `de` or `pt-BR`, compared with the most preferred language.', {
    label: 'Language',
    words: 'the language is',
    control: 'list',
    matches: (ranges, { language: tag }) => tag !== null && ranges.some((range) => matchesLanguage(range, tag)),
  }),
  devices: software('device', devices, { label: 'Device', words: 'the device is', control: 'choices' }),
  operating_systems: software('operating_system', operatingSystems, {
    label: 'Operating system',
    words: 'the operating system is',
    control: 'list',
  }),
  browsers: software('browser', browsers, { label: 'Browser', words: 'the browser is', control: 'list' }),
  query: {
    label: 'Query',
    words: 'the query has',
    control: 'query',
    field: {
      schema: Type.Object(
        {},
        {
          minProperties: 1,
          maxProperties: maxParameters,
          additionalProperties: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          description: 'Parameters that the visited URL must have, all of them. Null stands for any value.',
        },
      ),
      required: false,
      acceptsEmpty: false,
      read: readQuery,
    },
    matches: (parameters, { query }) =>
      Object.entries(parameters).every(([name, value]) => (value === null ? query.has(name) : query.has(name, value))),
  },
  from: {
    label: 'From',
    words: 'the time is from',
    control: 'time',
    field: time('The rule matches from this time.'),
    matches: (from, { atMs }) => atMs >= Date.parse(from),
  },
  until: {
    label: 'Until',
    words: 'the time is before',
    control: 'time',
    field: time('The rule matches before this time.'),
    matches: (until, { atMs }) => atMs < Date.parse(until),
  },
  weekdays: listOf<number>(
    { ...integer({ maximum: 7, description: 'From 1, Monday, to 7, Sunday.' }), number: true },
    'Days of the week in the time zone of the account.',
    {
      label: 'Weekday',
      words: 'the weekday is',
      control: 'choices',
      options: [1, 2, 3, 4, 5, 6, 7],
      matches: (days, _, local, rule) => {
        const day = isAfterMidnight(local, rule) ? ((local.weekday + 5) % 7) + 1 : local.weekday
        return days.includes(day)
      },
    },
  ),
  hours: {
    label: 'Hours',
    words: 'the time of day is',
    control: 'hours',
    field: change<string>({
      schema: Type.String({
        pattern: hoursOfDay.source,
        description:
          'A period such as `09:00-17:30` in the time zone of the account, without its end. `22:00-06:00` belongs to the day on which it starts.',
      }),
      parse: (text) =>
        parseHours(text) === null ? new Refusal('not_allowed.text', { options: 'a period such as 09:00-17:30' }) : text,
    }),
    matches: (hours, _, { minute }) => {
      const period = parseHours(hours)
      if (period === null) return false
      const { start, end } = period
      return start < end ? minute >= start && minute < end : minute >= start || minute < end
    },
  },
}

export const conditionNames = Object.keys(conditions) as ConditionName[]
