import {
  type ApiErrorCode,
  aliasTaken,
  databaseUnavailable,
  domainInUse,
  Failure,
  idempotencyInProgress,
  idempotencyKeyReused,
  nameTaken,
  notFound,
  overloaded,
  preconditionFailed,
  referenceConflict,
} from '../../errors.ts'
import { headersTooLarge } from '../../http/request-head.ts'
import { malformedPath } from '../../http/router.ts'
import { missingKey } from '../authentication.ts'
import { malformedJson } from '../json.ts'

/** One failure of each kind, for the documents; what does not validate depends on the operation. */
export const exampleFailures: Readonly<Record<Exclude<ApiErrorCode, 'validation_failed'>, Failure>> = {
  malformed_url: malformedPath,
  malformed_body: malformedJson('Expected double-quoted property name in JSON at position 22 (line 1 column 23)'),
  malformed_request: new Failure('malformed_request', 'The request has no Host header.'),
  missing_api_key: missingKey,
  invalid_api_key: new Failure('invalid_api_key', 'The API key is malformed: copy it again, whole.'),
  expired_api_key: new Failure('expired_api_key', 'The API key expired at 2026-11-01T00:00:00.000Z.'),
  revoked_api_key: new Failure('revoked_api_key', 'The API key was revoked at 2026-11-01T00:00:00.000Z.'),
  insufficient_scope: new Failure('insufficient_scope', 'The API key lacks the scope domains:write.', {
    scope: 'domains:write',
  }),
  not_found: notFound('domain'),
  route_not_found: new Failure('route_not_found', 'No operation has this path. The operations are listed at /docs.'),
  method_not_allowed: new Failure(
    'method_not_allowed',
    'This path does not support DELETE. It supports GET, HEAD, POST, OPTIONS.',
    {
      allow: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    },
  ),
  request_timeout: new Failure('request_timeout', 'The request did not arrive in time.'),
  body_too_large: new Failure('body_too_large', 'The body is larger than 64 KiB.'),
  url_too_long: new Failure('url_too_long', 'The URL is longer than 8 KiB.'),
  unsupported_media_type: new Failure(
    'unsupported_media_type',
    'The media type of the body is not accepted. Send application/x-www-form-urlencoded or application/json, in UTF-8.',
  ),
  headers_too_large: headersTooLarge,
  name_taken: nameTaken('go.acme.com'),
  alias_taken: aliasTaken('summer'),
  domain_in_use: domainInUse(214),
  reference_conflict: referenceConflict(),
  idempotency_in_progress: idempotencyInProgress(),
  precondition_failed: preconditionFailed('4-2026-11-20T12:00:00.000Z'),
  idempotency_key_reused: idempotencyKeyReused(),
  rate_limited: new Failure(
    'rate_limited',
    'The API key has used up its requests of this minute. Wait as long as Retry-After says.',
    { retryAfter: 12 },
  ),
  internal_error: new Failure(
    'internal_error',
    'Something went wrong on the server. The request_id leads to the details in its log.',
  ),
  overloaded: overloaded('The server has more work than it can do in good time.'),
  shutting_down: new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 }),
  database_unavailable: databaseUnavailable(undefined),
}
