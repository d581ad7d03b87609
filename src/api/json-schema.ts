/**
 * JSON Schemas as plain objects, made by functions with TypeBox's names and types. TypeBox says at compile time what a
 * schema describes; its own code was half of the modules that a start loaded (ADR 18).
 */
import type { TSchema, Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

const makers = {
  String: (options: Schema = {}) => ({ type: 'string', ...options }),
  Integer: (options: Schema = {}) => ({ type: 'integer', ...options }),
  Boolean: (options: Schema = {}) => ({ type: 'boolean', ...options }),
  Null: () => ({ type: 'null' }),
  Enum: (values: readonly unknown[], options: Schema = {}) => ({ enum: values, ...options }),
  Array: (items: Schema, options: Schema = {}) => ({ type: 'array', items, ...options }),
  Union: (anyOf: readonly Schema[], options: Schema = {}) => ({ anyOf, ...options }),
  /** Every property is required. */
  Object: (properties: Readonly<Record<string, Schema>>, options: Schema = {}) => ({
    ...{ type: 'object', required: Object.keys(properties), properties },
    ...options,
  }),
}

export const Type = makers as unknown as Pick<typeof TypeBox, keyof typeof makers>

export type { TSchema }
