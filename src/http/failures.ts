/** Maps each error code to its HTTP status, its title, and an explanation for people. */
import { type ErrorCode, Failure, ForeignKeyViolation, referenceConflict } from '../errors.ts'
import { program } from '../version.ts'
import type { Violation } from '../violations.ts'
import { entityTagOf } from './conditions.ts'
import type { FailureResponse } from './exchange.ts'

interface Problem {
  readonly status: number
  readonly title: string
  /** The cause and the solution, for `/problems/{code}`. */
  readonly explanation: string
}

export const failures = {
  malformed_url: {
    status: 400,
    title: 'Malformed URL',
    explanation:
      'The URL has invalid percent-encoding, or is not UTF-8. Encode each value, for example with encodeURIComponent, and write "%" as "%25".',
  },
  malformed_body: {
    status: 400,
    title: 'Malformed body',
    explanation:
      'The body does not match its Content-Type: it has invalid percent-encoding, bytes that are not UTF-8, invalid JSON, JSON that is not an object, an open quote in CSV, or more than 100 fields. Nothing was stored.',
  },
  malformed_request: {
    status: 400,
    title: 'Malformed request',
    explanation:
      'The request is not valid HTTP: its request line or a header is malformed, Host is missing, or Content-Length does not match the body. If-Match, If-None-Match and Idempotency-Key must be well-formed too. Nothing was changed.',
  },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    explanation: `The request has no API key. Send the header "Authorization: Bearer wm_…". Create a key in the dashboard or with "${program} keys create". The first start prints one, too.`,
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    explanation: `This instance does not know the API key. Check that you copied all of it: "wm_" and 49 letters and digits. Otherwise create a new key with "${program} keys create".`,
  },
  expired_api_key: {
    status: 401,
    title: 'Expired API key',
    explanation: `The API key has expired. Create a new key with "${program} keys create" or "${program} keys rotate".`,
  },
  revoked_api_key: {
    status: 401,
    title: 'Revoked API key',
    explanation: `The API key was revoked and will not work again. Create a new key with "${program} keys create".`,
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    explanation:
      'The API key is valid, but lacks the scope for this operation. The response names the scope. Use a key with this scope.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation:
      'The account has no such record: the id is unknown, malformed or deleted, or belongs to another account.',
  },
  route_not_found: {
    status: 404,
    title: 'Route not found',
    explanation: 'No operation has this path. /docs lists all operations.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The path exists, but not with this method. The Allow header lists the supported methods.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    explanation:
      'The request did not arrive in time. Headers must be complete within 10 seconds, and the body within 30.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    explanation:
      'The body is too large. The API accepts up to 64 KiB, bulk requests up to 1 MiB, forms of the dashboard up to 160 KiB, and sign-in forms and link passwords up to 4 KiB.',
  },
  url_too_long: {
    status: 414,
    title: 'URL too long',
    explanation:
      'The URL is longer than 8 KiB. If the URL and the headers together exceed 40 KiB, the code is headers_too_large.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    explanation:
      'Send the body as application/x-www-form-urlencoded or application/json, in UTF-8 and without a Content-Encoding. Bulk requests have their own media types, which the response lists.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    explanation:
      'The request headers exceed 32 KiB, or 40 KiB together with the URL, or there are more than 1,000 headers.',
  },
  name_taken: {
    status: 409,
    title: 'Name taken',
    explanation:
      'The name is already in use. Domain names are case-insensitive and unique in an instance. Choose another name, or delete the domain that has it. If you cannot find that domain, it belongs to another account.',
  },
  alias_taken: {
    status: 409,
    title: 'Alias taken',
    explanation:
      'Another link on the domain has this alias. Aliases are case-insensitive. Choose another alias, or omit it to get a generated one.',
  },
  domain_in_use: {
    status: 409,
    title: 'Domain in use',
    explanation:
      'The domain has links, so it was not deleted. Delete the links first, or send the request again with "?links=delete" to delete the domain together with all of its links.',
  },
  link_expired: {
    status: 410,
    title: 'Link expired',
    explanation: 'The link’s period has ended, or its click limit is reached.',
  },
  password_required: {
    status: 401,
    title: 'Password required',
    explanation: 'The link requires a password. Send the password by POST in the form field "redirect_password".',
  },
  cross_site: {
    status: 403,
    title: 'Not from this dashboard',
    explanation:
      'Only pages of the dashboard can send this request, but its Sec-Fetch-Site or Origin header names another site.',
  },
  not_undoable: {
    status: 409,
    title: 'Not undoable',
    explanation:
      'The change can’t be undone: the record has been changed since, a record that the change needs is gone, or it is more than 30 days old. The message names the reason. Nothing was changed.',
  },
  reference_conflict: {
    status: 409,
    title: 'Reference conflict',
    explanation:
      'Other records refer to this record, so it cannot be deleted, or the request refers to a record that has just been deleted. Nothing was changed.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Still in progress',
    explanation:
      'The first request with this Idempotency-Key is still running. Repeat the request after the number of seconds in Retry-After to get the response of the first. It will not run twice.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    explanation:
      'The record has changed since you read it, so its version does not match If-Match or If-None-Match. This request changed nothing. Fetch the record again, and retry with its current ETag.',
  },
  validation_failed: {
    status: 422,
    title: 'Validation failed',
    explanation:
      'Some fields of the request are invalid. "violations" lists all of them, each with a code and a sentence. Nothing was changed.',
  },
  bulk_rejected: {
    status: 422,
    title: 'Bulk request rejected',
    explanation:
      'With "?atomic=true", a bulk request is applied completely or not at all, and some of its rows are invalid. "violations" names each with its index, and "data" has the result of each row. Nothing was changed.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    explanation:
      'Within the last 24 hours, the same API key sent a different request with this Idempotency-Key: with another path or other fields. Nothing was changed. Send a new key with each new request, and the same key only to repeat one.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    explanation:
      'There were too many requests in this minute. Wait for the number of seconds in Retry-After. The RateLimit headers of every response show the remaining requests.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    explanation:
      'The server failed. Send the request_id of the response to the operator, who can find the details in the log.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    explanation:
      'The server has too much work, and rejected this request before starting it. Try again after the number of seconds in Retry-After.',
  },
  shutting_down: {
    status: 503,
    title: 'Shutting down',
    explanation: 'The server is stopping, and did not start this request. Try again.',
  },
  database_unavailable: {
    status: 503,
    title: 'Database unavailable',
    explanation:
      'The database is unavailable or read-only. Try again shortly. Nothing was stored, unless the connection to the database broke during the commit. Check before you repeat a write.',
  },
} as const satisfies Record<ErrorCode, Problem>

/** Formats a failure for clients of Laravel (`message`, `errors`) and of RFC 9457 (`type`, `title`, `detail`). */
export function problemOf(failure: Failure, requestId: string, accept: string | undefined): FailureResponse {
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
  return { status, headers: { 'content-type': contentType, ...headersOf(failure) }, body: JSON.stringify(body) }
}

/** Media types are case-insensitive (RFC 9110 §8.3.1). */
const plainJson = /(?:^|[\s,])application\/json(?=[\s,;]|$)/i
const problemJson = /(?:^|[\s,])application\/problem\+json(?=[\s,;]|$)/i

function messagesByField(violations: readonly Violation[]): Record<string, string[]> {
  const byField = Map.groupBy(violations, ({ field }) => field)
  return Object.fromEntries(Array.from(byField, ([field, those]) => [field, those.map(({ message }) => message)]))
}

/** Returns a thrown failure, or `internal_error` for any other error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof ForeignKeyViolation) return referenceConflict()
  return new Failure(
    'internal_error',
    'Something went wrong on the server. Its log has the details under this request_id.',
    { cause: error },
  )
}

/** Returns the headers of a failure, whatever the format of the body, which depends on the Accept header. */
export function headersOf({ code, facts }: Failure): Record<string, string> {
  const headers: Record<string, string> = { vary: 'Accept' }
  if (failures[code].status === 401) headers['www-authenticate'] = challenge(code)
  if (facts.scope !== undefined) {
    headers['www-authenticate'] = `Bearer realm="api", error="insufficient_scope", scope="${facts.scope}"`
  }
  if (facts.retryAfter !== undefined) headers['retry-after'] = String(facts.retryAfter)
  if (facts.version !== undefined) headers.etag = entityTagOf(facts.version)
  if (facts.allow !== undefined) headers.allow = facts.allow.join(', ')
  return headers
}

/** A 401 must name a scheme (RFC 9110 §15.5.2). It has no error code if the request has no key (RFC 6750 §3.1). */
function challenge(code: ErrorCode): string {
  if (code === 'password_required') return 'Form realm="link"'
  return code === 'missing_api_key' ? 'Bearer realm="api"' : 'Bearer realm="api", error="invalid_token"'
}
