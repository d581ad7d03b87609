/** The document and the forms accept the same JSON values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import type { Json } from '../../../test/client.ts'
import { operations } from '../../app/api.ts'
import { openApiDocument } from './document.ts'
import type { Bodies } from './schemas.ts'

const ajv = new Ajv2020({ strict: false })
formats.default(ajv)

const bodies = operations.flatMap(({ body }) => body ?? [])
const schemasOf = (which: Bodies): Json =>
  JSON.parse(JSON.stringify(openApiDocument(operations, 'https://links.example.com', which))).components.schemas
const [all, native] = [schemasOf('all'), schemasOf('json')]

const exact = ['disabled', 'forward_query', 'redirect_status', 'color']
/** Their text has a pattern, which limits the number of digits and not the value. */
const integers = ['domain_id', 'space_id', 'clicks_limit']

/** Each scalar field of each body, with its schema and what the server says to a value. */
function scalarsIn(schemas: Json, names: readonly string[]) {
  return bodies.flatMap(({ name, form }) =>
    names
      // A field that can't be changed accepts its stored value only, which the form does not know.
      .filter((field) => field in form.fields && !alternativesOf(schemas[name].properties[field])[0].readOnly)
      .map((field) => ({
        label: `${name}.${field}`,
        alternatives: alternativesOf(schemas[name].properties[field]),
        isDocumented: ajv.compile(schemas[name].properties[field]),
        isAccepted: (value: unknown) => form.read({ [field]: value }).violations.every((each) => each.field !== field),
      })),
  )
}

function alternativesOf({ anyOf, ...schema }: Json): Json[] {
  return anyOf ?? [schema]
}

function documentedValue({ type, enum: values, pattern, minimum, maximum }: Json): fc.Arbitrary<unknown> {
  if (values !== undefined) return fc.constantFrom(...values)
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum })
  return type === 'boolean' ? fc.boolean() : fc.constant(null)
}

const nearMisses = fc.constantFrom<unknown[]>(
  ...['2', '01', '00', '+1', '1.0', '1e0', 'TRUE', 'yes', 'on', 'null', ' 1 ', ' ', '\u0000', '٣', '9'.repeat(17)],
  ...[2, -1, -0, 0.5, 7, 300, 303, 1e21, 1_000_000_001, 2 ** 53, [], {}, [true], ['1'], { '': 1 }],
)

function valueFor(alternatives: readonly Json[]): fc.Arbitrary<unknown> {
  return fc.oneof(...alternatives.map(documentedValue), nearMisses, fc.integer(), fc.jsonValue())
}

/** The document states once that text is trimmed. */
const trimmed = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

test('booleans and enumerations accept exactly the values that their schemas allow', () => {
  const scalars = scalarsIn(all, exact)
  assert.ok(scalars.length > exact.length)
  for (const { label, alternatives, isDocumented, isAccepted } of scalars) {
    fc.assert(
      fc.property(valueFor(alternatives), (value) => {
        assert.equal(isAccepted(value), isDocumented(trimmed(value)), `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})

test('integers accept exactly the values that their schemas allow, except text just beyond the maximum', () => {
  for (const { label, alternatives, isDocumented, isAccepted } of scalarsIn(all, integers)) {
    const [{ maximum }] = alternatives as [Json]
    fc.assert(
      fc.property(valueFor(alternatives), (value) => {
        const sent = trimmed(value)
        const isJustBeyond = typeof sent === 'string' && sent.length === `${maximum}`.length && Number(sent) > maximum
        assert.equal(isAccepted(value), isDocumented(sent) && !isJustBeyond, `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})

test('native JSON values are accepted, and no field takes both numbers and text', () => {
  for (const { label, alternatives, isAccepted } of scalarsIn(native, [...exact, ...integers])) {
    const types = alternatives.map(({ type }) => type).filter((type) => type !== 'null')
    assert.equal(types.length, 1, `${label} ${types}`)
    fc.assert(
      fc.property(fc.oneof(...alternatives.map(documentedValue)), (value) => {
        assert.ok(isAccepted(value), `${label} ${JSON.stringify(value)}`)
      }),
    )
  }
})
