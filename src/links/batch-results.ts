/** The results of a batch, as the response of the API shows them. */
import { bulkRejected, type ErrorCode, Failure } from '../errors.ts'
import { failures } from '../http/failures.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { Refusal, type Violation } from '../violations.ts'
import type { Warning } from '../warnings.ts'
import type { Outcome } from './batch-store.ts'
import { type Link, type LinkRow, linkOf } from './schema.ts'

/** The result of a row. A failed row has a code. */
export interface RowResult {
  readonly index: number
  readonly id?: number
  readonly status: number
  readonly data?: Link
  readonly warnings?: readonly Warning[]
  readonly code?: ErrorCode
  readonly message?: string
  readonly violations?: readonly Pick<Violation, 'field' | 'code' | 'message'>[]
}

/** `ids` are those of the request; null if it stores links. `status` is that of a successful row. */
interface Rows {
  readonly ids: readonly number[] | null
  readonly status: number
}

/** Returns the warnings about the values that a batch has stored in a link. */
export type WarningsOf = (link: LinkRow) => readonly Warning[]

/** Returns the response as JSON. One row is parsed at a time: together they can be too large for the memory of a thread. */
export function resultsText(
  outcomes: readonly Outcome[],
  { ids, status }: Rows,
  { shortUrl, warningsOf }: { readonly shortUrl: ShortUrl; readonly warningsOf: WarningsOf },
): string {
  const now = new Date().toISOString()
  let failed = 0
  const data = outcomes.map((outcome, index) => {
    const head = headOf(index, ids)
    if (outcome instanceof Failure) failed += 1
    if (outcome instanceof Failure) return JSON.stringify({ ...head, ...shownFailure(outcome) } satisfies RowResult)
    const data = outcome && linkOf(outcome.record, shortUrl, now)
    const warnings = outcome === null ? [] : warningsOf(outcome.record)
    const shown = { ...(data && { data }), ...(warnings.length > 0 && { warnings }) }
    return JSON.stringify({ ...head, status, ...shown } satisfies RowResult)
  })
  return `{"data":[${data.join(',')}],"meta":${JSON.stringify({ succeeded: data.length - failed, failed })}}`
}

function headOf(index: number, ids: Rows['ids']) {
  const id = ids?.[index]
  return { index, ...(id !== undefined && { id }) }
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
export function rejected(outcomes: readonly Outcome[], { ids }: Rows): Failure {
  const message = 'Nothing was changed, because other rows have errors.'
  const unapplied = { status: notApplied, code: 'not_applied', message }
  const data = outcomes.map((outcome, index) => ({
    ...headOf(index, ids),
    ...(outcome instanceof Failure ? shownFailure(outcome) : unapplied),
  }))
  const violations = outcomes.flatMap((outcome, index) =>
    outcome instanceof Failure ? violationsOfRow(outcome, index, ids?.[index]) : [],
  )
  const failed = outcomes.filter((outcome) => outcome instanceof Failure).length
  return bulkRejected(violations, { data, meta: { succeeded: 0, failed } })
}
