import { Type } from './json-schema.ts'

/** The `id` of a record. Its order is the order of creation. */
export const idSchema = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Never given out again.',
})

/** A time in RFC 3339, UTC, with milliseconds. */
export const timeSchema = (description: string) =>
  Type.String({ format: 'date-time', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', description })

/** The times that every record has. */
export const timestamps = {
  created_at: timeSchema('When the record was stored.'),
  updated_at: timeSchema('When a field of the record last changed.'),
}

/** Fields that the server assigns: in a body they are ignored, so that a client may send back what it got. */
export const assignedFields = ['id', 'created_at', 'updated_at'] as const
