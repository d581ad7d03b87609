/** The errors of the application, independent of HTTP. Only `http/failures.ts` maps their codes to statuses. */

/** The stable codes that clients switch on. A code without a status in `http/failures.ts` does not compile. */
export type ErrorCode =
  | 'malformed_url'
  | 'malformed_body'
  | 'malformed_request'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'revoked_api_key'
  | 'insufficient_scope'
  | 'not_found'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'url_too_long'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'name_taken'
  | 'alias_taken'
  | 'domain_in_use'
  | 'reference_conflict'
  | 'link_expired'
  | 'password_required'
  | 'cross_site'
  | 'idempotency_in_progress'
  | 'precondition_failed'
  | 'validation_failed'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'internal_error'
  | 'overloaded'
  | 'shutting_down'
  | 'database_unavailable'

/** Codes that only web pages use, never API responses. */
export const pageCodes = ['link_expired', 'password_required', 'cross_site'] as const satisfies readonly ErrorCode[]

export type ApiErrorCode = Exclude<ErrorCode, (typeof pageCodes)[number]>

/** An invalid field, with a stable code and a sentence that says what to send instead. */
export interface Violation {
  readonly field: string
  readonly code: ViolationCode
  readonly message: string
}

/** Optional details of a failure. */
interface FailureFacts {
  readonly violations?: readonly Violation[]
  /** Seconds to wait before the next attempt; a whole number. */
  readonly retryAfter?: number
  /** The methods that the path supports. */
  readonly allow?: readonly string[]
  /** The scope that the key lacks. */
  readonly scope?: string
  /** The current version of the record. */
  readonly version?: string
  /** What is wrong with the database, if known. */
  readonly reason?: DatabaseTrouble
  readonly cause?: unknown
}

/** Database problems that the operator must fix. With a full disk or a read-only database, reads still work. */
export type DatabaseTrouble = 'database_corrupt' | 'disk_full' | 'read_only'

/** An error of the caller, or a state of the service. It has no stack trace, so that a flood of failures is cheap. */
export class Failure implements Error {
  declare readonly name: string
  readonly message: string
  readonly code: ErrorCode
  readonly facts: FailureFacts

  constructor(code: ErrorCode, detail: string, facts: FailureFacts = {}) {
    this.message = detail
    this.code = code
    this.facts = facts
  }

  /** The underlying error, for the log. */
  get cause(): unknown {
    return this.facts.cause
  }
}

Object.setPrototypeOf(Failure.prototype, Error.prototype)

/** The result of a rule for an invalid value: a stable code, and a sentence that says what to write instead. */
export class Refusal {
  readonly code: ViolationCode
  readonly message: string

  constructor(code: ViolationCode, message: string) {
    this.code = code
    this.message = message
  }
}

/** Returns the failure for invalid fields, with a summary in the style of Laravel. */
export function validationFailed(violations: readonly Violation[]): Failure {
  const first = violations[0]?.message ?? 'The request is not valid.'
  const more = violations.length - 1
  const summary = more > 0 ? `${first} (and ${more} more error${more > 1 ? 's' : ''})` : first
  return new Failure('validation_failed', summary, { violations })
}

/** Returns the failure for a record that the account does not have. It is the same if another account has the record. */
export function notFound(what: string): Failure {
  return new Failure('not_found', `There is no such ${what}.`)
}

/** Returns the record. Throws `not_found` with the noun `what` if it is undefined. */
export function found<T>(record: T | undefined, what: string): T {
  if (record === undefined) throw notFound(what)
  return record
}

/** Returns a failure with one violation, which has the same message. */
function failureOf(code: ErrorCode, field: string, violation: ViolationCode, message: string, facts?: FailureFacts) {
  return new Failure(code, message, { violations: [{ field, code: violation, message }], ...facts })
}

export function nameTaken(name: string): Failure {
  return failureOf('name_taken', 'name', 'taken', `The name ${name} has already been taken. Choose another name.`)
}

export function aliasTaken(alias: string): Failure {
  const message = `The alias ${alias} has already been taken on this domain. Choose another alias.`
  return failureOf('alias_taken', 'alias', 'taken', message)
}

export function domainInUse(links: number): Failure {
  const [number, them] = links === 1 ? ['1 link', 'it'] : [`${links} links`, 'them']
  const message = `The domain has ${number}. Delete ${them} first, or send ?links=delete to delete the domain and its links.`
  return failureOf('domain_in_use', 'id', 'in_use', message)
}

export const linkExpired = new Failure('link_expired', 'This link has expired.')

/** The record's version does not match the conditions of the request. Nothing was changed. */
export function preconditionFailed(version: string): Failure {
  return new Failure('precondition_failed', 'The record has changed since you read it. Fetch it again and retry.', {
    version,
  })
}

export function idempotencyKeyReused(): Failure {
  const message = 'This Idempotency-Key was already used for a different request. Send a new key with each new request.'
  return failureOf('idempotency_key_reused', 'Idempotency-Key', 'key_reused', message)
}

export function idempotencyInProgress(): Failure {
  const message =
    'The first request with this Idempotency-Key is still running. Repeat the request in a second to get its answer.'
  return failureOf('idempotency_in_progress', 'Idempotency-Key', 'in_progress', message, { retryAfter: 1 })
}

/** The database did not respond, or failed. Nothing was stored, unless the connection broke during the commit. */
export function databaseUnavailable(cause: unknown, reason?: DatabaseTrouble): Failure {
  const facts = { retryAfter: 1, ...(reason && { reason }), cause }
  return new Failure('database_unavailable', 'The database is not available right now. Try again shortly.', facts)
}

/** The server rejects the request, because it could not respond in time. */
export function overloaded(detail: string): Failure {
  return new Failure('overloaded', detail, { retryAfter: 1 })
}

export function tooManySearches(): Failure {
  return overloaded('Too many searches and deep pages are waiting. Try again shortly.')
}

/** A statement breaks a reference. Stores convert it to a specific failure if they can; otherwise to `reference_conflict`. */
export class ForeignKeyViolation extends Error {
  /** The name of the constraint, or null if the engine does not report it. */
  readonly constraint: string | null

  constructor(constraint: string | null, cause: unknown) {
    super('A statement violates a foreign key.', { cause })
    this.constraint = constraint
  }
}

/** A statement violates a unique index. Stores convert it to a specific failure. */
export class UniqueViolation extends Error {
  constructor(cause: unknown) {
    super('A statement violates a unique index.', { cause })
  }
}

export function referenceConflict(): Failure {
  const message =
    'Other records refer to this one, or it refers to one that has just been deleted. Look at both, and try again.'
  return failureOf('reference_conflict', 'id', 'in_use', message)
}

/** Waymark cannot start, or a command cannot run. The operator gets only the message, without a stack trace. */
export class StartupFailure extends Error {}

/** A command needs a database that does not exist yet. */
export function noDatabaseAt(place: string): StartupFailure {
  return new StartupFailure(
    `There is no Waymark database at ${place} yet. Check DATABASE_URL, or start the server once.`,
  )
}

/** The database engine has its own tool for this task. The message contains the command. */
export class UseOwnTool extends Error {}

/** Every violation code and what it means; the API's documents are made from this table. */
export const violationCodes = {
  required: 'The field must be sent, with a value.',
  not_a_string: 'The field takes a JSON string.',
  not_single: 'The field was sent twice or as an array; it takes one value.',
  control_characters: 'The value contains control characters or text that is not well-formed Unicode.',
  too_long: 'The value is longer than the field allows.',
  out_of_range: 'The value is not an integer within the allowed range.',
  not_allowed: 'The field or parameter does not allow this value.',
  unknown_field: 'There is no such field or parameter.',
  prohibited: 'The field cannot be changed.',
  taken: 'The value is already in use.',
  reserved: 'The alias has a meaning of its own on every domain, so no link can have it.',
  empty_segment: 'The alias has an empty segment: a slash at the start or the end, or two in a row.',
  dot_segment: 'A segment of the alias is "." or "..", which browsers resolve before they send it.',
  loops: 'The link would lead to itself.',
  unknown_domain: 'The account has no such domain.',
  unknown_space: 'The account has no such space.',
  unknown_link: 'The account has no such link.',
  not_a_boolean: 'The field takes true or false.',
  invalid_time: 'The value is neither an RFC 3339 time nor "YYYY-MM-DD HH:MM" in UTC.',
  not_after_start: 'The period ends before it starts, or as it starts.',
  invalid_date: 'The value is not a date in the calendar such as "2026-11-22", from 1970 on.',
  before_from: 'The range ends before it begins.',
  range_too_long: 'The range has more days than one request may ask for.',
  in_use: 'Other records refer to the record, or it refers to one that is gone.',
  key_reused: 'The Idempotency-Key was used for a different request.',
  in_progress: 'The first request with the Idempotency-Key is still running.',
  has_scheme: 'A host name has no scheme: leave out "https://".',
  has_port: 'A host name has no port.',
  has_path: 'A host name has no path, query or fragment.',
  has_credentials: 'The value contains a user name or password.',
  has_wildcard: 'Wildcards are not supported.',
  has_underscore: 'Host names have no underscores.',
  has_space: 'The value contains white space.',
  has_backslash: 'The value contains a backslash.',
  ip_address: 'The value is an IP address, not a host name.',
  empty_label: 'The name has an empty label: two dots in a row, or one at the start.',
  label_too_long: 'A label is longer than 63 characters.',
  hyphen_at_edge: 'A label begins or ends with a hyphen.',
  invalid_character: 'The value has a character that the field does not allow.',
  invalid_punycode: 'An "xn--" label is not valid Punycode.',
  lookalike_character: 'The host name has a character that only looks like punctuation, such as / . : or #.',
  mixed_scripts: 'A label mixes scripts, such as Latin and Cyrillic.',
  invisible_character: 'The value has a character that does not show.',
  bidi_control: 'The URL has a character that changes the direction of the text around it.',
  numeric_last_label: 'The last label consists of digits only.',
  public_suffix: 'The name is a public suffix, under which anyone may register.',
  not_absolute: 'The URL must be absolute.',
  unsupported_scheme: 'The URL must begin with http:// or https://.',
  host_missing: 'The URL has no host.',
  invalid_url: 'The value is not a valid URL.',
} as const

export type ViolationCode = keyof typeof violationCodes
