/** Maps each error code to its HTTP status, its title, and an explanation for people. */
import type { ErrorCode } from '../errors.ts'

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
      'The request target could not be read: its percent-encoding is broken, or it is not UTF-8. Encode each value with encodeURIComponent or its like; a literal "%" is written "%25".',
  },
  malformed_body: {
    status: 400,
    title: 'Malformed body',
    explanation:
      'The body is not what its Content-Type says: broken percent-encoding, bytes that are not UTF-8, JSON that does not parse or is not an object, or more than 100 fields. Nothing was stored.',
  },
  malformed_request: {
    status: 400,
    title: 'Malformed request',
    explanation:
      'What arrived is not a valid HTTP request: a broken request line or header, a missing Host, a Content-Length that does not fit the body, or an If-Match, If-None-Match or Idempotency-Key that cannot be read. Nothing was done.',
  },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    explanation:
      'The request has no API key. Send the header "Authorization: Bearer wm_…". Keys are issued on the command line with "npx waymark keys create"; the first start prints one.',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    explanation:
      'The API key is not one of this instance, or was not copied whole: a key is "wm_" and 49 letters and digits. Check the key, or issue a new one with "npx waymark keys create".',
  },
  expired_api_key: {
    status: 401,
    title: 'Expired API key',
    explanation:
      'The API key has expired. Issue a new one with "npx waymark keys create" or "npx waymark keys rotate".',
  },
  revoked_api_key: {
    status: 401,
    title: 'Revoked API key',
    explanation: 'The API key was revoked and will not work again. Issue a new one with "npx waymark keys create".',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    explanation:
      'The API key is valid but may not do this. The answer names the scope that is needed; use a key that has it.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation:
      'There is no such record among those that the API key may see: the id is unknown, malformed, deleted, or belongs to another account.',
  },
  route_not_found: {
    status: 404,
    title: 'Route not found',
    explanation: 'No operation has this path. The operations are listed at /docs.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The path exists, but not with this method. The Allow header lists the methods that it answers.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    explanation: 'The request did not arrive in time: headers must be complete within 10 seconds, the body within 30.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    explanation: 'The body is larger than 64 KiB, far more than any operation needs.',
  },
  url_too_long: {
    status: 414,
    title: 'URL too long',
    explanation:
      'The URL is longer than 8 KiB. A URL that takes more than 40 KiB together with the headers is answered headers_too_large.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    explanation:
      'Bodies are accepted as application/x-www-form-urlencoded or application/json, in UTF-8 and without a Content-Encoding.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    explanation:
      'The headers of the request take more than 32 KiB, or more than 40 KiB together with the URL, or there are more than a thousand of them.',
  },
  name_taken: {
    status: 409,
    title: 'Name taken',
    explanation:
      'A domain name can be stored only once in an instance, whatever its case, and this one is taken. Choose another name, or delete the record that has it; if you cannot find it, another account has the name.',
  },
  alias_taken: {
    status: 409,
    title: 'Alias taken',
    explanation:
      'Another link of the domain has this alias. Aliases that differ only in case are the same. Choose another alias, or leave it out to get one made.',
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
    explanation: 'The period of the link is over, or it has been followed as often as it may be.',
  },
  password_required: {
    status: 401,
    title: 'Password required',
    explanation: 'The link asks its visitors for a password. Send it as the form field "redirect_password" by POST.',
  },
  cross_site: {
    status: 403,
    title: 'Not from this dashboard',
    explanation:
      'A page of the dashboard must have sent the request: its Sec-Fetch-Site or Origin header says otherwise.',
  },
  reference_conflict: {
    status: 409,
    title: 'Reference conflict',
    explanation:
      'Other records refer to this one, so it cannot be deleted; or the request refers to a record that was deleted in the meantime. Nothing was changed.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Still in progress',
    explanation:
      'The first request with this Idempotency-Key is still running. Repeat it after the number of seconds in Retry-After to get its answer; it will not run twice.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    explanation:
      'The record is not in a state that If-Match or If-None-Match allows: it has changed since you read it. This request changed nothing. The ETag header has the current version: fetch the record again, and retry with that tag.',
  },
  validation_failed: {
    status: 422,
    title: 'Validation failed',
    explanation:
      'Some fields of the request are not valid. "violations" lists all of them, each with a code and a sentence. Nothing was changed.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    explanation:
      'Within the last 24 hours, the same API key sent a different request with this Idempotency-Key: another path or other fields. Nothing was done. Send a new key with each new request, and the same key only to repeat one.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    explanation:
      'Too many requests in this minute. Wait for the number of seconds in Retry-After. The RateLimit headers of every answer say how much is left.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    explanation:
      'Something went wrong on the server. Its log has the details under the request_id of this answer: send that id to the operator.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    explanation:
      'The server has more work than it can do in time, and refused this request without starting it. Try again after the number of seconds in Retry-After.',
  },
  shutting_down: {
    status: 503,
    title: 'Shutting down',
    explanation: 'The server is stopping and takes no new requests. It did nothing for this one; try again.',
  },
  database_unavailable: {
    status: 503,
    title: 'Database unavailable',
    explanation:
      'The database does not answer, or cannot do this now. Try again shortly. Nothing was stored, unless the connection to the database broke during the commit: check before you repeat a write.',
  },
} as const satisfies Record<ErrorCode, Problem>
