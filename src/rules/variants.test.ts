import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { hashToFraction } from '../analytics/capture/visitor-hash.ts'
import { pickByWeight } from './decide.ts'

describe('a pick by weight', () => {
  for (const [weights, fraction, index] of [
    [[1], 0, 0],
    [[1], 1 - 2 ** -53, 0],
    [[1, 3], 0.2499, 0],
    [[1, 3], 0.25, 1],
    [[50, 50], 0.5, 1],
    [[100, 1], 1 - 2 ** -53, 1],
    [Array(10).fill(100), 1 - 2 ** -53, 9],
  ] as const) {
    test(`is ${index} for ${fraction} of ${weights.join(':')}`, () =>
      assert.equal(pickByWeight(weights, fraction), index))
  }
})

describe('variants of visitors', () => {
  const count = 20_000
  const weights = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 10 })
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 })
  const agents = ['Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0', 'Mozilla/5.0 (iPhone) Safari/604.1', '']

  /** Asserts that a count of draws is within 5 standard deviations of its share. */
  const assertShare = (drawn: number, draws: number, share: number) => {
    const deviation = Math.sqrt(draws * share * (1 - share))
    assert.ok(Math.abs(drawn - draws * share) <= 5 * deviation, `${drawn} of ${draws}, instead of ${share}`)
  }
  const addressOf = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  const visitorsFrom = (first: number) =>
    Array.from({ length: count }, (_, n) => ({
      link: 1 + (first % 7),
      ipAddress: addressOf(first + n),
      userAgent: agents[n % agents.length] as string,
    }))

  test('have the shares of their weights, stick for a day, and are drawn again the next day', () => {
    fc.assert(
      fc.property(weights, fc.nat(2 ** 23), bytes, bytes, (of, first, today, tomorrow) => {
        fc.pre(Buffer.compare(today, tomorrow) !== 0)
        const total = of.reduce((sum, weight) => sum + weight, 0)
        const visitors = visitorsFrom(first)
        const drawOf = (salt: Uint8Array) => visitors.map((visitor) => pickByWeight(of, hashToFraction(visitor, salt)))
        const [drawn, next] = [drawOf(today), drawOf(tomorrow)]
        assert.deepEqual(drawOf(today), drawn)
        for (const [variant, weight] of of.entries()) {
          assertShare(drawn.filter((each) => each === variant).length, count, weight / total)
        }
        // As often as for independent draws.
        const shareOfSame = of.reduce((sum, weight) => sum + (weight / total) ** 2, 0)
        assertShare(next.filter((each, n) => each === drawn[n]).length, count, shareOfSame)
      }),
      // Among many random draws, a few would be beyond the bounds.
      { numRuns: runs(100, 5), seed: 1 },
    )
  })

  test('are independent for the links of a visitor', () => {
    const salt = randomBytes(16)
    const both = Array.from({ length: count }, (_, n) => n).filter((n) => {
      const [one, two] = [1, 2].map((link) => hashToFraction({ link, ipAddress: addressOf(n), userAgent: '' }, salt))
      return pickByWeight([50, 50], one as number) === pickByWeight([50, 50], two as number)
    })
    assertShare(both.length, count, 0.5)
  })
})
