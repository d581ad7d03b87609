import assert from 'node:assert/strict'
import { test } from 'node:test'
import Bowser from 'bowser'
import known from './known-countries.test.json' with { type: 'json' }
import { browsers, countryCodes, devices, operatingSystems } from './names.ts'

test('has the names of bowser, except for programs', () => {
  const programs = /bot|spider|crawler|slurp|-user|external|indexer|phantom|generic/i
  // Its parser names these, but its map does not.
  const more = ['Miui', 'Opera Touch', 'PlayStation 4']
  const names = [...Object.values(Bowser.BROWSER_MAP), ...more].filter((name) => !programs.test(name))
  assert.deepEqual(browsers, [...new Set(names)].sort())
  assert.deepEqual(operatingSystems, [...new Set(Object.values(Bowser.OS_MAP))].sort())
  assert.deepEqual(
    devices,
    Object.values(Bowser.PLATFORMS_MAP)
      .filter((name) => !programs.test(name))
      .sort(),
  )
})

test('has the 249 countries of ISO 3166-1, and Kosovo, once each', () => {
  assert.equal(countryCodes.length, 250)
  assert.equal(new Set(countryCodes).size, 250)
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  for (const code of countryCodes) {
    assert.match(code, /^[A-Z]{2}$/)
    assert.ok(names.of(code), code)
    assert.equal(Intl.getCanonicalLocales(`und-${code}`)[0], `und-${code}`)
  }
  for (const [, code = ''] of known) assert.ok(countryCodes.includes(code), code)
})
