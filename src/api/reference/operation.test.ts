import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonText } from './operation.ts'

test('formats short values on one line without changing the JSON', () => {
  const page = {
    data: [{ value: 'DE', clicks: 120 }],
    links: { prev: null, next: 'https://links.example.com/api/v1' },
    none: [],
  }
  assert.equal(
    jsonText(page),
    `{
  "data": [
    { "value": "DE", "clicks": 120 }
  ],
  "links": {
    "prev": null,
    "next": "https://links.example.com/api/v1"
  },
  "none": []
}`,
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) =>
      assert.deepEqual(JSON.parse(jsonText(value)), JSON.parse(JSON.stringify(value))),
    ),
  )
})
