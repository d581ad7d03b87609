import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../../http/html.ts'
import { valueLabel, valueText } from './values.ts'

for (const [name, value, expected] of [
  ['countries', 'DE', '🇩🇪 Germany'],
  ['countries', 'GB', '🇬🇧 United Kingdom'],
  ['countries', null, 'Unknown'],
  ['countries', 'other', 'Others'],
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
] as const) {
  test(`shows ${value} in ${name} as ${expected}`, () => {
    assert.equal(html`${valueLabel(name, value)}`.text.replace(/<[^>]*>/g, ''), expected)
    assert.ok(expected.endsWith(valueText(name, value)))
  })
}
