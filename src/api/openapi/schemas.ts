import { type Field, type Form, form, optional } from '../../forms/form.ts'
import type { TSchema } from '../../forms/json-schema.ts'
import { oneOf } from '../../forms/rules.ts'
import type { Body, MediaType, Operation } from '../operations.ts'

export type Schema = Readonly<Record<string, unknown>>

export function reference(kind: 'headers' | 'examples' | 'parameters' | 'responses' | 'schemas', name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` }
}

/** How the document describes request bodies: forms and JSON, or only JSON with native values. */
export type Bodies = 'all' | 'json'

/** The query of `/openapi.json`. */
export const documentQuery = form<{ readonly bodies: Bodies }>({
  bodies: optional(
    oneOf(
      ['all', 'json'],
      'The description of request bodies. `all`: forms and JSON, with every accepted spelling. `json`: JSON only, with native values, for code generators that cannot handle two media types in one body.',
    ),
    'all',
  ),
})

/** Collects the named schemas of the document while the rest is built. */
export class Schemas {
  readonly #named: Map<string, Schema>

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = new Map(Object.entries(named))
  }

  /** Converts a schema for the document. Schemas with an `$id` become components, and the result is a reference. */
  published(schema: TSchema): Schema {
    // New versions may add properties to responses, so clients should accept unknown ones.
    const { $id, additionalProperties, ...own } = schema as Schema & { $id?: string }
    const published = additionalProperties === true ? { ...own, additionalProperties } : own
    const converted = mapValues(published, (value, keyword) => {
      if (keyword === 'items') return this.published(value as TSchema)
      if (keyword === 'anyOf') return (value as TSchema[]).map((each) => this.published(each))
      if (keyword === 'properties') return mapValues(value as Record<string, TSchema>, (each) => this.published(each))
      return value
    })
    return $id === undefined ? withType(converted) : this.named($id, withType(converted))
  }

  named(name: string, schema: Schema): Schema {
    this.#named.set(name, schema)
    return reference('schemas', name)
  }

  components(): Schema {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** Adds the type of an enumeration, which form builders need. */
function withType(schema: Schema): Schema {
  if (schema.type !== undefined || !Array.isArray(schema.enum)) return schema
  return { type: typeof schema.enum[0] === 'number' ? 'integer' : 'string', ...schema }
}

function mapValues<From, To>(object: Readonly<Record<string, From>>, to: (value: From, name: string) => To) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, to(value, name)]))
}

export function queryParameters(query: Form<unknown>, schemas: Schemas): object[] {
  return Object.entries<Field<unknown>>(query.fields).map(([name, { schema, required }]) => {
    const { description, ...rest } = schemas.published(schema)
    return { name, in: 'query', required, description, schema: rest }
  })
}

/** Describes a request body. JSON and forms have different schemas, because forms have no null and no numbers. */
export function requestBody({ method }: Operation, body: Body, schemas: Schemas, bodies: Bodies): object {
  const { name, example, media } = body
  const inMedia = (schemaName: string, alternatives: Alternatives) => ({
    schema: schemas.named(schemaName, bodySchema(body, schemas, alternatives)),
    example,
  })
  const accepts = (type: MediaType) => media === undefined || media.includes(type)
  const content =
    bodies === 'json'
      ? { 'application/json': inMedia(name, inNativeJson) }
      : {
          ...(accepts('application/x-www-form-urlencoded') && {
            'application/x-www-form-urlencoded': inMedia(`${name}Form`, inForms),
          }),
          'application/json': inMedia(name, inJson),
          ...(media?.includes('text/csv') && { 'text/csv': { schema: { type: 'string' } } }),
        }
  return { required: method === 'POST', content }
}

/** Returns the alternatives to the value of a field in a media type. */
type Alternatives = (field: Field<unknown>, value: Schema) => readonly Schema[]

const oneOfTexts = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
const none: Schema = { type: 'null' }

const inForms: Alternatives = ({ boolean, list, acceptsEmpty }) => [
  ...(boolean ? [oneOfTexts('1', '0')] : []),
  ...(acceptsEmpty && !list ? [oneOfTexts('')] : []),
]

/** A list as text, with commas between the values. */
const commaSeparated: Schema = { type: 'string' }

const inJson: Alternatives = ({ boolean, list, number, acceptsEmpty }, value) => [
  ...(list ? [commaSeparated] : []),
  ...(boolean ? booleanSpellings : number ? [asText(value)] : []),
  ...(list ? [none] : acceptsEmpty ? [oneOfTexts(''), none] : []),
]

/** Some code generators fail if a field accepts both `301` and `"301"`. */
const inNativeJson: Alternatives = ({ acceptsEmpty }) => (acceptsEmpty ? [none] : [])

const booleanSpellings = [{ type: 'integer', enum: [1, 0] }, oneOfTexts('true', 'false', '1', '0')]

/** An integer in canonical decimal form. A pattern limits its number of digits instead of its value. */
function asText({ enum: values, maximum }: Schema): Schema {
  if (Array.isArray(values)) return oneOfTexts(...values.map(String))
  return { type: 'string', pattern: `^[1-9][0-9]{0,${String(maximum).length - 1}}$` }
}

function bodySchema({ form, example }: Body, schemas: Schemas, alternatives: Alternatives): Schema {
  const fields = Object.entries<Field<unknown>>(form.fields)
  const own = fields.map(([name, field]) => {
    const published = schemas.published(field.schema)
    const isText = field.list === true && alternatives === inForms
    const value = isText ? { ...commaSeparated, description: published.description } : published
    const examples = name in example ? { examples: [example[name]] } : {}
    return [name, { ...withAlternatives(value, alternatives(field, value)), ...examples }]
  })
  const assigned = { readOnly: true, description: 'Ignored: the server assigns it.' }
  const required = fields.filter(([, field]) => field.required).map(([name]) => name)
  return {
    type: 'object',
    description:
      'Text is trimmed. Fields that the server assigns are ignored, so you can send a record back unchanged. Other unknown fields are rejected.',
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries([...own, ...form.ignored.map((name) => [name, assigned])]),
    additionalProperties: false,
    examples: [example],
  }
}

/** States the default in words, because openapi-typescript makes properties with the keyword `default` required. */
function withAlternatives({ description, default: fallback, ...value }: Schema, more: readonly Schema[]): Schema {
  const { anyOf = [value] } = value
  const all = [...(anyOf as Schema[]), ...more]
  const sentences = [description, fallback === undefined ? undefined : `Default: \`${fallback}\`.`].filter(Boolean)
  return {
    ...(sentences.length > 0 && { description: sentences.join(' ') }),
    ...(all.length === 1 ? value : { anyOf: all }),
  }
}
