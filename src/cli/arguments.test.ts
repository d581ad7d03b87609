import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDuration, recordName, required, requiredFile } from './arguments.ts'

test('parses durations in s, m, h and d', () => {
  assert.equal(parseDuration('30s'), 30_000)
  assert.equal(parseDuration('15m'), 15 * 60_000)
  assert.equal(parseDuration('24h'), 24 * 3_600_000)
  assert.equal(parseDuration('90d'), 90 * 86_400_000)
  assert.equal(parseDuration('0s'), 0)
})

test('rejects durations over a hundred years', () => {
  assert.equal(parseDuration('36500d'), 36_500 * 86_400_000)
  for (const text of ['36501d', '876001h', '9999999999d', '99999999999s']) assert.equal(parseDuration(text), undefined)
})

test('rejects other texts', () => {
  for (const text of ['', 's', '30', '30 s', '1.5h', '-1d', '+1d', '01d', '1w', '1D', '1d1h', '٣d', '1d\n']) {
    assert.equal(parseDuration(text), undefined, text)
  }
})

test('returns integers that keep dates valid', () => {
  const written = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(1e11), fc.constantFrom('s', 'm', 'h', 'd', 'w', '')).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(written, (text) => {
      const milliseconds = parseDuration(text)
      if (milliseconds === undefined) return
      assert.ok(Number.isSafeInteger(milliseconds) && milliseconds >= 0)
      assert.match(text, /^\d+[smhd]$/)
      assert.match(new Date(Date.now() + milliseconds).toISOString(), /^2\d{3}-/)
    }),
  )
})

test('trims required values, but not the names of files', () => {
  assert.equal(required('NAME', '', recordName).parse(' ci ', '--name'), 'ci')
  assert.equal(requiredFile('').parse(' a.db ', 'The FILE'), ' a.db ')
  for (const text of [undefined, '', '-']) {
    assert.throws(() => requiredFile('').parse(text, 'The FILE'), { message: 'The FILE is missing.' })
  }
})
