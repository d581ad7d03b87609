import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from './histogram.ts'

test('a value counts in the first bucket that reaches up to it, and in all above', () => {
  const tally = new Histogram([1, 2, 4])
  for (const value of [0, 1, 1.5, 2, 4, 4.5, 100]) tally.add(value)
  assert.deepEqual(tally.cumulated(), [2, 4, 5, 7])
  assert.equal(tally.sum, 113)
})
