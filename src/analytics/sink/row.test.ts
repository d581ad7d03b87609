import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clickOf } from '../../../test/click-rows.ts'
import { columns, hourOf } from './row.ts'

test('a click keeps no time finer than the hour', () => {
  const hour = Date.parse('2026-11-22T12:00:00Z')
  for (const ms of [0, 1, 3_599_999]) assert.equal(hourOf(hour + ms), '2026-11-22T12:00:00.000Z')
  assert.equal(hourOf(hour - 1), '2026-11-22T11:00:00.000Z')
})

test('every member of a row is a column, in the same order', () => {
  assert.deepEqual(columns, Object.keys(clickOf(1)))
})
