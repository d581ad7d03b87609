/** JSON Schemas with TypeBox's names and types, but without its code, which would take half of the start-up time (ADR 18). */
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
    type: 'object',
    required: Object.keys(properties),
    properties,
    ...options,
  }),
}

export const Type = makers as unknown as Pick<typeof TypeBox, keyof typeof makers>

export type { TSchema }

/** The `id` of a record. Ids are in the order of creation. */
export const idSchema = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Ids are never reused.',
})

/** Returns the schema of a value that may be null. */
export function orNull<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}

/** A time in RFC 3339, UTC, with milliseconds. */
export const timeSchema = (description: string) =>
  Type.String({ format: 'date-time', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', description })

/** The times that every record has. */
export const timestamps = {
  created_at: timeSchema('The time when the record was created.'),
  updated_at: timeSchema('The time of the last change to the record.'),
}

/** Fields that the server assigns. They are ignored in bodies, so that clients may send a record back. */
export const assignedFields = ['id', 'created_at', 'updated_at'] as const
