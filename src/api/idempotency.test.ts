import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { parseIdempotencyKey } from './idempotency.ts'

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const key = fc.string({ unit: fc.oneof(visible, fc.constantFrom('"', '\\')), minLength: 1, maxLength: 255 })
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

test('accepts keys of up to 255 characters without escapes', () => {
  const longest = '"'.repeat(255)
  assert.equal(parseIdempotencyKey(quoted(longest)), longest)
  assert.equal(parseIdempotencyKey(quoted(`${longest}"`)), null)
  assert.equal(parseIdempotencyKey('a'.repeat(255)), 'a'.repeat(255))
  assert.equal(parseIdempotencyKey('a'.repeat(256)), null)
})
