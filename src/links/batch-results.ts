/** The results of a batch, as the response of the API shows them. */
import { bulkRejected, type ErrorCode, Failure } from '../errors.ts'
import { failures } from '../http/failures.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Versioned } from '../storage/records.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type Link, type LinkRow, linkOf } from './schema.ts'

/** A stored link, the failure of a row, or null for a deleted link. */
export type Outcome = Versioned<LinkRow> | Failure | null

/** The result of a row. A failed row has a code. */
export interface RowResult {
  readonly index: number
  readonly id?: number
  readonly status: number
  readonly data?: Link
  readonly code?: ErrorCode
  readonly message?: string
  readonly violations?: readonly Pick<Violation, 'field' | 'code' | 'message'>[]
}

/** The results of all rows, and the violations of all failed rows for `bulk_rejected`. */
export interface Results {
  readonly shown: {
    readonly data: readonly RowResult[]
    readonly meta: { readonly succeeded: number; readonly failed: number }
  }
  readonly violations: readonly Violation[]
}

/** Returns the results. `ids` are those of the request; null if it stores links. `status` is that of a successful row. */
export function resultsOf(
  outcomes: readonly Outcome[],
  { ids, status }: { readonly ids: readonly number[] | null; readonly status: number },
  shortUrl: ShortUrl,
): Results {
  const violations: Violation[] = []
  const now = new Date().toISOString()
  const data = outcomes.map((outcome, index): RowResult => {
    const id = ids?.[index]
    const head = { index, ...(id !== undefined && { id }) }
    if (!(outcome instanceof Failure)) {
      return { ...head, status, ...(outcome && { data: linkOf(outcome.record, shortUrl, now) }) }
    }
    violations.push(...violationsOfRow(outcome, index, id))
    return { ...head, ...shownFailure(outcome) }
  })
  const failed = data.filter(({ code }) => code !== undefined).length
  return { shown: { data, meta: { succeeded: data.length - failed, failed } }, violations }
}

function shownFailure({ code, message, facts }: Failure) {
  const { status } = failures[code]
  const shown = facts.violations?.map(({ field, code, message }) => ({ field, code, message })) ?? []
  return { status, code, message, ...((status === 422 || status === 409) && { violations: shown }) }
}

/** Returns the violations of a failed row, with the place of the row in the list of the request. */
function violationsOfRow({ code, facts }: Failure, index: number, id: number | undefined): Violation[] {
  const violations = facts.violations ?? []
  if (id !== undefined) {
    const field = `ids.${index}`
    const [first = new Refusal('unknown_link', { id }).at(field), ...others] = violations
    return [first, ...others].map((violation) => ({ ...violation, field }))
  }
  const row = `links.${index}`
  if (code === 'malformed_body') return [new Refusal('malformed_row.json').at(row)]
  return violations.map(({ field, refusal }) => refusal.at(`${row}.${field}`))
}

/** The status of a row without an error in a rejected batch (RFC 4918 §11.4). */
export const notApplied = 424

/** Returns `bulk_rejected`. The rows without an error have 424. */
export function rejected({ shown, violations }: Results): Failure {
  const message = 'Nothing was changed, because other rows have errors.'
  const data = shown.data.map(({ data: _, ...row }) =>
    row.code === undefined ? { ...row, status: notApplied, code: 'not_applied', message } : row,
  )
  return bulkRejected(violations, { data, meta: { ...shown.meta, succeeded: 0 } })
}
