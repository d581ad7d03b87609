/**
 * Requests that may be repeated safely (draft-ietf-httpapi-idempotency-key-header).
 */
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { entityTagOf } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, sendJson } from '../http/response.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import { type Claim, fingerprintOf } from '../idempotency/store.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/version.ts'
import type { Admitted } from './routes.ts'

/** Characters that an Idempotency-Key may have. */
export const maxIdempotencyKey = 255

/** The Idempotency-Key of a request; null if it has none. Throws `malformed_request`. */
export function idempotencyKeyOf({ headers }: Exchange): string | null {
  const value = headers['idempotency-key']
  if (value === undefined) return null
  const key = parseIdempotencyKey(value as string)
  if (key !== null) return key
  const wanted = `1 to ${maxIdempotencyKey} visible ASCII characters, bare or in double quotes`
  throw new Failure('malformed_request', `The Idempotency-Key header must be ${wanted}.`)
}

/**
 * The key that a header's value stands for: bare, or quoted as a string of Structured Fields (RFC 9651 §3.3.3), in which
 * a backslash stands before each quote and backslash. Null if it is not 1 to 255 visible characters of ASCII.
 */
export function parseIdempotencyKey(value: string): string | null {
  const key = value.startsWith('"') ? unquoted(value) : value
  return key !== null && key.length <= maxIdempotencyKey && visible.test(key) ? key : null
}

/**
 * What a request claims by its Idempotency-Key; null without one. Requests are the same if they have the same method and
 * target, and the same values in the fields of `form`, which have been checked. Fields that were not sent do not count, so
 * that a release that adds one knows the requests of the day before.
 */
export function claimOf(
  exchange: Exchange,
  { caller: { account, key }, fields }: Admitted,
  name: string | null,
  form: Form<unknown>,
): Claim | null {
  if (name === null) return null
  const sent = Object.keys(form.fields).filter((field) => fields[field] !== undefined)
  const values = sent.map((field) => [field, fields[field]])
  // The request has been let in by its key, which the database knows only as a hash.
  const secret = exchange.headers.authorization ?? ''
  const fingerprint = fingerprintOf([exchange.method, exchange.target, values], secret)
  return { account_id: account, key_id: key, idempotency_key: name, fingerprint }
}

interface Storing<Row> {
  readonly kept: KeptAnswers
  readonly claim: Claim | null
  /** The absolute URL below which the record gets its own. */
  readonly collection: string
  /** Hears of the record once it is on the disk, before its answer leaves. */
  readonly onStored?: (record: Row) => unknown
}

/** Inserts a record, and sends 201 with it, its tag and its address; for a claim that was made before, the answer of then. */
export async function sendStored<Row extends { readonly id: number }>(
  exchange: Exchange,
  { kept, claim, collection, onStored }: Storing<Row>,
  insert: (db: Db) => Promise<Versioned<Row>>,
): Promise<undefined> {
  let stored: Row | undefined
  const { status, location, etag, body, isReplayed } = await kept.once(claim, async (db) => {
    const { record, version } = await insert(db)
    stored = record
    const address = `${collection}/${record.id}`
    return { status: 201, location: address, etag: entityTagOf(version), body: JSON.stringify({ data: record }) }
  })
  if (stored !== undefined) await onStored?.(stored)
  if (isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  addHeader(exchange, 'location', location)
  addHeader(exchange, 'etag', etag)
  return sendJson(exchange, status, body)
}

const visible = /^[\x21-\x7e]+$/
const quoted = /^"(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/

function unquoted(value: string): string | null {
  return quoted.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : null
}
