/** A JSON Schema (draft 2020-12), as a plain object. */
export type TSchema = Readonly<Record<string, unknown>>

/** An object's schema. */
export type TObject = TSchema & { readonly properties: Readonly<Record<string, TSchema>> }

const isOptional = Symbol('optional')

/** Makes schemas, with TypeBox's names for these functions. TypeBox itself was half of the modules of a start (ADR 18). */
export const Type = {
  String: (options: TSchema = {}): TSchema => ({ type: 'string', ...options }),
  Integer: (options: TSchema = {}): TSchema => ({ type: 'integer', ...options }),
  Boolean: (options: TSchema = {}): TSchema => ({ type: 'boolean', ...options }),
  Null: (): TSchema => ({ type: 'null' }),
  Enum: (values: readonly unknown[], options: TSchema = {}): TSchema => ({ enum: values, ...options }),
  Array: (items: TSchema): TSchema => ({ type: 'array', items }),
  Union: (anyOf: readonly TSchema[], options: TSchema = {}): TSchema => ({ anyOf, ...options }),
  /** Marks a property that an object need not have. */
  Optional: (schema: TSchema): TSchema => ({ ...schema, [isOptional]: true }),
  Object: (properties: Readonly<Record<string, TSchema>>, options: TSchema = {}): TObject => {
    const required = Object.keys(properties).filter((name) => !(isOptional in (properties[name] as object)))
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
  },
}
