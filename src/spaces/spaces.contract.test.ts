/** The fields of spaces. `test/contract/` tests what all resources have in common. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { assertRefused } from '../../test/links-api.ts'

const app = await startApp()
const spaces = '/api/v1/spaces'

const stored = (fields: Json) => app.stored('/spaces', { name: 'Marketing', ...fields })

const inJson = (color: string): Request => ({
  body: `{"name": "x", "color": ${color}}`,
  headers: { 'content-type': 'application/json' },
})

describe('POST /spaces', () => {
  test('201 with each color, as a form, a JSON number and JSON text, and 1 by default', async () => {
    const requests: [request: Request, color: number][] = [1, 2, 3, 4, 5, 6].flatMap((color) => [
      [{ form: { name: 'x', color } }, color],
      [{ form: { name: 'x', color: ` ${color}\t` } }, color],
      [{ json: { name: 'x', color } }, color],
      [{ json: { name: 'x', color: String(color) } }, color],
    ])
    for (const number of ['3.0', '3e0', '0.3e1']) requests.push([inJson(number), 3])
    requests.push([{ form: 'name=x&color=' }, 1], [{ form: 'name=x&color=+' }, 1], [inJson('null'), 1])
    for (const [request, color] of requests) {
      const { status, body } = await app.send('POST', spaces, request)
      assert.deepEqual([status, body.data?.color], [201, color], JSON.stringify(request))
    }
  })

  test('422 out_of_range for any other color', async () => {
    const texts = ['0', '7', '-1', '03', '3.0', '1e0', '+3', '1 2', 'red', '٣', 'NaN', '9'.repeat(400)]
    const others = ['0', '7', '-1', '1.5', '1e400', '-0', 'true', 'false', '{}', '{"toString": 1, "valueOf": 1}']
    const requests = texts.flatMap((color) => [{ form: { name: 'x', color } }, { json: { name: 'x', color } }])
    for (const request of [...requests, ...others.map(inJson)]) {
      const answer = await app.send('POST', spaces, request)
      assertRefused(answer, ['color', 'out_of_range'])
      assert.equal(answer.body.message, 'The color must be an integer from 1 to 6.')
    }
  })

  test('201 with the name trimmed and in NFC, up to 255 code points, even if it is in use', async () => {
    const names = [' \t Cafe\u0301 \u00a0\n', 'a'.repeat(255), '💩'.repeat(255), 'e\u0301'.repeat(255)]
    for (const name of names) assert.equal((await stored({ name })).name, name.trim().normalize())
    const [first, second] = [await stored({ name: 'Twice' }), await stored({ name: 'Twice' })]
    assert.ok(second.id > first.id)
  })

  test('422 for 256 code points, control characters and lone surrogates in a name', async () => {
    for (const name of ['a\0b', 'a\x01b', 'a\nb', 'a\x7fb', 'a\x9fb', '\ud800', 'a\udc00b', '\udc00\ud800']) {
      if (name.isWellFormed())
        assertRefused(await app.send('POST', spaces, { form: { name } }), ['name', 'control_characters'])
      assertRefused(await app.send('POST', spaces, { json: { name } }), ['name', 'control_characters'])
    }
    for (const letter of ['a', 'é', '💩'])
      assertRefused(await app.send('POST', spaces, { form: { name: letter.repeat(256) } }), ['name', 'too_long'])
  })

  test('422 with the exact example of the contract', async () => {
    const { status, text, body } = await app.send('POST', spaces, { form: { color: 9 } })
    assert.equal(status, 422)
    assert.equal(text.replace(body.request_id, '…'), example)
  })
})

const example =
  '{"message":"The name field is required. (and 1 more error)","errors":{"name":["The name field is required."],"color":["The color must be an integer from 1 to 6."]},"type":"/problems/validation_failed","title":"Validation failed","status":422,"detail":"The name field is required. (and 1 more error)","code":"validation_failed","violations":[{"field":"name","code":"required","message":"The name field is required."},{"field":"color","code":"out_of_range","message":"The color must be an integer from 1 to 6."}],"request_id":"…"}'

test('PUT and PATCH return 422 for an empty, blank or null name and color, and change nothing', async () => {
  const record = await stored({ name: 'case', color: 3 })
  const path = `${spaces}/${record.id}`
  const blanks = [{ form: 'name=&color=' }, { form: 'name=+&color=+' }, { json: { name: null, color: null } }]
  for (const method of ['PUT', 'PATCH']) {
    for (const request of blanks)
      assertRefused(await app.send(method, path, request), ['name', 'required'], ['color', 'required'])
    assert.deepEqual((await app.send('GET', path)).body.data, record)
  }
  assert.equal((await app.send('PATCH', path, { form: { name: 'CASE' } })).body.data.name, 'CASE')
})
