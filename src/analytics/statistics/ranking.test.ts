import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Ranking, type ValueClicks } from './ranking.ts'

function compare(a: ValueClicks, b: ValueClicks): number {
  const kinds = ['number', 'string', 'object']
  const kind = (value: ValueClicks['value']) => kinds.indexOf(typeof value)
  if (kind(a.value) !== kind(b.value)) return kind(a.value) - kind(b.value)
  if (typeof a.value === 'number') return a.value - (b.value as number)
  return Buffer.compare(Buffer.from(String(a.value)), Buffer.from(String(b.value)))
}

const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 3 }), fc.nat({ max: 100 }), fc.constant(null))

test('sorts by clicks or by value: numbers, texts by code point, null', async () => {
  const counts = fc.array(fc.tuple(value, fc.integer({ min: 1, max: 3 })))
  await fc.assert(
    fc.asyncProperty(counts, fc.boolean(), fc.boolean(), async (added, byValue, isAscending) => {
      const ranking = new Ranking()
      const sums = new Map<ValueClicks['value'], number>()
      for (const [value, clicks] of added) {
        ranking.add(value, clicks)
        sums.set(value, (sums.get(value) ?? 0) + clicks)
      }
      const sorted = [...sums]
        .map(([value, clicks]) => ({ value, clicks }))
        .sort((a, b) => (byValue ? 0 : a.clicks - b.clicks) || compare(a, b))
      const order = { sortBy: byValue ? 'value' : 'clicks', direction: isAscending ? 'asc' : 'desc' } as const
      const page = await ranking.page({ ...order, offset: 0, limit: 1_000 })
      assert.deepEqual(page, isAscending ? sorted : sorted.toReversed())
      assert.deepEqual([ranking.size, ranking.total], [sums.size, added.reduce((sum, [, clicks]) => sum + clicks, 0)])
    }),
  )
})

test('returns pages of many sorted values', async () => {
  const ranking = new Ranking()
  const all = Array.from({ length: 20_001 }, (_, n) => ({ value: `host-${(n * 7_919) % 20_001}`, clicks: 1 + (n % 5) }))
  for (const { value, clicks } of all) ranking.add(value, clicks)
  const sorted = all.toSorted((a, b) => b.clicks - a.clicks || compare(b, a))
  for (const offset of [0, 10, 4_090, 12_345, 19_990, 20_000, 20_001, 2 ** 60]) {
    const page = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset, limit: 100 })
    assert.deepEqual(page, sorted.slice(offset, offset + 100), String(offset))
  }
})
