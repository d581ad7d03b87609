import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { other } from '../../analytics/day.ts'
import { Ranking } from '../../analytics/statistics/ranking.ts'
import { topValues } from './breakdowns.ts'

test('the shown values and "Others" add up to the total, and no hidden value has more clicks than a shown one', async () => {
  const value = fc.oneof(fc.constant(null), fc.constant(other), fc.string(), fc.nat())
  const clicks = fc.array(fc.tuple(value, fc.integer({ min: 1, max: 1e9 })), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(clicks, fc.integer({ min: 1, max: 12 }), async (all, most) => {
      const ranking = new Ranking()
      for (const [value, clicks] of all) ranking.add(value, clicks)
      const { values, others } = await topValues(ranking, most)
      const total = values.reduce((sum, { clicks }) => sum + clicks, others)
      assert.equal(total, ranking.total)
      assert.ok(values.length <= most + 1 && values.every(({ value }) => value !== 'other'))
      const rare = Number(ranking.clicksOf('other') > 0)
      const hidden = ranking.size - values.length - rare
      assert.ok(hidden !== 1 || rare === 1)
      if (hidden > 0) assert.ok(others >= hidden && values.length === most)
    }),
  )
})
