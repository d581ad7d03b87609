/** Options for the fields of a form, so that commands have the fields, descriptions and rules of the API. */
import { withHttps } from '../dashboard/scripts/destination.js'
import { Failure, StartupFailure } from '../errors.ts'
import type { Field, Form } from '../forms/form.ts'
import type { TSchema } from '../forms/json-schema.ts'
import type { Fields } from '../http/form-encoding.ts'
import { program } from '../version.ts'
import type { Violation } from '../violations.ts'
import { type Argument, limit, optional, text, WrongUse, withDefault } from './arguments.ts'

/** Fields that refer to records, and their options, which take names, too. */
const referenceOptions: Readonly<Record<string, string>> = {
  domain_id: 'domain',
  space_id: 'space',
  link_id: 'link',
  tag_id: 'tag',
  address_id: 'address',
}

const referenceWays: Readonly<Record<string, string>> = { link_id: 'short URL, alias or ID', address_id: 'ID' }
/** Options that are repeated for several values. */
const singular: Readonly<Record<string, string>> = { tags: 'tag', columns: 'column' }

type FieldOptions = Readonly<Record<string, Argument<string | undefined>>>

/** Returns an option for each form field, except for these. */
export function formOptions({ fields }: Form<unknown>, except: readonly string[] = []): FieldOptions {
  const entries = Object.entries<Field<unknown>>(fields).filter(([name]) => !except.includes(name))
  return Object.fromEntries(entries.map(([name, field]) => [optionName(name), fieldOption(name, field, fields)]))
}

/** Returns an option for each parameter of a list, which has one page. */
export function listOptions(query: Form<unknown>) {
  const count = withDefault('N', 'how many to show, from 1 to 1000 (default 25)', '25', limit)
  return { ...formOptions(query, ['per_page', 'page', 'after']), limit: count }
}

export function optionName(field: string): string {
  return referenceOptions[field] ?? singular[field] ?? field.replaceAll('_', '-')
}

function fieldOption(
  name: string,
  { schema, list = false, json = false }: Field<unknown>,
  fields: Form<unknown>['fields'],
): Argument<string | undefined> {
  const { type } = schema as { readonly type?: string }
  // Lists have ids of tags as text. Statistics have one tag.
  const isRepeatable = list || (name === 'tag_id' && type === 'string')
  const help = (isRepeatable ? tagHelp[name] : undefined) ?? fieldHelp(name, { fields })
  return { ...optional(json ? 'JSON' : fieldPlaceholder(name, schema), help, text), isRepeatable }
}

const tagHelp: Readonly<Record<string, string>> = {
  tags: 'a tag. Repeat the option for more. A new name becomes a tag',
  tag_id: 'only links with this tag, by ID or name. Repeat the option for links that have all these tags',
}

/** Returns the values of an option with few values, otherwise a word for its type. */
function fieldPlaceholder(name: string, schema: TSchema): string {
  const { enum: values, type, format } = schema as { enum?: readonly unknown[]; type?: string; format?: string }
  if (name === 'tags' || name in referenceOptions) return optionName(name).toUpperCase()
  if (values !== undefined) return values.join('|')
  if (type === 'boolean') return 'true|false'
  if (type === 'integer') return 'N'
  if (format === 'date') return 'DAY'
  if (/(^|_)at$/.test(name)) return 'TIME'
  return name.endsWith('url') ? 'URL' : 'TEXT'
}

/** Returns the description in the style of other options: without Markdown, API names, a capital and a final period. */
export function fieldHelp(name: string, { fields }: Pick<Form<unknown>, 'fields'>): string {
  const { description = '' } = ((fields as Readonly<Record<string, Field<unknown>>>)[name]?.schema ?? {}) as {
    description?: string
  }
  const plain = description
    .replaceAll(/`(\w+)(?:=(\w+))?`/g, (code, word, value) =>
      Object.hasOwn(fields, word) ? nameCode(word, value) : code,
    )
    .replaceAll('`', '"')
    .replace(/\.$/, '')
  const ways = referenceWays[name] ?? 'ID or name'
  const sentence = name in referenceOptions ? plain.replace(/^[^.,]*/, `$&, by ${ways}`) : plain
  return /^[A-Z][a-z ]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence
}

/** Returns the option for code such as `conflict=rename`. The field `name` is an argument without an option. */
function nameCode(field: string, value = ''): string {
  if (field === 'name' && value !== '') return value
  return value === '' ? `--${optionName(field)}` : `--${optionName(field)} ${value}`
}

/** Returns the fields that were given as options. URLs may lack `https://`. */
export function givenFields({ fields }: Form<unknown>, values: Readonly<Record<string, unknown>>): Fields {
  const given = Object.keys(fields).map((name) => [name, values[optionName(name)]] as const)
  return Object.fromEntries(
    given.flatMap(([name, value]) => {
      if (value === undefined) return []
      return [[name, name.endsWith('url') && typeof value === 'string' ? withHttps(value) : value]]
    }),
  )
}

/** Throws `WrongUse` if the form rejects the fields. The field `operand` is the argument without a name. */
export function checkFields(form: Form<unknown>, fields: Fields, operand?: string): void {
  const { violations } = form.read(fields)
  if (violations.length > 0) throw new WrongUse(formatViolations(violations, form, operand))
}

/** Returns a failure with violations as a `StartupFailure` with the names of options; other errors unchanged. */
export function explained(error: unknown, form: Form<unknown>, operand?: string): unknown {
  if (!(error instanceof Failure) || error.facts.violations === undefined) return error
  return new StartupFailure(formatViolations(error.facts.violations, form, operand))
}

/** Returns a line for each violation. Fields of the form have their option as the label; `operand` has no option. */
function formatViolations(violations: readonly Violation[], form: Form<unknown>, operand?: string): string {
  return violations
    .map(({ field, refusal }) => {
      const [name = ''] = field.split('.', 1)
      const isGiven = name === operand || Object.hasOwn(form.fields, name)
      const label = field === operand ? operandLabel(field) : `--${optionName(name)}${field.slice(name.length)}`
      const sentence = refusal.forCommand(field, nameField, program)
      return isGiven ? `${label}: ${sentence}` : sentence
    })
    .join('\n')
}

/** Returns a field's name in a sentence. Only names of several words differ from their options. */
function nameField(field: string): string {
  return /^\w+_\w+$/.test(field) ? `--${optionName(field)}` : field
}

function operandLabel(field: string): string {
  return field === 'body' ? 'FILE' : field.toUpperCase()
}
