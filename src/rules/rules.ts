/** The rules of a link: a list that determines the destination of each visitor. Stored as the JSON of the list. */
import type { TUnsafe } from 'typebox'
import { type Field, form, optional, type Reading, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { boundedText, destinationUrl, integer } from '../forms/rules.ts'
import { maxTargetLength } from '../names/web-url.ts'
import { PartRefusals, Refusal, type Violation } from '../violations.ts'
import { type Conditions, conditionNames, conditions } from './conditions.ts'

export interface Variant {
  readonly url: string
  readonly weight: number
}

/** A rule as records have it: with a URL, or with variants. */
export interface Rule extends Conditions {
  readonly name: string
  readonly url?: string
  readonly urls?: readonly Variant[]
}

export const maxRules = 20
/** In bytes of UTF-8. */
const maxBytes = 16 * 1_024
export const maxRuleName = 50
const [minVariants, maxVariants, maxWeight] = [2, 10, 100]

const url = destinationUrl('The destination of visitors who match.', maxTargetLength)
const weight = integer({ maximum: maxWeight, description: 'The share of visitors, relative to the other weights.' })
const variantForm = form<Variant>({ url: required(url), weight: required({ ...weight, number: true }) })

const variants: Field<readonly Variant[] | undefined> = {
  schema: Type.Array(Type.Object({ url: url.schema, weight: weight.schema }), {
    minItems: minVariants,
    maxItems: maxVariants,
    description: 'Destinations that are drawn by weight. A visitor gets the same one for a day.',
  }),
  required: false,
  acceptsEmpty: false,
  read: (raw) => {
    if (raw === undefined) return undefined
    if (raw === null || (Array.isArray(raw) && raw.length === 0)) return new Refusal('required')
    if (!Array.isArray(raw)) return new Refusal('not_a_list')
    if (raw.length > maxVariants) return new Refusal('too_many', { most: maxVariants })
    if (raw.length < minVariants) return new Refusal('not_allowed', { options: `a list of at least ${minVariants}` })
    return readAll(raw, variantForm.read)
  },
}

const conditionFields = Object.fromEntries(conditionNames.map((name) => [name, conditions[name].field]))

const ruleForm = form<Rule>(
  {
    name: required(boundedText(maxRuleName, 'The name, unique within the link. Statistics show it.')),
    ...conditionFields,
    url: optional(url, undefined),
    urls: variants,
  } as Parameters<typeof form<Rule>>[0],
  [],
  (rule) => {
    const { url, urls, from, until } = rule
    const found: Violation[] = []
    if (url === undefined && urls === undefined) found.push(new Refusal('required').at('url'))
    if (url !== undefined && urls !== undefined)
      found.push(new Refusal('not_allowed.reference', { others: 'url' }).at('urls'))
    if (from !== undefined && until !== undefined && from >= until) {
      found.push(new Refusal('not_after_start', { start: 'from', startLabel: conditions.from.label }).at('until'))
    }
    return found
  },
)

/** Reads the objects of a list. Refusals have places such as `2.url`. */
function readAll<T>(
  list: readonly unknown[],
  read: (fields: Readonly<Record<string, unknown>>) => Reading<T>,
): T[] | Refusal {
  const values: T[] = []
  const refused: [string, Refusal][] = []
  for (const [at, item] of list.entries()) {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      refused.push([String(at), new Refusal('not_an_object')])
      continue
    }
    const { values: read_, violations } = read(item as Readonly<Record<string, unknown>>)
    values.push(read_ as T)
    refused.push(...violations.map(({ field, refusal }): [string, Refusal] => [`${at}.${field}`, refusal]))
  }
  return refused.length > 0 ? new PartRefusals(refused) : values
}

/** Returns the JSON of a list of rules, null for an empty list, or a refusal. The members of rules have a fixed order. */
function readRules(raw: unknown): string | null | Refusal {
  const list = typeof raw === 'string' ? parseList(raw) : raw
  if (list === null) return null
  if (!Array.isArray(list)) return list instanceof Refusal ? list : new Refusal('not_a_list')
  if (list.length > maxRules) return new Refusal('too_many', { most: maxRules })
  const rules = readAll(list, ruleForm.read)
  if (rules instanceof Refusal) return rules
  const clashes = nameClashes(rules)
  if (clashes.length > 0) return new PartRefusals(clashes)
  return rulesText(rules)
}

/** Returns the JSON of checked rules; null for none. Refuses JSON that is too long. */
function rulesText(rules: readonly Rule[]): string | null | Refusal {
  const text = rules.length === 0 ? null : JSON.stringify(rules)
  return text !== null && Buffer.byteLength(text) > maxBytes ? new Refusal('too_long.json', { most: maxBytes }) : text
}

function parseList(text: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return new Refusal('not_a_list')
  }
}

/** Returns the refusals of names that statistics could not tell from another rule or variant. */
function nameClashes(rules: readonly Rule[]): [string, Refusal][] {
  const known = new Set<string>()
  const found: [string, Refusal][] = []
  for (const [at, { name, urls }] of rules.entries()) {
    const values = urls === undefined ? [name] : [name, ...urls.map((_, variant) => variantName(name, variant + 1))]
    if (values.some((value) => known.has(value))) found.push([`${at}.name`, new Refusal('taken.rule', { name })])
    for (const value of values) known.add(value)
  }
  return found
}

/** Returns the value of a variant in statistics. Positions start at 1. */
export function variantName(rule: string, position: number): string {
  return `${rule} ${position}`
}

/** Returns the field with the rules of a link, which is `absent` if it was not sent, and null if it is empty. */
export function rulesField<const Absent>(absent: Absent): Field<string | null | Absent> {
  return {
    schema: rulesSchema,
    required: false,
    acceptsEmpty: true,
    list: true,
    read: (raw) => (raw === undefined ? absent : raw === null ? null : readRules(raw)),
  }
}

const properties = Object.fromEntries(
  Object.entries(ruleForm.fields as Readonly<Record<string, Field<unknown>>>).map(([name, { schema }]) => [
    name,
    schema,
  ]),
)

export const rulesSchema = Type.Array(
  Type.Object(properties, { $id: 'Rule', required: ['name'], additionalProperties: false }),
  {
    maxItems: maxRules,
    description:
      'Rules in order: the first that matches a visitor determines the destination. All conditions of a rule must match. In forms and CSV, the JSON of the list. At most 16 KiB.',
  },
) as unknown as TUnsafe<readonly Rule[]>

/** Returns the rules of a stored link. */
export function rulesOf({ rules }: { readonly rules: string | null }): readonly Rule[] {
  return rules === null ? [] : JSON.parse(rules)
}

/** A destination of a rule, with its place in the field `rules`, such as `0.urls.1.url`. */
interface RuleDestination {
  readonly place: string
  readonly url: string
}

/** Returns the destinations of rules in their order. */
export function ruleDestinations(rules: readonly Rule[]): RuleDestination[] {
  return rules.flatMap(({ url, urls }, at) =>
    url === undefined
      ? (urls ?? []).map((variant, index) => ({ place: `${at}.urls.${index}.url`, url: variant.url }))
      : [{ place: `${at}.url`, url }],
  )
}
