import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTimeZone, timeZoneNames } from '../lib/time-zone.ts'
import { initialTimeZones, readTimeZones, type TimeZones, withTimeZone } from './time-zones.ts'

test('accepts IANA names in any case, and nothing else', () => {
  for (const [text, name] of [
    ['Europe/Berlin', 'Europe/Berlin'],
    ['asia/kathmandu', 'Asia/Kathmandu'],
    ['utc', 'UTC'],
    ['Etc/GMT+12', 'Etc/GMT+12'],
    ['+02:00', undefined],
    ['Mars/Olympus', undefined],
    ['', undefined],
    ['Europe/Berlin ', undefined],
    [`A${'a'.repeat(99)}`, undefined],
  ] as const) {
    assert.equal(parseTimeZone(text), name, text)
  }
})

test('offers each zone once, under a valid name', () => {
  assert.equal(new Set(timeZoneNames).size, timeZoneNames.length)
  for (const name of timeZoneNames) assert.equal(parseTimeZone(name), name)
  for (const name of ['UTC', 'Europe/Kyiv', 'Asia/Kolkata']) assert.ok(timeZoneNames.includes(name), name)
})

test('stores since when a zone applies, and drops the oldest of many', () => {
  const changed = withTimeZone(initialTimeZones(), 'Europe/Berlin', 1_000)
  assert.deepEqual(changed, [
    ['UTC', 0],
    ['Europe/Berlin', 1_000],
  ])
  assert.equal(withTimeZone(changed, 'Europe/Berlin', 2_000), changed)
  // The clock was set back.
  assert.deepEqual(withTimeZone(changed, 'UTC', 500).at(-1), ['UTC', 1_001])
  let many: TimeZones = initialTimeZones()
  for (let n = 1; n <= 60; n++) many = withTimeZone(many, n % 2 === 0 ? 'UTC' : 'Asia/Kolkata', n)
  assert.equal(many.length, 50)
  assert.deepEqual([many[0]?.join(), many.at(-1)?.join()], ['Asia/Kolkata,0', 'UTC,60'])
  assert.deepEqual(readTimeZones(many), many)
})

test('rejects invalid zones of an export', () => {
  const changed = (name: string, sinceMs: number) => [...initialTimeZones(), [name, sinceMs]]
  for (const zones of [
    ...['UTC', [], {}, null, [['UTC', 1]], [['Mars/Olympus', 0]], [['utc', 0]], [['UTC', 0, 1]], [[0, 'UTC']]],
    changed('Asia/Kolkata', 0),
    changed('Asia/Kolkata', 0.5),
    changed('Europe/Berlin', Number.MAX_SAFE_INTEGER),
    changed('Europe/Berlin', Date.now() + 2 * 86_400_000),
    Array.from({ length: 51 }, (_, n) => ['UTC', n]),
  ]) {
    assert.equal(readTimeZones(zones), undefined, JSON.stringify(zones))
  }
})
