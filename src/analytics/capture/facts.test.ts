import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Countries } from './countries.ts'
import { factsOf } from './facts.ts'
import type { Visit } from './visit.ts'

const countries = Countries.readBundled()
const visit: Visit = {
  link: 1,
  atMs: Date.UTC(2026, 10, 22, 12),
  class: 'person',
  count: 1,
  address: '88.198.0.1',
  host: 'go.example',
  userAgent:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  referrer: 'https://www.example.com/private/page',
  languages: 'de-DE,de;q=0.9',
  country: '',
  isPrivate: false,
}
test('has a value of each dimension', () => {
  assert.deepEqual(factsOf(visit, countries), {
    countries: 'DE',
    referrers: 'www.example.com',
    browsers: 'Safari',
    operating_systems: 'iOS',
    devices: 'mobile',
    languages: 'de',
  })
  assert.equal(factsOf({ ...visit, country: 'fr' }, countries).countries, 'FR')
  assert.equal(factsOf({ ...visit, referrer: 'https://go.example/a+' }, countries).referrers, null)
})

test('is unknown for a visitor who sends nothing', () => {
  const silent = { ...visit, address: '', userAgent: '', referrer: '', languages: '' }
  assert.deepEqual(new Set(Object.values(factsOf(silent, countries))), new Set([null]))
})
