/** Hashes link passwords with argon2id (RFC 9106), as PHC strings: `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify(argon2)

/** OWASP's minimum. `memory` is in KiB. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 }
const saltBytes = 16
const hashBytes = 32
/** Argon2 version 1.3, which is the only version that Node supports. */
const version = 19

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z\d+/]{11,86})\$([A-Za-z\d+/]{16,86})$/

/** Hashes a password with a new salt. Callers limit concurrent hashes. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const hash = await compute(password, salt, hashBytes, cost)
  const { memory, passes, parallelism } = cost
  return `$argon2id$v=${version}$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`
}

/** Returns whether a password matches a hash, in constant time. Callers limit concurrent hashes. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, hash] = phc.exec(stored) ?? []
  if (salt === undefined || hash === undefined) throw new Error('A stored password is not an argon2id PHC string.')
  const expected = Buffer.from(hash, 'base64')
  const used = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const nonce = Buffer.from(salt, 'base64')
  const computed = await compute(password, nonce, expected.length, used)
  return timingSafeEqual(computed, expected)
}

/** Hashes the password in NFC, because keyboards compose letters differently. */
function compute(password: string, salt: Buffer, tagLength: number, how: typeof cost): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'))
  return derive('argon2id', { message, nonce: salt, tagLength, ...how })
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
