/**
 * Failures as answers: one object on every path, which serves clients of Laravel's shape (`message`, `errors`) and of
 * RFC 9457 (`type`, `title`, `status`, `detail`) at once.
 */
import { type ErrorCode, Failure, type Violation } from '../errors.ts'
import { entityTagOf } from './conditions.ts'
import { failures } from './failures.ts'

export interface Problem {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** The answer to a failure. `accept` is the request's Accept header, where one could be read. */
export function problemOf(failure: Failure, requestId: string, accept: string | undefined): Problem {
  const { status } = failures[failure.code]
  return { status, headers: headersOf(failure, status, accept), body: bodyOf(failure, requestId) }
}

/** What became of anything that was thrown: a failure stays what it is, all else is an internal error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure(
    'internal_error',
    'Something went wrong on the server. The request_id leads to the details in its log.',
    {
      cause: error,
    },
  )
}

/** Put together as text: JSON.stringify takes three times as long for the whole, and a flood of refusals must be cheap. */
function bodyOf({ code, message: detail, facts }: Failure, requestId: string): string {
  const sentence = JSON.stringify(detail)
  const message = failures[code].status === 401 ? '"Unauthenticated."' : sentence
  const [errors, violations] = facts.violations === undefined ? ['', ''] : listsOf(facts.violations)
  const reason = facts.reason === undefined ? '' : `,"reason":"${facts.reason}"`
  return `{"message":${message}${errors}${kinds[code]},"detail":${sentence},"code":"${code}"${reason}${violations},"request_id":"${requestId}"}`
}

/** The members that all problems of a code have. */
const kinds = Object.fromEntries(
  Object.entries(failures).map(([code, { status, title }]) => [
    code,
    `,"type":"/problems/${code}","title":${JSON.stringify(title)},"status":${status}`,
  ]),
) as Record<ErrorCode, string>

/** The members `errors` and `violations`: the sentences by field, and one after the other. */
function listsOf(violations: readonly Violation[]): [errors: string, violations: string] {
  const byField = new Map<string, string>()
  let inTurn = ''
  for (const violation of violations) {
    const field = JSON.stringify(violation.field)
    const message = JSON.stringify(violation.message)
    const earlier = byField.get(field)
    byField.set(field, earlier === undefined ? message : `${earlier},${message}`)
    inTurn += `${inTurn === '' ? '' : ','}{"field":${field},"code":"${violation.code}","message":${message}}`
  }
  let errors = ''
  for (const [field, messages] of byField) errors += `${errors === '' ? '' : ','}${field}:[${messages}]`
  return [`,"errors":{${errors}}`, `,"violations":[${inTurn}]`]
}

/** `application/problem+json`, unless the client names `application/json` and not the former. */
function contentType(accept: string | undefined): string {
  const isPlain = accept !== undefined && plainJson.test(accept) && !problemJson.test(accept)
  return isPlain ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8'
}

/** Media types are matched in any case (RFC 9110 §8.3.1), and whole. */
const plainJson = /(?:^|[\s,])application\/json(?=[\s,;]|$)/i
const problemJson = /(?:^|[\s,])application\/problem\+json(?=[\s,;]|$)/i

function headersOf({ code, facts }: Failure, status: number, accept: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': contentType(accept), vary: 'Accept' }
  if (status === 401) headers['www-authenticate'] = challenge(code)
  if (facts.scope !== undefined) {
    headers['www-authenticate'] = `Bearer realm="api", error="insufficient_scope", scope="${facts.scope}"`
  }
  if (facts.retryAfter !== undefined) headers['retry-after'] = String(facts.retryAfter)
  if (facts.version !== undefined) headers.etag = entityTagOf(facts.version)
  if (facts.allow !== undefined) headers.allow = facts.allow.join(', ')
  return headers
}

/** RFC 6750 §3.1: no error code when the request carries no key at all. */
function challenge(code: string): string {
  return code === 'missing_api_key' ? 'Bearer realm="api"' : 'Bearer realm="api", error="invalid_token"'
}
