import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/characters.ts'
import { runs } from '../../../test/runs.ts'
import { hashVisitor } from './visitor-hash.ts'

describe('visitor', () => {
  const salt = new Uint8Array(32).fill(7)
  const visit = { link: 1, ipAddress: '192.0.2.1', userAgent: 'Mozilla/5.0' }

  test('returns the same number regardless of the forwarded port', () => {
    const visitor = hashVisitor(visit, salt)
    for (const ipAddress of ['192.0.2.1', '192.0.2.1:1234', '::ffff:192.0.2.1']) {
      assert.equal(hashVisitor({ ...visit, ipAddress }, salt), visitor)
    }
  })

  test('returns a number below 2^48 that depends on the link, the IP address, the user agent and the salt', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 20 }),
      fc.constantFrom('', '"', '","', '\\', '\ud800', '1'),
    )
    const visits = fc.record({ link: fc.nat(20), ipAddress: text, userAgent: text })
    const salts = fc.uint8Array({ maxLength: 3 })
    fc.assert(
      fc.property(visits, visits, salts, salts, (one, other, saltOfOne, saltOfOther) => {
        const [a, b] = [hashVisitor(one, saltOfOne), hashVisitor(other, saltOfOther)]
        for (const visitor of [a, b]) assert.ok(Number.isSafeInteger(visitor) && visitor >= 0 && visitor < 2 ** 48)
        const isSame = JSON.stringify([one, [...saltOfOne]]) === JSON.stringify([other, [...saltOfOther]])
        assert.equal(a === b, isSame)
      }),
      { numRuns: runs(300) },
    )
  })

  test('returns different numbers for 100,000 visitors', () => {
    const secret = randomBytes(32)
    const visitors = new Set<number>()
    for (let n = 0; n < 100_000; n++)
      visitors.add(hashVisitor({ ...visit, ipAddress: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }, secret))
    assert.equal(visitors.size, 100_000)
  })
})
