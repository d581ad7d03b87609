import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/characters.ts'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { valueLabel } from '../statistics/values.ts'
import { barChart, sparkline } from './small-charts.ts'

test('renders well-formed bars within their width for any names and values', () => {
  const names = fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('<script>', '"><b>', '&amp;', "'"))
  const values = fc.array(fc.tuple(fc.option(names), fc.maxSafeNat()), { maxLength: 20 })
  const breakdown = fc.constantFrom('countries', 'languages', 'referrers', 'devices', 'browsers')
  fc.assert(
    fc.property(values, fc.maxSafeNat(), breakdown, (all, others, name) => {
      const rows = all.map(([value, clicks]) => ({ label: valueLabel(name, value), clicks: clicks + 1 }))
      const chart = barChart({ title: '<Title>', rows, others, allHref: '/app/countries' })
      assertWellFormed(chart)
      assert.doesNotMatch(chart.text, /NaN|Infinity|<script|<Title/)
      assert.equal(textsOf(chart, 'li').length, rows.length + Number(others > 0))
      for (const [, width] of chart.text.matchAll(/<rect width="([^"%]*)%"/g)) assert.ok(Number(width) <= 100)
    }),
  )
})

function pointsOf(numbers: readonly number[]): number[][] {
  const [, path = ''] = sparkline(numbers).text.match(/ d="M([^"]*)"/) ?? []
  return path.split('L').map((point) => point.split(',').map(Number))
}

test('draws any numbers within 60 by 20 pixels, hidden from screen readers', () => {
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
