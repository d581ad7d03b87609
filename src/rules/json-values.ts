/** Lists and objects in JSON. */
import { Failure } from '../errors.ts'
import { repeated } from '../http/form-encoding.ts'
import { Refusal } from '../violations.ts'

/** Returns a value that is a list with at most `most` items, or its refusal. */
export function listIn(raw: unknown, most: number): readonly unknown[] | Refusal {
  if (!Array.isArray(raw)) return new Refusal(raw === repeated ? 'not_single' : 'not_a_list')
  return raw.length > most ? new Refusal('too_many', { most }) : raw
}

/** Returns the refusal of a value that is no object, or has more members than `most`; null for other objects. */
export function objectRefusal(raw: unknown, most: number): Refusal | null {
  if (raw === repeated) return new Refusal('not_single')
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('not_an_object')
  // Parsed JSON has a failure instead of an object with very many members.
  return raw instanceof Failure || Object.keys(raw).length > most ? new Refusal('too_many', { most }) : null
}
