/** Requests that clients may repeat safely (draft-ietf-httpapi-idempotency-key-header). */
import type { Actor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Claim, fingerprintOfRequest, type NamedKey } from '../idempotency/store.ts'

/** A key: bare, or a string of Structured Fields (RFC 9651 §3.3.3), in which quotes and backslashes are escaped. */
export const idempotencyKeyPattern = '^(?:[!#-~][!-~]{0,254}|"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$'
const pattern = new RegExp(idempotencyKeyPattern)

/** Returns the Idempotency-Key of a request, or null if it has none, or no API key sends it. Throws `malformed_request`. */
export function readIdempotencyKey({ headers }: Exchange, { account, id }: Actor): NamedKey | null {
  const value = headers['idempotency-key']
  if (value === undefined || id === null) return null
  const key = parseIdempotencyKey(value as string)
  if (key !== null) return { account_id: account, key_id: id, idempotency_key: key }
  throw new Failure(
    'malformed_request',
    'The Idempotency-Key header must be 1 to 255 visible ASCII characters, bare or in double quotes.',
  )
}

/** Returns the key in a header, or null if it is malformed. */
export function parseIdempotencyKey(value: string): string | null {
  if (!pattern.test(value)) return null
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
}

/** Returns the claim on the Idempotency-Key, or null. Omitted fields do not count, so that a release may add fields. */
export function claimForm(exchange: Exchange, fields: Fields, key: NamedKey | null, form: Form<unknown>): Claim | null {
  if (key === null) return null
  const sent = Object.keys(form.fields).filter((field) => fields[field] !== undefined)
  const values = sent.map((field) => [field, fields[field]])
  return claimRequest(exchange, key, values)
}

/** Returns the claim of a request with this Idempotency-Key, whose body is these values. */
export function claimRequest(exchange: Exchange, key: NamedKey, values: readonly unknown[]): Claim {
  // The database has only a hash of the API key.
  const secret = exchange.headers.authorization ?? ''
  const fingerprint = fingerprintOfRequest([exchange.method, exchange.target, values], secret)
  return { ...key, fingerprint }
}
