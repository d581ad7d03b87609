import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertWellFormed } from '../../../test/well-formed.ts'
import { sparkline } from './small-charts.ts'

function pointsOf(numbers: readonly number[]): number[][] {
  const [, path = ''] = sparkline(numbers).text.match(/ d="M([^"]*)"/) ?? []
  return path.split('L').map((point) => point.split(',').map(Number))
}

test('any numbers make a line within 60 by 20 pixels, hidden from screen readers', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), (numbers) => {
      assertWellFormed(sparkline(numbers))
      assert.match(sparkline(numbers).text, /width="60" height="20" .*aria-hidden="true"/)
      const points = pointsOf(numbers)
      assert.equal(points.length, Math.max(2, numbers.length))
      for (const [x = -1, y = -1] of points) assert.ok(x >= 0 && x <= 60 && y >= 0 && y <= 20, `${x},${y}`)
    }),
  )
})

test('it is flat at the bottom without clicks, and as high as the highest number', () => {
  assert.deepEqual(new Set(pointsOf([0, 0, 0]).map(([, y]) => y)), new Set([18]))
  assert.deepEqual(pointsOf([0, 5, 10]), [
    [2, 18],
    [30, 10],
    [58, 2],
  ])
})
