import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textsOf } from '../../../test/well-formed.ts'
import { change } from './change.ts'

for (const [now, before, text, spoken] of [
  [112, 100, '+12%', '12% more than in the period before'],
  [97, 100, '−3%', '3% fewer than in the period before'],
  [1_001, 1_000, '+0.1%', '0.1% more than in the period before'],
  [5_000, 1, '+499,900%', '499,900% more than in the period before'],
  [0, 4, '−100%', '100% fewer than in the period before'],
  [4, 0, 'new', 'none in the period before'],
  [0, 0, 'no change', 'no change against the period before'],
  [7, 7, 'no change', 'no change against the period before'],
  [100_001, 100_000, 'no change', 'no change against the period before'],
] as const) {
  test(`${now} after ${before}: ${text}`, () => {
    const shown = change(now, before)
    assert.deepEqual(
      [shown.text.match(/aria-hidden="true">([^<]*)</)?.[1], shown.text.match(/hidden-text">([^<]*)</)?.[1]],
      [text, spoken],
    )
    assert.equal(textsOf(shown, 'span').length > 0, true)
  })
}
