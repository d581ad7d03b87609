import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reader } from 'mmdb-lib'
import { encodeMap, encodeText } from '../scripts/mmdb.ts'
import { databaseWith } from './country-database.ts'

const readBack = (text: string) =>
  new Reader<object>(databaseWith(encodeMap({ text: encodeText(text) }))).get('192.0.2.1')

test('encodes texts of up to 284 bytes, and throws for longer ones', () => {
  for (const size of [0, 28, 29, 284]) assert.deepEqual(readBack('x'.repeat(size)), { text: 'x'.repeat(size) })
  assert.throws(() => encodeText('x'.repeat(285)), RangeError)
  assert.throws(() => encodeText('é'.repeat(143)), RangeError)
})
