import { Failure } from '../errors.ts'
import type { Caller, Keyring } from '../keys/keyring.ts'

/**
 * Identifies the key in an Authorization header. Returns a promise only if the database must be asked: most requests bring
 * a key that is remembered.
 */
export function identify(
  authorization: string | undefined,
  keyring: Keyring,
): Caller | Failure | Promise<Caller | Failure> {
  const secret = bearerToken(authorization)
  return typeof secret === 'string' ? keyring.identify(secret) : secret
}

/** RFC 6750 §2.1; the scheme is matched in any case (RFC 9110 §11.1). */
function bearerToken(authorization: string | undefined): string | Failure {
  if (authorization === undefined) return missingKey
  if (authorization.startsWith('Bearer wm_')) return authorization.slice(7)
  const token = /^bearer +(\S+) *$/i.exec(authorization)
  if (token?.[1] !== undefined) return token[1]
  return /^bearer\b/i.test(authorization) ? noKey : missingKey
}

export const missingKey = new Failure(
  'missing_api_key',
  'Send your API key in the header "Authorization: Bearer wm_…".',
)
const noKey = new Failure('invalid_api_key', 'The Authorization header holds no API key.')
