import { malformedJson, unsupported } from '../../../src/api/body.ts'
import { methodNotAllowed } from '../../../src/api/fallback.ts'
import type { Operation } from '../../../src/api/operations.ts'
import { rateLimitDetails } from '../../../src/api/rate-limit.ts'
import { missingKey } from '../../../src/api/routes.ts'
import {
  type ApiErrorCode,
  aliasTaken,
  bulkRejected,
  changedSince,
  databaseUnavailable,
  domainInUse,
  Failure,
  idempotencyInProgress,
  idempotencyKeyReused,
  importBlocked,
  importConflict,
  importRunning,
  lastOwner,
  nameTaken,
  notFound,
  overloaded,
  pageCodes,
  preconditionFailed,
  referenceConflict,
} from '../../../src/errors.ts'
import { failures, formatProblem } from '../../../src/http/failures.ts'
import { headersTooLarge } from '../../../src/http/request-head.ts'
import { malformedPath } from '../../../src/http/router.ts'
import { malformedKey } from '../../../src/keys/keyring.ts'
import { Refusal } from '../../../src/violations.ts'
import { explanations, violationCodes } from '../problem-texts.ts'
import { headerReferences, headers, onApiAnswers, onEveryAnswer, optionalHeaders } from './headers.ts'
import { reference, type Schema } from './schemas.ts'

interface ProblemBody {
  readonly code: ApiErrorCode
  readonly violations?: readonly unknown[]
}

/** Failures of any request. */
export const failuresAnywhere: readonly ApiErrorCode[] = [
  'malformed_url',
  'malformed_request',
  'method_not_allowed',
  'request_timeout',
  'url_too_long',
  'headers_too_large',
  'internal_error',
  'shutting_down',
]

type ProblemExamples = Readonly<Record<string, { readonly summary: string; readonly value: ProblemBody }>>

/** The failure responses of the document. An operation refers to the first that has all of its codes for a status. */
const components: Readonly<Record<string, readonly ApiErrorCode[]>> = {
  BadRequest: ['malformed_url', 'malformed_body', 'malformed_request'],
  Unauthorized: ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'revoked_api_key'],
  Forbidden: ['insufficient_scope'],
  NotFound: ['not_found'],
  RouteNotFound: ['route_not_found'],
  MethodNotAllowed: ['method_not_allowed'],
  RequestTimeout: ['request_timeout'],
  StillInProgress: ['idempotency_in_progress'],
  ReferenceConflict: ['reference_conflict'],
  AliasTaken: ['alias_taken'],
  AliasConflict: ['alias_taken', 'idempotency_in_progress'],
  DomainInUse: ['domain_in_use', 'reference_conflict'],
  Conflict: ['name_taken', 'idempotency_in_progress', 'reference_conflict'],
  LastOwner: ['last_owner'],
  ImportConflict: ['import_state', 'import_running', 'import_blocked', 'import_edited', 'import_interrupted'],
  NotUndoable: ['not_undoable', 'alias_taken', 'name_taken', 'domain_in_use'],
  PreconditionFailed: ['precondition_failed'],
  ContentTooLarge: ['body_too_large'],
  UriTooLong: ['url_too_long'],
  UnsupportedMediaType: ['unsupported_media_type'],
  ValidationFailed: ['validation_failed'],
  NotStored: ['validation_failed', 'idempotency_key_reused'],
  NotApplied: ['validation_failed', 'bulk_rejected', 'idempotency_key_reused'],
  TooManyRequests: ['rate_limited'],
  HeadersTooLarge: ['headers_too_large'],
  InternalError: ['internal_error'],
  ServiceUnavailable: ['overloaded', 'shutting_down', 'database_unavailable'],
}

/** Statuses from the HTTP parser, which responds before the API can add headers. */
const parserStatuses: readonly number[] = [408, 431]

/** Returns references to the responses for these failures, by status. */
export function problemReferences(possible: readonly ApiErrorCode[]): Record<string, object> {
  const byStatus = [...Map.groupBy(possible, (code) => failures[code].status)]
  return Object.fromEntries(byStatus.map(([status, codes]) => [status, reference('responses', componentOf(codes))]))
}

function componentOf(codes: readonly ApiErrorCode[]): string {
  const name = Object.keys(components).find((each) => codes.every((code) => components[each]?.includes(code)))
  if (name === undefined) throw new Error(`No response of the document has all of ${codes}`)
  return name
}

/** Returns an example for each code, and for each operation with an example of invalid fields. */
export function problemExamples(operations: readonly Operation[]): ProblemExamples {
  const examples: Record<string, ProblemExamples[string]> = {}
  for (const failure of Object.values(exampleFailures)) {
    examples[failure.code] = { summary: failures[failure.code].title, value: bodyOf(failure) }
  }
  for (const { id, summary, refused, query, body } of operations) {
    const failure = refused && (body?.form ?? query)?.check(refused)
    if (failure instanceof Failure) examples[`${failure.code}_${id}`] = { summary, value: bodyOf(failure) }
    else if (refused !== undefined) throw new Error(`The example of ${id} that should be rejected is not`)
  }
  return examples
}

function bodyOf(failure: Failure): ProblemBody {
  return JSON.parse(formatProblem(failure, 'order-4711', undefined).body)
}

/** Returns a response for each component, with the examples of its codes. */
export function problemResponses(examples: ProblemExamples): Record<string, object> {
  return Object.fromEntries(Object.entries(components).map(([name, codes]) => [name, responseOf(codes, examples)]))
}

function responseOf(codes: readonly ApiErrorCode[], examples: ProblemExamples): object {
  const shown = Object.entries(examples).filter(([, { value }]) => codes.includes(value.code))
  const isOfFields = shown.every(([, { value }]) => value.violations !== undefined)
  const content = {
    schema: reference('schemas', isOfFields ? 'ValidationProblem' : 'Problem'),
    examples: Object.fromEntries(shown.map(([name]) => [name, reference('examples', name)])),
  }
  return {
    description: codes.map((code) => `\`${code}\`: ${explanations[code]}`).join('\n\n'),
    headers: headersOf(codes),
    content: { 'application/problem+json': content, 'application/json': content },
  }
}

/** Returns references to headers that every code has, and optional headers that only some codes have. */
function headersOf(codes: readonly ApiErrorCode[]): object {
  const own = codes.flatMap(failuresWith).map((failure) => {
    const sent = formatProblem(failure, '', undefined).headers
    return new Set(Object.keys(headers).filter((name) => name.toLowerCase() in sent))
  })
  const any = own.reduce((all, names) => all.union(names))
  const common = own.reduce((all, names) => all.intersection(names))
  const isFromParser = codes.some((code) => parserStatuses.includes(failures[code].status))
  return {
    ...headerReferences([...(isFromParser ? onEveryAnswer : onApiAnswers), ...common]),
    ...optionalHeaders([...any.difference(common)]),
  }
}

/** Returns a failure for each set of headers that the code can have. */
function failuresWith(code: ApiErrorCode): Failure[] {
  if (code === 'validation_failed') return [new Failure(code, '')]
  return code === 'precondition_failed' ? [exampleFailures[code], preconditionFailed(null)] : [exampleFailures[code]]
}

const sentence = 'The error, in a sentence.'

export const problemSchemas: Readonly<Record<string, Schema>> = {
  Problem: {
    type: 'object',
    description: 'The response to every failed request: RFC 9457, with the `message` that Laravel clients expect.',
    required: ['message', 'type', 'title', 'status', 'detail', 'code', 'request_id'],
    properties: {
      message: { type: 'string', description: `${sentence} "Unauthenticated." for every 401.` },
      type: {
        type: 'string',
        format: 'uri-reference',
        description: 'The URL of a page that explains the code: `/problems/{code}`.',
      },
      title: { type: 'string', description: 'The name of the code, for people.' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
      detail: { type: 'string', description: sentence },
      code: reference('schemas', 'ErrorCode'),
      reason: {
        type: 'string',
        enum: ['database_corrupt', 'disk_full', 'read_only'],
        description: 'The cause of a database failure, if it is known.',
      },
      request_id: { type: 'string', description: 'The value of the header X-Request-Id.' },
    },
  },
  ErrorCode: {
    type: 'string',
    description: 'The kind of error, for programs. Codes never change, but new ones may be added.',
    enum: Object.keys(failures).filter((code) => !(pageCodes as readonly string[]).includes(code)),
  },
  ValidationProblem: {
    description: 'A problem with invalid fields. It lists all of them.',
    allOf: [
      reference('schemas', 'Problem'),
      {
        type: 'object',
        required: ['errors', 'violations'],
        properties: {
          errors: {
            type: 'object',
            description: 'The sentences for each field.',
            additionalProperties: { type: 'array', minItems: 1, items: { type: 'string' } },
          },
          violations: { type: 'array', minItems: 1, items: reference('schemas', 'Violation') },
        },
      },
    ],
  },
  Violation: {
    type: 'object',
    description: 'The violation of one field.',
    required: ['field', 'code', 'message'],
    properties: {
      field: { type: 'string' },
      code: reference('schemas', 'ViolationCode'),
      message: { type: 'string', description: 'The error and its fix, in a sentence.' },
    },
  },
  ViolationCode: {
    type: 'string',
    description: `The kind of violation, for programs.\n\n${Object.entries(violationCodes)
      .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
      .join('\n')}`,
    enum: Object.keys(violationCodes),
  },
}

/** An example of each failure, except for `validation_failed`, which depends on the operation. */
const exampleFailures: Readonly<Record<Exclude<ApiErrorCode, 'validation_failed'>, Failure>> = {
  malformed_url: malformedPath,
  malformed_body: malformedJson({ line: 1, column: 23 }),
  malformed_request: new Failure('malformed_request', 'The request has no Host header.'),
  missing_api_key: missingKey,
  invalid_api_key: malformedKey,
  expired_api_key: new Failure('expired_api_key', 'The API key expired at 2026-11-01T00:00:00.000Z.'),
  revoked_api_key: new Failure('revoked_api_key', 'The API key was revoked at 2026-11-01T00:00:00.000Z.'),
  insufficient_scope: new Failure('insufficient_scope', 'The API key lacks the scope domains:write.', {
    scope: 'domains:write',
  }),
  not_found: notFound('domain'),
  route_not_found: new Failure('route_not_found', 'No operation has this path. /docs lists all operations.'),
  method_not_allowed: methodNotAllowed('DELETE', ['GET', 'HEAD', 'POST', 'OPTIONS']),
  request_timeout: new Failure('request_timeout', 'The request did not arrive in time.'),
  body_too_large: new Failure('body_too_large', 'The body is larger than 64 KiB.'),
  url_too_long: new Failure('url_too_long', 'The URL is longer than 8 KiB.'),
  unsupported_media_type: unsupported('The media type of the body is not accepted.'),
  headers_too_large: headersTooLarge,
  name_taken: nameTaken('go.acme.com'),
  alias_taken: aliasTaken('summer'),
  domain_in_use: domainInUse(214),
  not_undoable: changedSince('link', 'title'),
  import_blocked: importBlocked(2),
  import_running: importRunning('undo', 5),
  import_state: importConflict('import_state', 'The import is undone.'),
  import_edited: importConflict('import_edited', 'The link go.acme.com/summer was changed after the import.'),
  import_interrupted: importConflict('import_interrupted', 'The import has stored 2,900 of 3,000 rows.'),
  last_owner: lastOwner(),
  reference_conflict: referenceConflict(),
  idempotency_in_progress: idempotencyInProgress(),
  precondition_failed: preconditionFailed('4-2026-11-20T12:00:00.000Z'),
  bulk_rejected: bulkRejected([new Refusal('required').at('links.1.url')], {
    data: [
      { index: 0, status: 424, code: 'not_applied', message: 'Nothing was changed, because other rows have errors.' },
      {
        index: 1,
        status: 422,
        code: 'validation_failed',
        message: 'The url field is required.',
        violations: [{ field: 'url', code: 'required', message: 'The url field is required.' }],
      },
    ],
    meta: { succeeded: 0, failed: 1 },
  }),
  idempotency_key_reused: idempotencyKeyReused(),
  rate_limited: new Failure('rate_limited', rateLimitDetails.key, { retryAfter: 12 }),
  internal_error: new Failure(
    'internal_error',
    'Something went wrong on the server. Its log has the details under this request_id.',
  ),
  overloaded: overloaded('The server is overloaded.'),
  shutting_down: new Failure('shutting_down', 'The server is stopping. Try again.', { retryAfter: 1 }),
  database_unavailable: databaseUnavailable(undefined),
}
