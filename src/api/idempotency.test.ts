import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { idempotencyKeyPattern, maxIdempotencyKey, parseIdempotencyKey } from './idempotency.ts'

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const key = fc.string({
  unit: fc.oneof(visible, fc.constantFrom('"', '\\')),
  minLength: 1,
  maxLength: maxIdempotencyKey,
})
const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

test('parses the same key bare and quoted', () => {
  fc.assert(
    fc.property(key, (text) => {
      assert.equal(parseIdempotencyKey(quoted(text)), text)
      if (!text.startsWith('"')) assert.equal(parseIdempotencyKey(text), text)
    }),
  )
})

test('parses any text to a key of 1 to 255 visible characters, or to null', () => {
  const characters = fc.constantFrom('"', '\\', 'a', ' ', '\t', '\x7f', '\x80', 'é', ';')
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: characters, maxLength: 12 }), fc.string()), (text) => {
      const parsed = parseIdempotencyKey(text)
      if (parsed !== null) assert.match(parsed, /^[\x21-\x7e]{1,255}$/)
    }),
    { numRuns: runs(2_000) },
  )
})

test('the documented pattern matches exactly the valid values', () => {
  const pattern = new RegExp(idempotencyKeyPattern, 'u')
  const header = fc.oneof(key, key.map(quoted), fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', 'a', ' ') }))
  fc.assert(
    fc.property(header, (text) => assert.equal(pattern.test(text), parseIdempotencyKey(text) !== null)),
    { numRuns: runs(2_000) },
  )
  for (const length of [0, 1, maxIdempotencyKey, maxIdempotencyKey + 1]) {
    const isValid = length > 0 && length <= maxIdempotencyKey
    assert.equal(pattern.test('a'.repeat(length)), isValid)
    assert.equal(pattern.test(quoted('"'.repeat(length))), isValid)
  }
})

test('accepts keys of up to 255 characters without escapes', () => {
  const longest = '"'.repeat(maxIdempotencyKey)
  assert.equal(parseIdempotencyKey(quoted(longest)), longest)
  assert.equal(parseIdempotencyKey(quoted(`${longest}"`)), null)
  assert.equal(parseIdempotencyKey('a'.repeat(maxIdempotencyKey)), 'a'.repeat(maxIdempotencyKey))
  assert.equal(parseIdempotencyKey('a'.repeat(maxIdempotencyKey + 1)), null)
})
