import { preconditionFailed } from '../errors.ts'
import type { Precondition } from '../storage/version.ts'

/** Demands that a record is still as the form was opened with: `version` came back with it. Throws `precondition_failed`. */
export function stillAt(version: unknown): Precondition {
  return {
    check: (present) => {
      if (version !== present) throw preconditionFailed(present)
    },
  }
}
