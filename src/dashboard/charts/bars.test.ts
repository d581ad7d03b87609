import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { barChart, valueLabel } from './small-charts.ts'

test('any values make well-formed bars within their width, whatever the names', () => {
  const names = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('<script>', '"><b>', '&amp;', "'"))
  const values = fc.array(fc.tuple(fc.option(fc.oneof(names, fc.nat())), fc.maxSafeNat()), { maxLength: 20 })
  const breakdown = fc.constantFrom(
    'countries',
    'languages',
    'referrers',
    'devices',
    'browsers',
    'links',
    'constructor',
  )
  fc.assert(
    fc.property(values, fc.maxSafeNat(), breakdown, (all, total, name) => {
      const rows = all.map(([value, clicks]) => ({ label: valueLabel(name, value), clicks }))
      const chart = barChart({ title: '<Title>', rows, total })
      assertWellFormed(chart)
      assert.doesNotMatch(chart.text, /NaN|Infinity|<script|<Title/)
      assert.equal(textsOf(chart, 'li').length, rows.length)
      for (const [, width] of chart.text.matchAll(/<rect width="([^"%]*)%"/g)) assert.ok(Number(width) <= 100)
    }),
  )
})
