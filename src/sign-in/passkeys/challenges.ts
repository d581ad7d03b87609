/**
 * Challenges of passkeys: 16 random bytes, the expiry, and an HMAC over both and the purpose. The server stores none before a
 * passkey has signed it, so that requests without a session write nothing.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The time for one ceremony. Milliseconds. */
export const challengeLifetimeMs = 5 * 60 * 1_000

const headLength = 16 + 8
const challengeLength = headLength + 32

/** Returns a challenge in base64url, which is valid only for this purpose. `now` is in Unix milliseconds. */
export function createChallenge(key: Uint8Array, purpose: string, now = Date.now()): string {
  const head = Buffer.concat([randomBytes(16), Buffer.alloc(8)])
  head.writeBigUInt64BE(BigInt(now + challengeLifetimeMs), 16)
  return Buffer.concat([head, sign(key, head, purpose)]).toString('base64url')
}

/** Returns when the challenge expires, in Unix milliseconds; undefined if it has expired, or is for another purpose. */
export function expiryOfChallenge(
  key: Uint8Array,
  challenge: string,
  purpose: string,
  now = Date.now(),
): number | undefined {
  const bytes = Buffer.from(challenge, 'base64url')
  // Otherwise one challenge would have several spellings.
  if (bytes.length !== challengeLength || bytes.toString('base64url') !== challenge) return undefined
  const head = bytes.subarray(0, headLength)
  if (!timingSafeEqual(bytes.subarray(headLength), sign(key, head, purpose))) return undefined
  const expiresAt = Number(head.readBigUInt64BE(16))
  return expiresAt > now ? expiresAt : undefined
}

/** Returns the user handle of a new person, whose first passkey signs this challenge. */
export function handleForChallenge(key: Uint8Array, challenge: string): Buffer {
  return createHmac('sha256', key).update('user handle ').update(challenge).digest()
}

function sign(key: Uint8Array, head: Uint8Array, purpose: string): Buffer {
  return createHmac('sha256', key).update(head).update(purpose).digest()
}
