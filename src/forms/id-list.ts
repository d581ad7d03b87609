/** Lists of ids in requests about many records. */

import { readText } from '../http/form-encoding.ts'
import { Refusal } from '../violations.ts'
import type { Field } from './form.ts'
import { Type } from './json-schema.ts'
import { positiveInteger } from './rules.ts'

/** Returns a field with up to `most` different ids: an array in JSON, or text with commas between the ids. Null if it may be absent. */
export function optionalIdList(most: number, records: string): Field<readonly number[] | null> {
  const ids = idList(most, records)
  const read = (raw: unknown) => (raw === undefined || raw === null ? null : ids.read(raw))
  return { ...ids, required: false, acceptsEmpty: true, read }
}

/** Returns a required field of this kind. */
export function idList(most: number, records: string): Field<readonly number[]> {
  // With duplicates.
  const maxGiven = 10 * most
  return {
    schema: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
      minItems: 1,
      description: `The ids of up to ${most} ${records}.`,
    }),
    required: true,
    acceptsEmpty: false,
    list: true,
    read: (raw) => {
      const values = readValues(raw, maxGiven)
      if (values.length > maxGiven) return new Refusal('too_many', { most })
      if (values.length === 0 || (values.length === 1 && values[0] === '')) return new Refusal('required')
      const ids = values.map((value) => positiveInteger(readText(value).trim()))
      if (ids.includes(undefined)) return new Refusal('out_of_range.id')
      const distinct = [...new Set(ids as number[])]
      return distinct.length > most ? new Refusal('too_many', { most }) : distinct
    },
  }
}

function readValues(raw: unknown, most: number): readonly unknown[] {
  if (Array.isArray(raw)) return raw
  return typeof raw === 'string' ? raw.split(',', most + 1) : [raw ?? '']
}
