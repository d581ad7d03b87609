/** Options for the fields of a form, so that commands have the fields, descriptions and rules of the API. */
import { withHttps } from '../dashboard/scripts/destination.js'
import { Failure, StartupFailure } from '../errors.ts'
import type { Field, Form } from '../forms/form.ts'
import type { TSchema } from '../forms/json-schema.ts'
import type { Fields } from '../http/form-encoding.ts'
import { program } from '../version.ts'
import type { Violation } from '../violations.ts'
import type { Warning } from '../warnings.ts'
import { type Argument, limit, optional, text, WrongUse, withDefault } from './arguments.ts'
import type { Terminal } from './command.ts'

/** Fields that refer to records, and their options, which take names, too. */
const referenceOptions: Readonly<Record<string, string>> = {
  domain_id: 'domain',
  space_id: 'space',
  link_id: 'link',
  tag_id: 'tag',
  address_id: 'address',
}

const waysOf: Readonly<Record<string, string>> = { link_id: 'short URL, alias or ID', address_id: 'ID' }
/** Options that are repeated for several values. */
const singular: Readonly<Record<string, string>> = { tags: 'tag', columns: 'column' }

type FieldOptions = Readonly<Record<string, Argument<string | undefined>>>

/** Returns an option for each field of the form, except for these. */
export function optionsOf({ fields }: Form<unknown>, except: readonly string[] = []): FieldOptions {
  const entries = Object.entries<Field<unknown>>(fields).filter(([name]) => !except.includes(name))
  const isField = (name: string) => Object.hasOwn(fields, name)
  return Object.fromEntries(entries.map(([name, field]) => [optionNameOf(name), optionOf(name, field, isField)]))
}

/** Returns an option for each parameter of a list, which has one page. */
export function listOptionsOf(query: Form<unknown>) {
  const count = withDefault('N', 'how many to show, from 1 to 1000 (default 25)', '25', limit)
  return { ...optionsOf(query, ['per_page', 'page', 'after']), limit: count }
}

function optionNameOf(field: string): string {
  return referenceOptions[field] ?? singular[field] ?? field.replaceAll('_', '-')
}

function optionOf(
  name: string,
  { schema, list = false, json = false }: Field<unknown>,
  isField: (name: string) => boolean,
): Argument<string | undefined> {
  const { description = '', type } = schema as { readonly description?: string; readonly type?: string }
  // Lists have ids of tags as text. Statistics have one tag.
  const isRepeatable = list || (name === 'tag_id' && type === 'string')
  const help = (isRepeatable ? tagHelp[name] : undefined) ?? helpOf(name, description, isField)
  return { ...optional(json ? 'JSON' : placeholderOf(name, schema), help, text), isRepeatable }
}

const tagHelp: Readonly<Record<string, string>> = {
  tags: 'a tag. Repeat the option for more. A new name becomes a tag',
  tag_id: 'only links with this tag, by ID or name. Repeat the option for links that have all these tags',
}

/** Returns the values of an option with few values, otherwise a word for its type. */
function placeholderOf(name: string, schema: TSchema): string {
  const { enum: values, type, format } = schema as { enum?: readonly unknown[]; type?: string; format?: string }
  if (name === 'tags' || name in referenceOptions) return optionNameOf(name).toUpperCase()
  if (values !== undefined) return values.join('|')
  if (type === 'boolean') return 'true|false'
  if (type === 'integer') return 'N'
  if (format === 'date') return 'DAY'
  if (/(^|_)at$/.test(name)) return 'TIME'
  return name.endsWith('url') ? 'URL' : 'TEXT'
}

/** Returns the description in the style of other options: without Markdown, API names, a capital and a final period. */
function helpOf(name: string, description: string, isField: (name: string) => boolean): string {
  const plain = description
    .replaceAll(/`(\w+)`/g, (code, word) => (isField(word) ? `--${optionNameOf(word)}` : code))
    .replaceAll('`', '"')
    .replace(/\.$/, '')
  const ways = waysOf[name] ?? 'ID or name'
  const sentence = withOptionNames(name in referenceOptions ? plain.replace(/^[^.,]*/, `$&, by ${ways}`) : plain)
  return /^[A-Z][a-z ]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence
}

/** Replaces API field names by option names. */
export function withOptionNames(sentence: string): string {
  return sentence
    .replace(/\b(source|domain_map|conflict|columns|generate_aliases)=(?:true\b)?/g, (_, word) =>
      `--${optionNameOf(word)} `.replace('aliases ', 'aliases'),
    )
    .replace(/\b[a-z]+_(?:id|at)\b/g, (word) => `--${optionNameOf(word)}`)
    .replace('send another name', 'choose another statistic')
    .replace('send name=clicks', 'leave out the statistic')
    .replace(/"?\bname=clicks\b"?/g, 'clicks over time')
    .replace(/\bname=(\w+)/g, '$1')
}

/** Throws `WrongUse` if no field is given. */
export function requireChange(form: Form<unknown>, values: Readonly<Record<string, unknown>>): void {
  if (Object.keys(givenFields(form, values)).length > 0) return
  throw new WrongUse('Nothing to change. Add an option for each field that should change.')
}

/** Returns the fields that were given as options. URLs may lack `https://`. */
export function givenFields({ fields }: Form<unknown>, values: Readonly<Record<string, unknown>>): Fields {
  const given = Object.keys(fields).map((name) => [name, values[optionNameOf(name)]] as const)
  return Object.fromEntries(
    given.flatMap(([name, value]) => {
      if (value === undefined) return []
      return [[name, name.endsWith('url') && typeof value === 'string' ? withHttps(value) : value]]
    }),
  )
}

/**
 * Runs `work`, which applies the fields. Throws `WrongUse` if the form rejects them, and `StartupFailure` if records do. The
 * field `operand` is the argument without a name.
 */
export async function submit<T>(
  form: Form<unknown>,
  fields: Fields,
  work: () => Promise<T>,
  operand?: string,
): Promise<T> {
  const { violations } = form.read(fields)
  if (violations.length > 0) throw new WrongUse(formatViolations(violations, operand))
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
    throw new StartupFailure(formatViolations(error.facts.violations, operand))
  }
}

/** Returns the field values. Throws `WrongUse` if the form rejects them. */
export function checkedFields<T>(form: Form<T>, fields: Fields): T {
  const values = form.check(fields)
  if (values instanceof Failure) throw new WrongUse(formatViolations(values.facts.violations ?? []))
  return values
}

export function formatViolations(violations: readonly Violation[], operand?: string): string {
  return violations
    .map(({ field, code, refusal }) => {
      const label = field === operand ? operandOf(field) : field.replace(/^\w+/, (name) => `--${optionNameOf(name)}`)
      const isWithoutDomain = field === 'domain_id' && code === 'required'
      // Only names of several words differ from their options.
      const { message } = refusal.at(/^\w+_\w+$/.test(field) ? label : field)
      return `${label}: ${isWithoutDomain ? noDomain : withOptionNames(message)}`
    })
    .join('\n')
}

function operandOf(field: string): string {
  return field === 'body' ? 'FILE' : field.toUpperCase()
}

export const noDomain = `The account has no domain yet. Create one with "${program} domains create NAME".`

/** Writes warnings about the values that a command has stored to stderr. */
export function writeWarnings({ err }: Terminal, warnings: readonly Warning[]): void {
  for (const { message } of warnings) err.write(`${message}\n`)
}
