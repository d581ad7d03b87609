import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../lib/duration.ts'
import { recordName, required, requiredFile } from './arguments.ts'

test('parses durations in s, m, h and d, up to a hundred years', () => {
  for (const [text, seconds] of Object.entries({
    '30s': 30,
    '15m': 900,
    '24h': 86_400,
    '36500d': 36_500 * 86_400,
    '0s': 0,
  }))
    assert.equal(parseDuration(text), seconds * 1_000)
  const rejected = ['', '30 s', '1d\n', ...'36501d 876001h 99999999999s s 30 1.5h -1d 01d 1w 1D'.split(' ')]
  for (const text of rejected) assert.equal(parseDuration(text), undefined, text)
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
    assert.throws(() => requiredFile('').parse(text, 'FILE'), { message: 'FILE is required.' })
  }
})
