/**
 * Requests that may be repeated safely (draft-ietf-httpapi-idempotency-key-header).
 */
import { Failure } from '../errors.ts'
import { addHeader, sendJson } from '../http/answer.ts'
import { entityTagOf } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import { type Claim, fingerprintOf } from '../idempotency/store.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/version.ts'
import { callerOf } from './authentication.ts'

/** Characters that an Idempotency-Key may have. */
export const longestIdempotencyKey = 255

/**
 * The key that a header's value stands for: bare, or quoted as a string of Structured Fields (RFC 9651 §3.3.3), in which
 * a backslash stands before each quote and backslash. Null when it is not 1 to 255 visible characters of ASCII.
 */
export function parseIdempotencyKey(value: string): string | null {
  const key = value.startsWith('"') ? unquoted(value) : value
  return key !== null && key.length <= longestIdempotencyKey && visible.test(key) ? key : null
}

/**
 * What the request claims by its Idempotency-Key; null when it has none. Requests are the same when they have the same
 * method, target and fields, however the fields are ordered. Throws `malformed_request`.
 */
export function claimOf(exchange: Exchange): Claim | null {
  const value = exchange.headers['idempotency-key']
  if (value === undefined) return null
  const idempotency_key = parseIdempotencyKey(value as string)
  if (idempotency_key === null) {
    const wanted = `1 to ${longestIdempotencyKey} visible ASCII characters, bare or in double quotes`
    throw new Failure('malformed_request', `The Idempotency-Key header must be ${wanted}.`)
  }
  const { account, key } = callerOf(exchange)
  const fields = Object.entries(exchange.fields).sort(([a], [b]) => (a < b ? -1 : 1))
  const fingerprint = fingerprintOf([exchange.method, exchange.target, fields])
  return { account_id: account, key_id: key, idempotency_key, fingerprint }
}

/** Sends 201 with a record that was stored, its tag, and the address that it has below `collection`. */
export function sendStored<Row extends { readonly id: number }>(
  exchange: Exchange,
  collection: string,
  { record, version }: Versioned<Row>,
): void {
  addHeader(exchange, 'location', `${collection}/${record.id}`)
  addHeader(exchange, 'etag', entityTagOf(version))
  sendJson(exchange, 201, JSON.stringify({ data: record }))
}

/** The same, where `insert` is carried out once for the claim: later requests get the answer of the first. */
export async function sendStoredOnce<Row extends { readonly id: number }>(
  exchange: Exchange,
  collection: string,
  { claim, kept }: { readonly claim: Claim; readonly kept: KeptAnswers },
  insert: (tx: Db) => Promise<Versioned<Row>>,
): Promise<void> {
  const { status, location, etag, body, isReplayed } = await kept.once(claim, async (tx) => {
    const { record, version } = await insert(tx)
    const address = `${collection}/${record.id}`
    return { status: 201, location: address, etag: entityTagOf(version), body: JSON.stringify({ data: record }) }
  })
  if (isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  addHeader(exchange, 'location', location)
  addHeader(exchange, 'etag', etag)
  sendJson(exchange, status, body)
}

const visible = /^[\x21-\x7e]+$/
const quoted = /^"(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/

function unquoted(value: string): string | null {
  return quoted.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : null
}
