import { usualMedia } from '../../../src/api/body.ts'
import type { Body, MediaType } from '../../../src/api/operations.ts'
import type { Field, Form } from '../../../src/forms/form.ts'
import type { TSchema } from '../../../src/forms/json-schema.ts'

export type Schema = Readonly<Record<string, unknown>>

type Component = 'headers' | 'examples' | 'parameters' | 'requestBodies' | 'responses' | 'schemas'

export function reference(kind: Component, name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` }
}

/** Collects the named schemas and request bodies of the document while the rest is built. */
export class Schemas {
  readonly #named: Map<string, Schema>
  readonly #bodies = new Map<string, Schema>()

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = new Map(Object.entries(named))
  }

  /** Converts a schema for the document. Schemas with an `$id` become components, and the result is a reference. */
  published(schema: TSchema): Schema {
    // New versions may add properties to responses, so clients should accept unknown ones.
    const { $id, additionalProperties, ...own } = schema as Schema & { $id?: string }
    const published = additionalProperties ? { ...own, additionalProperties } : own
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

  body(name: string, body: Schema): Schema {
    this.#bodies.set(name, body)
    return reference('requestBodies', name)
  }

  components() {
    const sorted = (map: Map<string, Schema>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { requestBodies: sorted(this.#bodies), schemas: sorted(this.#named) }
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

/**
 * Describes a request body as a component, and returns a reference to it. JSON is first, because code generators read the
 * first media type. Without the component, orval sends no Content-Type if there are two media types.
 */
export function requestBody(body: Body, schemas: Schemas): Schema {
  const { name, form, example, media = usualMedia } = body
  const ofForm = { form, example: mapValues(example, textOf) }
  const contents: readonly (readonly [MediaType, () => object])[] = [
    ['application/json', () => ({ schema: schemas.named(name, bodySchema(body, schemas, inJson)), example })],
    [
      'application/x-www-form-urlencoded',
      () => ({ schema: schemas.named(`${name}Form`, bodySchema(ofForm, schemas, inForms)), example: ofForm.example }),
    ],
    ['text/csv', () => ({ schema: { type: 'string' } })],
  ]
  const accepted = contents.filter(([type]) => media.includes(type))
  const required = Object.values<Field<unknown>>(form.fields).some((field) => field.required)
  const content = Object.fromEntries(accepted.map(([type, describe]) => [type, describe()]))
  return schemas.body(name, { required, content })
}

/** Returns the schema of a field's values in a media type. `value` is the schema without their spellings. */
type Spelling = (field: Field<unknown>, value: Schema) => Schema

/** The API also accepts form texts in JSON, but orval fails if a field accepts both `301` and `"301"`. */
const inJson: Spelling = ({ acceptsEmpty }, value) => withAlternatives(value, acceptsEmpty ? [{ type: 'null' }] : [])

const oneOfTexts = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })

/** Lists in forms have commas between the values, and other structures are JSON. */
const inForms: Spelling = ({ boolean, list, json, acceptsEmpty }, value) => {
  if (list || json) return withAlternatives({ type: 'string', description: value.description }, [])
  return withAlternatives(value, [
    ...(boolean ? [oneOfTexts('1', '0')] : []),
    ...(acceptsEmpty ? [oneOfTexts('')] : []),
  ])
}

/** Returns the value in a form. */
function textOf(value: unknown): unknown {
  return Array.isArray(value) ? value.join(',') : value
}

function bodySchema({ form, example }: Pick<Body, 'form' | 'example'>, schemas: Schemas, spelling: Spelling): Schema {
  const fields = Object.entries<Field<unknown>>(form.fields)
  const own = fields.map(([name, field]) => {
    const examples = name in example ? { examples: [example[name]] } : {}
    return [name, { ...spelling(field, schemas.published(field.schema)), ...examples }]
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
