import type { TSchema } from '../../forms/json-schema.ts'

/** A JSON Schema, as the document has it. */
export type Schema = Readonly<Record<string, unknown>>

/** The document's named schemas, collected while the rest of it is made. */
export class Schemas {
  readonly #named: Map<string, Schema>

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = new Map(Object.entries(named))
  }

  /** The schema as the document says it: those with an `$id` become components, and are referred to. */
  published(schema: TSchema): Schema {
    const { $id, ...rest } = this.#converted(schema) as Schema & { $id?: string }
    return $id === undefined ? rest : this.named($id, rest)
  }

  /** Makes the schema a component. Returns the reference to it. */
  named(name: string, schema: Schema): Schema {
    this.#named.set(name, schema)
    return { $ref: `#/components/schemas/${name}` }
  }

  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #converted(schema: TSchema): Schema {
    // Answers may grow, as the guide says: nobody should refuse those with more properties.
    const { additionalProperties: _, ...open } = schema as Schema
    const entries = Object.entries(open).map(([keyword, value]) => [keyword, this.#convertedKeyword(keyword, value)])
    return withType(Object.fromEntries(entries))
  }

  #convertedKeyword(keyword: string, value: unknown): unknown {
    if (keyword === 'items') return this.published(value as TSchema)
    if (keyword === 'anyOf') return (value as TSchema[]).map((each) => this.published(each))
    if (keyword === 'properties') return mapValues(value as Record<string, TSchema>, (each) => this.published(each))
    return value
  }
}

/** Form builders need to know what the values of an enumeration are. */
function withType(schema: Schema): Schema {
  if (schema.type !== undefined || !Array.isArray(schema.enum)) return schema
  return { type: typeof schema.enum[0] === 'number' ? 'integer' : 'string', ...schema }
}

function mapValues<From, To>(object: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, to(value)]))
}
