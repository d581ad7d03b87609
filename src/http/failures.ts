/** Maps each error code to its HTTP status and its title. */
import { type ErrorCode, Failure, ForeignKeyViolation, referenceConflict } from '../errors.ts'
import type { Violation } from '../violations.ts'
import type { FailureResponse } from './exchange.ts'
import { formatEntityTag } from './response.ts'

interface Problem {
  readonly status: number
  readonly title: string
}

export const failures = {
  malformed_url: { status: 400, title: 'Malformed URL' },
  malformed_body: { status: 400, title: 'Malformed body' },
  malformed_request: { status: 400, title: 'Malformed request' },
  missing_api_key: { status: 401, title: 'Missing API key' },
  invalid_api_key: { status: 401, title: 'Invalid API key' },
  expired_api_key: { status: 401, title: 'Expired API key' },
  revoked_api_key: { status: 401, title: 'Revoked API key' },
  insufficient_scope: { status: 403, title: 'Insufficient scope' },
  not_found: { status: 404, title: 'Not found' },
  route_not_found: { status: 404, title: 'Route not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'Request timeout' },
  body_too_large: { status: 413, title: 'Body too large' },
  url_too_long: { status: 414, title: 'URL too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  headers_too_large: { status: 431, title: 'Headers too large' },
  name_taken: { status: 409, title: 'Name taken' },
  alias_taken: { status: 409, title: 'Alias taken' },
  domain_in_use: { status: 409, title: 'Domain in use' },
  link_expired: { status: 410, title: 'Link expired' },
  password_required: { status: 401, title: 'Password required' },
  cross_site: { status: 403, title: 'Not from this dashboard' },
  not_undoable: { status: 409, title: 'Not undoable' },
  import_blocked: { status: 409, title: 'Import blocked' },
  import_running: { status: 409, title: 'Import running' },
  import_state: { status: 409, title: 'Not in this state' },
  import_edited: { status: 409, title: 'Links were edited' },
  import_interrupted: { status: 409, title: 'Import interrupted' },
  last_owner: { status: 409, title: 'Last owner' },
  already_member: { status: 409, title: 'Already a member' },
  reference_conflict: { status: 409, title: 'Reference conflict' },
  idempotency_in_progress: { status: 409, title: 'Still in progress' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  validation_failed: { status: 422, title: 'Validation failed' },
  bulk_rejected: { status: 422, title: 'Bulk request rejected' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key reused' },
  rate_limited: { status: 429, title: 'Rate limited' },
  internal_error: { status: 500, title: 'Internal error' },
  overloaded: { status: 503, title: 'Overloaded' },
  shutting_down: { status: 503, title: 'Shutting down' },
  database_unavailable: { status: 503, title: 'Database unavailable' },
} as const satisfies Record<ErrorCode, Problem>

/** Formats a failure for clients of Laravel (`message`, `errors`) and of RFC 9457 (`type`, `title`, `detail`). */
export function formatProblem(failure: Failure, requestId: string, accept: string | undefined): FailureResponse {
  const { code, message: detail, facts } = failure
  const { status, title } = failures[code]
  const body = {
    message: status === 401 && code !== 'password_required' ? 'Unauthenticated.' : detail,
    errors: facts.violations && messagesByField(facts.violations),
    type: `/problems/${code}`,
    title,
    status,
    detail,
    code,
    reason: facts.reason,
    violations: facts.violations?.map(({ field, code, message }) => ({ field, code, message })),
    request_id: requestId,
    ...facts.results,
  }
  const isPlain = accept !== undefined && plainJson.test(accept) && !problemJson.test(accept)
  const contentType = `${isPlain ? 'application/json' : 'application/problem+json'}; charset=utf-8`
  return { status, headers: { 'content-type': contentType, ...failureHeaders(failure) }, body: JSON.stringify(body) }
}

/** Media types are case-insensitive (RFC 9110 §8.3.1). */
const plainJson = /(?:^|[\s,])application\/json(?=[\s,;]|$)/i
const problemJson = /(?:^|[\s,])application\/problem\+json(?=[\s,;]|$)/i

function messagesByField(violations: readonly Violation[]): Record<string, string[]> {
  const byField = Map.groupBy(violations, ({ field }) => field)
  return Object.fromEntries(Array.from(byField, ([field, those]) => [field, those.map(({ message }) => message)]))
}

/** Returns a thrown failure, or `internal_error` for any other error. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ForeignKeyViolation) return referenceConflict()
  return new Failure(
    'internal_error',
    'Something went wrong on the server. Its log has the details under this request_id.',
    { cause: error },
  )
}

/** Returns the headers of a failure, whatever the format of the body, which depends on the Accept header. */
export function failureHeaders({ code, facts }: Failure): Record<string, string> {
  const headers: Record<string, string> = { vary: 'Accept' }
  if (failures[code].status === 401) headers['www-authenticate'] = challenge(code)
  if (facts.scope !== undefined) {
    headers['www-authenticate'] = `Bearer realm="api", error="insufficient_scope", scope="${facts.scope}"`
  }
  if (facts.retryAfter !== undefined) headers['retry-after'] = String(facts.retryAfter)
  if (facts.version !== undefined) headers.etag = formatEntityTag(facts.version)
  if (facts.allow !== undefined) headers.allow = facts.allow.join(', ')
  return headers
}

/** A 401 must name a scheme (RFC 9110 §15.5.2). It has no error code if the request has no key (RFC 6750 §3.1). */
function challenge(code: ErrorCode): string {
  if (code === 'password_required') return 'Form realm="link"'
  return code === 'missing_api_key' ? 'Bearer realm="api"' : 'Bearer realm="api", error="invalid_token"'
}
