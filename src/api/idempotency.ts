/** Requests that clients may repeat safely (draft-ietf-httpapi-idempotency-key-header). */
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Claim, fingerprintOf } from '../idempotency/store.ts'
import type { Admitted } from './operations.ts'

/** The maximum length of an Idempotency-Key. Characters. */
export const maxIdempotencyKey = 255

/** Matches a valid value of the header. A quoted key can be longer, because quotes and backslashes in it are escaped. */
export const idempotencyKeyPattern = `^(?:[!#-~][!-~]{0,${maxIdempotencyKey - 1}}|"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,${maxIdempotencyKey}}")$`

/** Returns the Idempotency-Key of a request, or null if it has none. Throws `malformed_request`. */
export function idempotencyKeyOf({ headers }: Exchange): string | null {
  const value = headers['idempotency-key']
  if (value === undefined) return null
  const key = parseIdempotencyKey(value as string)
  if (key !== null) return key
  const wanted = `1 to ${maxIdempotencyKey} visible ASCII characters, bare or in double quotes`
  throw new Failure('malformed_request', `The Idempotency-Key header must be ${wanted}.`)
}

/** Returns the key in a header: bare, or a string of Structured Fields (RFC 9651 §3.3.3). Returns null if malformed. */
export function parseIdempotencyKey(value: string): string | null {
  const isQuoted = value.startsWith('"')
  if (isQuoted && !quoted.test(value)) return null
  const key = isQuoted ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
  return key.length <= maxIdempotencyKey && visible.test(key) ? key : null
}

const visible = /^[\x21-\x7e]+$/
const quoted = /^"(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/

/** Returns the claim on the Idempotency-Key, or null. Omitted fields do not count, so that a release may add fields. */
export function claimOf(
  exchange: Exchange,
  { caller: { account, key }, fields }: Admitted,
  name: string | null,
  form: Form<unknown>,
): Claim | null {
  if (name === null) return null
  const sent = Object.keys(form.fields).filter((field) => fields[field] !== undefined)
  const values = sent.map((field) => [field, fields[field]])
  // The database has only a hash of the API key.
  const secret = exchange.headers.authorization ?? ''
  const fingerprint = fingerprintOf([exchange.method, exchange.target, values], secret)
  return { account_id: account, key_id: key, idempotency_key: name, fingerprint }
}
