/**
 * The conditions of rules. Each entry of the table has its label and its words, its form control and its field in requests.
 * Validation, documents, forms and sentences derive from it. `matchers.ts` has which visitors a condition matches.
 */
import { browsers, countryCodes, devices, operatingSystems } from '../analytics/capture/names.ts'
import { change, type Field, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { listIn, objectRefusal } from '../forms/json-text.ts'
import { boundedText, integer, oneOf, parseTime } from '../forms/rules.ts'
import { Refusal } from '../violations.ts'
import { type ConditionName, type Conditions, hoursOfDay, parseHours } from './rule.ts'

export interface Condition<Value> {
  readonly label: string
  /** The words between "If" and the value. */
  readonly words: string
  /** The form control. `choices` shows all options, because they are few. */
  readonly control: 'list' | 'choices' | 'query' | 'time' | 'hours'
  /** A list's valid values. Without them, any text can be valid. */
  readonly options?: readonly (string | number)[]
  /** Undefined if absent, and invalid if empty: a rule that lost its condition would match everyone. */
  readonly field: Field<Value | undefined>
}

/** Returns a condition with a list of values. */
function listCondition<Value extends string | number>(
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
  options: readonly string[],
  parts: Pick<Condition<unknown>, 'label' | 'words' | 'control'>,
): Condition<readonly string[]> {
  const description = `The ${parts.label.toLowerCase()}, as in statistics.`
  return listCondition(oneOf(options, ''), description, {
    ...parts,
    options,
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
  countries: listCondition(country, 'ISO 3166-1 alpha-2 codes. An unknown country matches none.', {
    label: 'Country',
    words: 'the country is',
    control: 'list',
    options: countryCodes,
  }),
  languages: listCondition(
    language,
    'Language ranges such as `de` or `pt-BR`, compared with the most preferred language.',
    {
      label: 'Language',
      words: 'the language is',
      control: 'list',
    },
  ),
  devices: software(devices, { label: 'Device', words: 'the device is', control: 'choices' }),
  operating_systems: software(operatingSystems, {
    label: 'Operating system',
    words: 'the operating system is',
    control: 'list',
  }),
  browsers: software(browsers, { label: 'Browser', words: 'the browser is', control: 'list' }),
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
  },
  from: {
    label: 'From',
    words: 'the time is from',
    control: 'time',
    field: time('The rule matches from this time.'),
  },
  until: {
    label: 'Until',
    words: 'the time is before',
    control: 'time',
    field: time('The rule matches before this time.'),
  },
  weekdays: listCondition<number>(
    { ...integer({ maximum: 7, description: 'From 1, Monday, to 7, Sunday.' }), number: true },
    'Days of the week in the time zone of the account.',
    {
      label: 'Weekday',
      words: 'the weekday is',
      control: 'choices',
      options: [1, 2, 3, 4, 5, 6, 7],
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
  },
}

export const conditionNames = Object.keys(conditions) as ConditionName[]
