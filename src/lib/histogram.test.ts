import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from './histogram.ts'

test('a value counts in every bucket whose bound it does not exceed', () => {
  const histogram = new Histogram([1, 2, 4])
  for (const value of [0, 1, 1.5, 2, 4, 4.5, 100]) histogram.add(value)
  assert.deepEqual(histogram.cumulative(), [2, 4, 5, 7])
  assert.equal(histogram.sum, 113)
})
