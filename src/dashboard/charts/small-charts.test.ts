import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertWellFormed, textsOf } from '../../../test/well-formed.ts'
import { html } from '../../http/html.ts'
import { barChart, sparkline, valueLabel } from './small-charts.ts'

test('renders well-formed bars within their width for any names and values', () => {
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

for (const [name, value, expected] of [
  ['countries', 'DE', '🇩🇪 Germany'],
  ['countries', 'GB', '🇬🇧 United Kingdom'],
  ['countries', null, 'Unknown'],
  ['countries', 'other', 'Other'],
  ['countries', 'nowhere', 'nowhere'],
  ['countries', 'QQ', '🇶🇶 QQ'],
  ['countries', 'de_DE', 'de_DE'],
  ['countries', '', ''],
  ['countries', '💩', '💩'],
  ['languages', 'de', 'German'],
  ['languages', 'zh-Hant', 'Traditional Chinese'],
  ['languages', '-', '-'],
  ['languages', 'de_DE', 'de_DE'],
  ['referrers', null, 'Direct or unknown'],
  ['referrers', 'news.example', 'news.example'],
  ['referrers', 'DE', 'DE'],
  ['devices', 'tv', 'TV'],
  ['devices', 'constructor', 'constructor'],
  ['browsers', 'Firefox', 'Firefox'],
  ['links', 12, '#12'],
] as const) {
  test(`shows ${value} in ${name} as ${expected}`, () => {
    assert.equal(html`${valueLabel(name, value)}`.text.replace(/<[^>]*>/g, ''), expected)
  })
}
