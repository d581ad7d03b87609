import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { generateKey, hashKey, isWellFormedKey } from './key.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const form = /^wm_[0-9A-Za-z]{49}$/

/** Most significant digit first, padded with `0` to six. */
function checksum(text: string): string {
  const value = crc32(text)
  return Array.from({ length: 6 }, (_, place) => alphabet[Math.floor(value / 62 ** (5 - place)) % 62]).join('')
}

function keyOf(random: string): string {
  return `wm_${random}${checksum(`wm_${random}`)}`
}

function numberOf(base62: string): bigint {
  return [...base62].reduce((value, digit) => value * 62n + BigInt(alphabet.indexOf(digit)), 0n)
}

const randomPart = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 43, maxLength: 43 })

test('generates keys with the format and checksum of the contract', () => {
  for (let round = 0; round < 1_000; round++) {
    const key = generateKey()
    assert.match(key, form)
    assert.equal(key, keyOf(key.slice(3, 46)))
    assert.ok(numberOf(key.slice(3, 46)) < 2n ** 256n)
    assert.ok(isWellFormedKey(key))
  }
})

test('generates different keys with all digits of the alphabet', () => {
  const keys = Array.from({ length: 1_000 }, generateKey)
  assert.equal(new Set(keys).size, keys.length)
  assert.deepEqual([...new Set(keys.map((key) => key.slice(4, 46)).join(''))].sort(), [...alphabet].sort())
})

test('accepts any 43 characters with their checksum', () => {
  fc.assert(fc.property(randomPart, (random) => assert.ok(isWellFormedKey(keyOf(random)))))
  for (const edge of ['0', 'z', 'A', '9']) assert.ok(isWellFormedKey(keyOf(edge.repeat(43))))
})

test('rejects a key with a changed character or two swapped neighbors', () => {
  const index = fc.integer({ min: 0, max: 51 })
  fc.assert(
    fc.property(randomPart, index, fc.constantFrom(...alphabet), (random, at, character) => {
      const key = keyOf(random)
      const changed = key.slice(0, at) + character + key.slice(at + 1)
      assert.equal(isWellFormedKey(changed), changed === key)
      const swapped = key.slice(0, at) + key.slice(at + 1, at + 2) + key.slice(at, at + 1) + key.slice(at + 2)
      assert.equal(isWellFormedKey(swapped), swapped === key)
    }),
  )
})

test('rejects other texts', () => {
  const key = generateKey()
  for (const other of [
    'wm_',
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.slice(3),
    key.replace('wm', 'WM'),
  ])
    assert.equal(isWellFormedKey(other), false, other)
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), fc.base64String()), (text) => {
      assert.equal(isWellFormedKey(text), false)
      assert.equal(isWellFormedKey(`wm_${text}`), form.test(`wm_${text}`) && keyOf(text.slice(0, 43)) === `wm_${text}`)
    }),
  )
})

test('hashes the whole key with SHA-256', () => {
  const key = generateKey()
  assert.deepEqual(hashKey(key), createHash('sha256').update(key, 'ascii').digest())
})
