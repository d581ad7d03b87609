/** An API key: `wm_`, 43 random base62 characters, and a CRC-32 in 6, which identifies typing errors and leaked keys. */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefix = 'wm_'
const randomLength = 43
const checksumLength = 6
const keyPattern = /^wm_[0-9A-Za-z]{49}$/

export function generateKey(): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), randomLength)
  return withChecksum(prefix + random)
}

/** Returns whether the text looks like a key and has a valid checksum. */
export function isWellFormedKey(text: string): boolean {
  return keyPattern.test(text) && withChecksum(text.slice(0, -checksumLength)) === text
}

/** Returns whether the text contains a key, which logs must not contain. */
export function hasKey(text: string): boolean {
  return /wm_[0-9A-Za-z]{49}/.test(text)
}

/** Returns the SHA-256 of the key. Only the hash is stored. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

function withChecksum(text: string): string {
  return text + base62(BigInt(crc32(text)), checksumLength)
}

/** Formats a number, most significant digit first, padded with `0`. */
function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text
  return text.padStart(length, '0')
}
