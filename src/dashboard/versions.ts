import { preconditionFailed } from '../errors.ts'
import type { Precondition } from '../storage/version.ts'

/**
 * Demands that a record is still as the form was opened with: `version` came back with it. Null for a form that has none, as a
 * request to the API without `If-Match`. The demand throws `precondition_failed`.
 */
export function stillAt(version: unknown): Precondition | null {
  if (version === undefined || version === '') return null
  return {
    check: (present) => {
      if (version !== present) throw preconditionFailed(present)
    },
  }
}
