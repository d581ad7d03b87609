import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { Failure } from '../errors.ts'
import { maxFields, parseForm, parseQuery, repeated } from './form-encoding.ts'

/** Text without lone surrogates, which have no encoding; names without brackets, which mean arrays. */
const text = fc.string({ unit: anyCharacter })
const name = text.map((each) => each.replaceAll(']', ''))
const pairs = fc.array(fc.tuple(name, text), { maxLength: maxFields })

/** What the fields must be, by the standard library's reading of the same form. */
function expected(form: URLSearchParams): Map<string, string[]> {
  const all = new Map<string, string[]>()
  for (const [each, value] of form) all.set(each, [...(all.get(each) ?? []), value])
  return all
}

function assertFields(fields: unknown, form: URLSearchParams): void {
  assert.ok(!(fields instanceof Failure))
  const read = new Map(Object.entries(fields as Record<string, unknown>))
  const all = expected(form)
  assert.deepEqual([...read.keys()].sort(), [...all.keys()].sort())
  for (const [each, values] of all) {
    if (values.length === 1) assert.equal(read.get(each), values[0])
    else assert.equal(read.get(each), repeated)
  }
}

test('parses the output of URLSearchParams, as a body and as a query', () => {
  fc.assert(
    fc.property(pairs, (each) => {
      const form = new URLSearchParams(each)
      assertFields(parseForm(Buffer.from(form.toString())), form)
      assertFields(parseQuery(form.toString()), form)
    }),
  )
})

test('parses the output of encodeURIComponent', () => {
  fc.assert(
    fc.property(name, text, (each, value) => {
      const form = `${encodeURIComponent(each)}=${encodeURIComponent(value)}`
      assertFields(parseForm(Buffer.from(form)), new URLSearchParams([[each, value]]))
    }),
  )
})

test('parses any bytes like URLSearchParams, or rejects them', () => {
  const piece = fc.constantFrom('%', '%2', '%41', '%c3%a9', '%ff', '%ED%A0%80', '+', '&', '=', 'a', 'é', '\0', '[', ' ')
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((each) => Buffer.from(each)),
    fc.array(piece, { maxLength: 24 }).map((each) => Buffer.from(each.join(''))),
  )
  fc.assert(
    fc.property(bytes, (each) => {
      const fields = parseForm(each)
      const isAscii = each.every((byte) => byte < 0x80)
      const query = isAscii ? parseQuery(each.toString('latin1')) : fields
      assert.equal(query instanceof Failure, fields instanceof Failure)
      if (fields instanceof Failure) return
      assert.deepEqual(query, fields)
      if (!each.includes(']')) assertFields(fields, new URLSearchParams(`&${each.toString()}`))
    }),
    { numRuns: runs(1_000) },
  )
})

test('rejects malformed percent-encoding anywhere', () => {
  const broken = fc.constantFrom('%', '%1', '%zz', '%ff', '%c3', '%C0%80', '%ED%A0%80', '%F4%90%80%80')
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '&', '=', '+') }), broken, (before, each) => {
      for (const form of [before + each, `${before}${each}&a=b`, `${before}${each}=1`]) {
        assert.ok(parseForm(Buffer.from(form)) instanceof Failure)
        assert.ok(parseQuery(form) instanceof Failure)
      }
    }),
  )
})

test('rejects too many fields', () => {
  const form = (count: number) => Buffer.from(Array.from({ length: count }, (_, index) => `a${index}=1`).join('&'))
  assert.equal(Object.keys(parseForm(form(maxFields))).length, maxFields)
  assert.ok(parseForm(form(maxFields + 1)) instanceof Failure)
})
