import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Visitor } from './visitor.ts'

const sources = { countries: null, findSalt: () => undefined }
const parts = {
  method: 'GET',
  headers: {},
  isHttps: false,
  ipAddress: '',
  countryHeader: null,
  atMs: 0,
  hasSentForm: false,
}
const text = fc.constantFrom('', 'a', 'b', 'A', '+', '%20', '%C3%A4', 'ä', '%', '__proto__', 'constructor', '=')
const pair = fc.oneof(
  text,
  fc.tuple(text, text).map(([name, value]) => `${name}=${value}`),
)

test('finds the parameters of a query like the URL Standard', () => {
  const queries = fc.array(pair).map((pairs) => pairs.join('&'))
  const assertSame = (query: string, name: string, value: string) => {
    const { query: found } = new Visitor({ ...parts, query }, sources)
    const expected = new URLSearchParams(query)
    assert.deepEqual([found.has(name), found.has(name, value)], [expected.has(name), expected.has(name, value)])
  }
  fc.assert(fc.property(queries, text.map(decoded), text.map(decoded), assertSame))
})

function decoded(part: string): string {
  return [...new URLSearchParams(`${part.replace('=', '%3D')}=`).keys()][0] ?? ''
}
