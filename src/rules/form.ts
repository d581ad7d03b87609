/** The rules of a link in requests and documents: their field, its checks and its schema. */
import type { TUnsafe } from 'typebox'
import { type Field, type Form, form, optional, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { listIn, objectRefusal, readJsonText } from '../forms/json-text.ts'
import { boundedText, destinationUrl, integer } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { trimText } from '../lib/text.ts'
import { maxTargetLength } from '../names/web-url.ts'
import { PartRefusals, Refusal, type Violation } from '../violations.ts'
import { conditionNames, conditions } from './conditions.ts'
import { type RedirectRule, storedRules, type Variant, variantName } from './rule.ts'

export const maxRules = 20
/** In bytes of UTF-8. */
const maxBytes = 16 * 1_024
export const maxRuleName = 50
export const maxVariants = 10
const [minVariants, maxWeight] = [2, 100]

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
    if (raw === undefined || raw === null || raw === '') return undefined
    const list = listIn(raw, maxVariants)
    if (list instanceof Refusal) return list
    if (list.length === 0) return new Refusal('required')
    if (list.length < minVariants)
      return new Refusal('not_allowed.text', { options: `a list of at least ${minVariants} destinations` })
    const { values, refused } = readAll(list, variantForm)
    return refused.length > 0 ? new PartRefusals(refused) : (values as Variant[])
  },
}

const conditionFields = Object.fromEntries(conditionNames.map((name) => [name, conditions[name].field]))

const members = {
  name: required(boundedText(maxRuleName, 'The name, unique within the link. Statistics show it.')),
  ...conditionFields,
  url: optional(url, undefined),
  urls: variants,
} as Parameters<typeof form<RedirectRule>>[0]

function conflictsIn({ url, urls, from, until }: RedirectRule): Violation[] {
  const found: Violation[] = []
  if (url !== undefined && urls !== undefined)
    found.push(new Refusal('not_allowed.reference', { others: ['url'] }).at('urls'))
  if (from !== undefined && until !== undefined && from >= until) {
    found.push(new Refusal('not_after_start', { start: ['from'], startLabel: conditions.from.label }).at('until'))
  }
  return found
}

const ruleForm = form<RedirectRule>(members, [], conflictsIn)
const ruleFormWithUrl = form<RedirectRule>({ ...members, url: required(url) }, [], conflictsIn)

function readRule(fields: Fields) {
  const hasVariants = fields.urls !== undefined && fields.urls !== null && fields.urls !== ''
  return (hasVariants ? ruleForm : ruleFormWithUrl).read(fields)
}

/** Unknown members that are named. More would take long to compare with the known ones. */
const maxUnknown = 5

/** Reads the objects of a list. Values are complete if no part is refused. Refused parts have places such as `2.url`. */
function readAll<T>(list: readonly unknown[], { fields, read }: Form<T>) {
  const most = Object.keys(fields).length + maxUnknown
  const refused: [string, Refusal][] = []
  const values = list.map((item, at): Partial<T> => {
    const refusal = objectRefusal(item, most)
    if (refusal !== null) refused.push([String(at), refusal])
    const { values, violations } = refusal === null ? read(item as Fields) : { values: {}, violations: [] }
    for (const { field, refusal } of violations) refused.push([`${at}.${field}`, refusal])
    return values
  })
  return { values, refused }
}

/** Returns the JSON of a list of rules, null for an empty list, or a refusal. The members of rules have a fixed order. */
function readRules(raw: unknown): string | null | Refusal {
  const sent = typeof raw === 'string' ? parseList(raw) : raw
  if (sent === null || sent instanceof Refusal) return sent
  const list = listIn(sent, maxRules)
  if (list instanceof Refusal) return list
  // The JSON that is stored can be shorter, because it has no duplicates.
  if (JSON.stringify(list).length > 4 * maxBytes) return tooLong
  const { values, refused } = readAll(list, { ...ruleForm, read: readRule })
  refused.push(...nameClashes(values))
  if (refused.length > 0) return new PartRefusals(refused)
  const text = storedRules(values as RedirectRule[])
  return text !== null && isTooLong(text) ? tooLong : text
}

const tooLong = new Refusal('too_long.json', { most: maxBytes })

function isTooLong(text: string): boolean {
  return Buffer.byteLength(text) > maxBytes
}

function parseList(text: string): unknown {
  // First, because the rest takes long.
  if (isTooLong(text)) return tooLong
  const trimmed = trimText(text)
  if (trimmed === '') return null
  const read = readJsonText(trimmed)
  return read instanceof Refusal ? read : read.value
}

/** Returns the refusals of names that statistics could not tell from another rule or variant. */
function nameClashes(rules: readonly Partial<RedirectRule>[]): [string, Refusal][] {
  const known = new Set<string>()
  const found: [string, Refusal][] = []
  for (const [at, { name, urls }] of rules.entries()) {
    if (name === undefined) continue
    const values = urls === undefined ? [name] : [name, ...urls.map((_, variant) => variantName(name, variant + 1))]
    if (values.some((value) => known.has(value))) found.push([`${at}.name`, new Refusal('taken.rule', { name })])
    for (const value of values) known.add(value)
  }
  return found
}

/** Returns the field with the rules of a link, which is `absent` if it was not sent, and null if it is empty. */
export function rulesField<const Absent>(absent: Absent): Field<string | null | Absent> {
  return {
    schema: rulesSchema,
    required: false,
    acceptsEmpty: true,
    json: true,
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
  Type.Object(properties, {
    $id: 'Rule',
    description: 'A rule, with `url` or with `urls`. All of its conditions must match.',
    required: ['name'],
    additionalProperties: false,
  }),
  {
    maxItems: maxRules,
    description:
      'The first rule that matches a visitor determines the destination. If none matches, and for bots and previews, it is `url`. As JSON text in forms and CSV. At most 16 KiB.',
  },
) as unknown as TUnsafe<readonly RedirectRule[]>
