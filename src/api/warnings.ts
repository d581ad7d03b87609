/** The warnings in responses of the API. */
import type { Actor } from '../access/actor.ts'
import { type TSchema, Type } from '../forms/json-schema.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Db } from '../storage/port.ts'
import { type Warning, warningCodes, warningsAbout } from '../warnings.ts'
import type { ResourceHandlers } from './handlers.ts'

/** Returns the warnings about the values that a request has stored in a record. */
export async function findWarnings<Shown>(
  source: Pick<ResourceHandlers<Shown>, 'warnings'>,
  db: Db,
  { account }: Actor,
  record: Shown,
  fields: Fields,
): Promise<Warning[]> {
  return warningsAbout(await source.warnings(db, account, record), fields)
}

const warningSchema = Type.Object(
  {
    code: Type.Enum(warningCodes),
    field: Type.String({ description: 'The field with the value, such as `url` or `rules.0.url`.' }),
    message: Type.String({ description: 'What the server has noticed, in a sentence.' }),
  },
  { $id: 'Warning' },
)

export const warningsSchema = Type.Array(warningSchema, {
  description: 'What the server has noticed about the values. They are stored nevertheless.',
})

/** Returns the schema of a response with a record and the warnings about the request's values. */
export function withWarnings(record: TSchema): TSchema {
  const meta = Type.Object({ warnings: warningsSchema }, { description: 'Only if there are warnings.' })
  return Type.Object({ data: record, meta }, { required: ['data'] })
}
