import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonText } from './operation.ts'

test('formats short values on one line without changing the JSON', () => {
  assert.equal(
    jsonText({ data: [{ value: 'DE', clicks: 120 }] }).split('\n')[2],
    '    { "value": "DE", "clicks": 120 }',
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) =>
      assert.deepEqual(JSON.parse(jsonText(value)), JSON.parse(JSON.stringify(value))),
    ),
  )
})
