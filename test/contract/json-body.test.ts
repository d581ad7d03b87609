/** Responses to random JSON bodies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'

const app = await startApp()
const path = '/api/v1/spaces'
const post = (body: string) => app.send('POST', path, { body, headers: { 'content-type': 'application/json' } })
const codesOf = ({ body }: { body: Json }, field: string): string[] =>
  (body.violations ?? []).filter((each: Json) => each.field === field).map((each: Json) => each.code)

const printable = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 40 })
  .map((text) =>
    text
      .replace(/\p{Cc}/gu, '')
      .trim()
      .normalize('NFC'),
  )
  .filter((text) => text !== '')

test('201 with any printable name, by JSON and by form, which is shown and listed', async () => {
  await fc.assert(
    fc.asyncProperty(printable, fc.integer({ min: 1, max: 6 }), async (name, color) => {
      for (const answer of [
        await app.send('POST', path, { json: { name, color } }),
        await app.send('POST', path, { form: { name, color } }),
      ]) {
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.body.data.name, name)
        assert.equal(answer.body.data.color, color)
        assert.deepEqual((await app.send('GET', `${path}/${answer.body.data.id}`)).body, answer.body)
        const query = new URLSearchParams({ search: name, per_page: '100' })
        const list = (await app.send('GET', `${path}?${query}`)).body
        assert.ok(
          list.data.some(({ id }: Json) => id === answer.body.data.id),
          `not found: ${JSON.stringify(name)}`,
        )
      }
    }),
    { numRuns: 60 },
  )
})

test('201 or 422 for any JSON object, and 400 for any other JSON', async () => {
  const object = fc.dictionary(fc.oneof(fc.constantFrom('name', 'color', 'id'), fc.string()), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(fc.oneof(object, fc.jsonValue()), async (value) => {
      const { status, text } = await post(JSON.stringify(value))
      const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
      assert.ok(isObject ? status === 201 || status === 422 : status === 400, text)
    }),
    { numRuns: 150 },
  )
})

test('400, 201 or 422 for any bytes, never 500', async () => {
  const pieces = fc.constantFrom(...'{}[]":,\\3 ', 'name', '"name"', '"color"', '\\u0000', '\ud800', 'null')
  await fc.assert(
    fc.asyncProperty(fc.array(pieces), async (each) => {
      const { status } = await post(each.join(''))
      assert.ok([201, 400, 422].includes(status))
    }),
    { numRuns: 150 },
  )
})

test('422 not_single only for repeated members', async () => {
  const member = fc.constantFrom('name', 'color', 'id', 'zzz')
  const objects = ['{"name":1,"name":2}', '[{"color":1,"color":2}]', '"\\"name\\":1,{"']
  const nested = fc.constantFrom('1', '"x"', 'null', ...objects)
  const escaped = (name: string) => `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(member, nested, fc.boolean()), { maxLength: 6 }), async (members) => {
      const written = members.map(([name, value, isEscaped]) => `"${isEscaped ? escaped(name) : name}" : ${value}`)
      const answer = await post(`{${written.join(' , ')}}`)
      for (const name of ['name', 'color']) {
        const values = members.filter(([each]) => each === name).map(([, value]) => value)
        const isTwice = values.length > 1 || values[0]?.startsWith('[') === true
        assert.deepEqual(
          codesOf(answer, name).filter((code) => code === 'not_single'),
          isTwice ? ['not_single'] : [],
        )
      }
    }),
    { numRuns: 150 },
  )
})

test('400 for more than 100 members', async () => {
  const members = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, n])))
  assert.equal((await post(members(100))).status, 422)
  const { status, body } = await post(members(101))
  assert.deepEqual([status, body.code], [400, 'malformed_body'])
  assert.match(body.detail, /at most 100 /)
})

for (const [what, body, place] of [
  ['a comma too many', '{\n  "name": "x",\n}', ': it goes wrong at line 3, column 1'],
  ['single quotes', "{'name':'x'}", ': it goes wrong at line 1, column 2'],
  ['no end', '{"name":"x"', ': it goes wrong at line 1, column 12'],
  ['no number', '{"color":NaN}', ''],
] as const) {
  test(`400 malformed_body for JSON with ${what}, with the position if it is known`, async () => {
    const answer = await post(body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'malformed_body'])
    const advice = 'Put names and texts in double quotes, and leave out commas before closing brackets.'
    assert.equal(answer.body.message, `The body is not valid JSON${place}. ${advice}`)
  })
}

test('201 for JSON after a byte order mark, which is ignored', async () => {
  assert.equal((await post('\ufeff{"name":"Marked"}')).body.data.name, 'Marked')
})
