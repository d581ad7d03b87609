/** The errors of the application, independent of HTTP. Only `http/failures.ts` maps their codes to statuses. */
import { Refusal, type Violation } from './violations.ts'

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
  | 'not_undoable'
  | 'import_blocked'
  | 'import_running'
  | 'import_state'
  | 'import_edited'
  | 'import_interrupted'
  | 'last_owner'
  | 'already_member'
  | 'link_expired'
  | 'password_required'
  | 'cross_site'
  | 'idempotency_in_progress'
  | 'precondition_failed'
  | 'validation_failed'
  | 'bulk_rejected'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'internal_error'
  | 'overloaded'
  | 'shutting_down'
  | 'database_unavailable'

/** Codes that only web pages use, never API responses. */
export const pageCodes = [
  'link_expired',
  'password_required',
  'cross_site',
  'already_member',
] as const satisfies readonly ErrorCode[]

export type ApiErrorCode = Exclude<ErrorCode, (typeof pageCodes)[number]>

/** Optional details of a failure. */
interface FailureFacts {
  readonly violations?: readonly Violation[]
  /** The results of a bulk request of which nothing was applied: members of the response. */
  readonly results?: Readonly<Record<'data' | 'meta', unknown>>
  /** The index of the row that failed, if all rows are applied or none. */
  readonly row?: number
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
  /** Whether the database has certainly rolled back the transaction, and may be available for others. */
  readonly isRolledBack?: boolean
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

/** Returns the failure for invalid fields, with a summary in the style of Laravel. */
export function validationFailed(violations: readonly Violation[]): Failure {
  return new Failure('validation_failed', summarize(violations), { violations })
}

function summarize(violations: readonly Violation[]): string {
  const first = violations[0]?.message ?? 'The request is not valid.'
  const more = violations.length - 1
  return more > 0 ? `${first} (and ${more} more error${more > 1 ? 's' : ''})` : first
}

/** Returns the failure of a bulk request that is applied completely or not at all. */
export function bulkRejected(violations: readonly Violation[], results: FailureFacts['results']): Failure {
  return new Failure('bulk_rejected', summarize(violations), { violations, ...(results && { results }) })
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
function failureWith(code: ErrorCode, violation: Violation, facts?: FailureFacts): Failure {
  return new Failure(code, violation.message, { violations: [violation], ...facts })
}

export function nameTaken(name: string): Failure {
  return failureWith('name_taken', new Refusal('taken.name', { name }).at('name'))
}

export function tagTaken(name: string): Failure {
  return failureWith('name_taken', new Refusal('taken.tag', { name }).at('name'))
}

export function aliasTaken(alias: string): Failure {
  return failureWith('alias_taken', new Refusal('taken.alias', { alias }).at('alias'))
}

/** `addresses` are further addresses on the domain. */
export function domainInUse(links: number, addresses = 0): Failure {
  const ofLinks = links === 1 ? '1 link' : `${links} links`
  const further = addresses === 1 ? '1 further address of a link' : `${addresses} further addresses of links`
  const used = addresses === 0 ? ofLinks : links === 0 ? further : `${ofLinks} and ${further}`
  const params = { links: used, them: links + addresses === 1 ? 'it' : 'them' }
  return failureWith('domain_in_use', new Refusal('in_use.domain', params).at('id'))
}

/** A change can't be undone, for the reason in the sentence. */
export function irreversible(reason: string): Failure {
  return failureWith('not_undoable', new Refusal('not_undoable', { reason }).at('id'))
}

/** A change can't be undone, because a later one has changed the same field of the record. */
export function changedSince(record: string, field: string): Failure {
  return failureWith('not_undoable', new Refusal('not_undoable.changed', { record }).at(field))
}

/** An import can't be changed now, for the reason in the sentence. */
export function importConflict(code: 'import_state' | 'import_edited' | 'import_interrupted', reason: string): Failure {
  return failureWith(code, new Refusal('import_conflict', { reason }).at('id'))
}

/** Another request works on an import of the account. `retryAfter` is in seconds. */
export function importRunning(job: string, retryAfter: number): Failure {
  const reason = `The ${job} of an import of this account is still running. Try again when it is complete.`
  return failureWith('import_running', new Refusal('import_conflict', { reason }).at('id'), { retryAfter })
}

/** Rows of an import are taken by other links, and its option `conflict` is `refuse`. */
export function importBlocked(conflicts: number): Failure {
  const rows = conflicts === 1 ? '1 row has an address' : `${conflicts} rows have addresses`
  return failureWith('import_blocked', new Refusal('import_conflict.rows', { rows }).at('id'))
}

/** An account always has an owner. */
export function lastOwner(): Failure {
  return failureWith('last_owner', new Refusal('last_owner').at('role'))
}

/** A person can be a member of an account only once. */
export function alreadyMember(): Failure {
  return failureWith('already_member', new Refusal('already_member').at('id'))
}

/** An invitation does not exist any more, which is all that anyone learns about it. */
export const invitationOver = new Failure(
  'not_found',
  'This invitation has expired, or it was used or withdrawn. Ask for a new invitation.',
)

export const linkExpired = new Failure('link_expired', 'This link has expired.')

/** The record's version does not match the conditions of the request. Nothing was changed. Null if nothing has a version. */
export function preconditionFailed(version: string | null): Failure {
  if (version === null) return new Failure('precondition_failed', 'This path has no ETag. Leave out If-Match.')
  return new Failure('precondition_failed', 'The record has changed since you read it. Fetch it again and retry.', {
    version,
  })
}

export function idempotencyKeyReused(): Failure {
  return failureWith('idempotency_key_reused', new Refusal('key_reused').at('Idempotency-Key'))
}

export function idempotencyInProgress(): Failure {
  return failureWith('idempotency_in_progress', new Refusal('in_progress').at('Idempotency-Key'), { retryAfter: 1 })
}

/** The database did not respond, or failed. Nothing was stored, unless the connection broke during the commit. */
export function databaseUnavailable(cause: unknown, reason?: DatabaseTrouble): Failure {
  return new Failure('database_unavailable', unavailable, { retryAfter: 1, ...(reason && { reason }), cause })
}

/** The database rolled back one transaction, which waited or ran for too long, or was in conflict with others. */
export function transactionRolledBack(cause: unknown): Failure {
  return new Failure('database_unavailable', unavailable, { retryAfter: 1, isRolledBack: true, cause })
}

const unavailable = 'The database is not available right now. Try again shortly.'

/** Returns whether other transactions would fail with this error too, because it is about the database or its load. */
export function affectsOthers(error: unknown): boolean {
  return error instanceof Failure && !error.facts.isRolledBack
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
  return failureWith('reference_conflict', new Refusal('in_use.record').at('id'))
}

/** Waymark cannot start, or a command cannot run. The operator gets only the message, without a stack trace. */
export class StartupFailure extends Error {}

/** The database engine has its own tool for this task. The message contains the command. */
export class UseOwnTool extends Error {}
