import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueLabel } from './small-charts.ts'

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
  test(`${value} of ${name} reads ${expected}`, () => {
    assert.equal(valueLabel(name, value).text.replace(/<[^>]*>/g, ''), expected)
  })
}

test('a flag is hidden from screen readers, which hear the name', () => {
  assert.match(valueLabel('countries', 'FR').text, /<span class="flag" aria-hidden="true">🇫🇷<\/span> France/)
})
