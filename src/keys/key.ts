/**
 * The form of an API key: `wm_`, 43 base62 characters of 256 random bits, 6 of a CRC-32 over all that stands before.
 * The checksum lets a mistyped key be told from an unknown one without asking the database, and lets secret scanners
 * recognise a leaked one.
 */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefix = 'wm_'
const randomLength = 43
const checksumLength = 6
const keyPattern = /^wm_[0-9A-Za-z]{49}$/

/** A new key. It is shown once; only its hash is kept. */
export function generateKey(): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), randomLength)
  return withChecksum(prefix + random)
}

/** Whether the text has the form of a key and its checksum holds. */
export function isWellFormedKey(text: string): boolean {
  return keyPattern.test(text) && withChecksum(text.slice(0, -checksumLength)) === text
}

/** Whether there is something of the form of a key anywhere in the text, for what must not be logged. */
export function hasKey(text: string): boolean {
  return /wm_[0-9A-Za-z]{49}/.test(text)
}

/** SHA-256 of the whole key: what is stored in its place. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The same hash as text, a character for each byte, to remember keys by. */
export function fingerprintOf(key: string): string {
  return hash('sha256', key, 'latin1')
}

function withChecksum(text: string): string {
  let rest = crc32(text)
  let checksum = ''
  for (let place = 0; place < checksumLength; place++) {
    checksum = digits.charAt(rest % 62) + checksum
    rest = Math.floor(rest / 62)
  }
  return text + checksum
}

/** Most significant digit first, padded with `0`. */
function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text
  return text.padStart(length, '0')
}
