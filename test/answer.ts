/** Checks the promises of the contract that every response keeps. */
import assert from 'node:assert/strict'
import { failures } from '../src/http/failures.ts'
import type { Answer, Json } from './client.ts'
import { checkAgainstDocument } from './openapi.ts'

interface AnsweredRequest {
  readonly method: string
  readonly path: string
  readonly hasKey: boolean
  /** Whether the app limits rates. */
  readonly limits: boolean
}

/** Throws if the response breaks a promise of the contract that does not depend on the request. */
export function checkAnswer(asked: AnsweredRequest, answer: Answer): void {
  const isApi = asked.path.startsWith('/api/')
  checkHeaders(answer)
  const isEmpty = answer.status === 204 || answer.status === 304
  const hasNoBody = asked.method === 'HEAD' || isEmpty
  if (hasNoBody) assert.equal(answer.text, '', 'HEAD, 204 and 304 have no body')
  if (isEmpty) checkEmpty(answer)
  if (answer.status >= 400) checkProblemHeaders(answer, !/\/(export|bulk|undo)\b/.test(asked.path))
  if (answer.status >= 400 && !hasNoBody) checkProblem(answer)
  // The type of a QR code or an export depends on the query, so only the document lists the types.
  if (isApi && answer.status < 300 && !hasNoBody && !/\/(qr|export)(\?|$)/.test(asked.path)) {
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  }
  if (isApi && asked.limits) checkRateHeaders(answer)
  if (isApi && answer.status < 400 && asked.method !== 'OPTIONS') {
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
  }
  checkAgainstDocument(asked, answer)
}

/** Checks a response to bytes that never became a request. */
export function checkRawProblem(answer: Answer): void {
  checkHeaders(answer)
  checkProblemHeaders(answer)
  checkProblem(answer)
  assert.equal(answer.headers.connection, 'close')
  checkAgainstDocument({ method: 'GET', path: '' }, answer)
}

function checkHeaders({ headers }: Answer): void {
  assert.match(String(headers['x-request-id']), /^[\w.-]{1,64}$/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.ok(headers.date)
  assert.equal(headers['x-powered-by'], undefined)
  assert.equal(headers.server, undefined)
}

function checkProblemHeaders({ headers, status, body }: Answer, hasETag = true): void {
  assert.match(String(headers['content-type']), /^application\/(problem\+)?json; charset=utf-8$/)
  assert.equal(headers.vary, 'Accept')
  assert.equal(status === 405, headers.allow !== undefined)
  assert.equal(status === 412 && hasETag, headers.etag !== undefined)
  assert.equal(status === 401 || status === 403, headers['www-authenticate'] !== undefined)
  const isPassing =
    status === 429 || status === 503 || ['idempotency_in_progress', 'import_running'].includes(body?.code)
  assert.equal(isPassing, headers['retry-after'] !== undefined)
}

/** RFC 9110 §8.6 and §15.4.5. */
function checkEmpty({ headers, status }: Answer): void {
  assert.equal(headers['content-length'], undefined)
  assert.equal(headers['content-type'], undefined)
  assert.equal(status === 304, headers.etag !== undefined)
}

const members = ['message', 'errors', 'type', 'title', 'status', 'detail', 'code', 'violations', 'request_id']
const ofBulk = ['data', 'meta']

function checkProblem({ status, headers, body, text }: Answer): void {
  assert.ok(body !== undefined && typeof body === 'object', `not an object: ${text}`)
  const hasFields = status === 422 || status === 409
  assert.deepEqual(
    Object.keys(body).filter((member) => body.code !== 'bulk_rejected' || !ofBulk.includes(member)),
    members.filter((member) => hasFields || (member !== 'errors' && member !== 'violations')),
  )
  const known: Readonly<Record<string, { status: number; title: string }>> = failures
  assert.equal(body.status, status)
  assert.equal(known[body.code]?.status, status, `code ${body.code} has another status`)
  assert.equal(body.title, known[body.code]?.title)
  assert.equal(body.type, `/problems/${body.code}`)
  assert.equal(body.request_id, headers['x-request-id'])
  assert.equal(body.message, status === 401 ? 'Unauthenticated.' : body.detail)
  if (hasFields) checkViolations(body)
}

function checkViolations({ errors, violations, message }: Json): void {
  assert.ok(violations.length > 0)
  const sentences: [string, string][] = violations.map((each: Json) => [each.field, each.message])
  assert.deepEqual(
    Object.entries<string[]>(errors)
      .flatMap(([field, all]) => all.map((sentence) => `${field}: ${sentence}`))
      .sort(),
    sentences.map(([field, sentence]) => `${field}: ${sentence}`).sort(),
  )
  const [first = ''] = sentences[0]?.slice(1) ?? []
  const more = violations.length - 1
  assert.equal(message, more === 0 ? first : `${first} (and ${more} more error${more > 1 ? 's' : ''})`)
}

function checkRateHeaders({ headers }: Answer): void {
  const limit = Number(headers['x-ratelimit-limit'])
  const left = Number(headers['x-ratelimit-remaining'])
  assert.ok(limit > 0 && left >= 0 && left <= limit, `X-RateLimit: ${left} of ${limit}`)
  assert.match(String(headers['x-ratelimit-reset']), /^\d{10}$/)
  assert.match(String(headers['ratelimit-policy']), new RegExp(`^"(key|address)";q=${limit};w=60$`))
  assert.match(String(headers.ratelimit), new RegExp(`^"(key|address)";r=${left};t=\\d{1,2}$`))
}
