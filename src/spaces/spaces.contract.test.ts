import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { assertRefused } from '../../test/links-api.ts'

const app = await startApp()
const spaces = '/api/v1/spaces'

async function stored(fields: Record<string, string | number> = {}): Promise<Json> {
  const answer = await app.send('POST', spaces, { form: { name: 'Marketing', ...fields } })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

describe('POST /spaces', () => {
  for (const color of [1, 2, 3, 4, 5, 6]) {
    test(`201 with the color ${color}, as a form, a JSON number and JSON text`, async () => {
      const requests: Request[] = [{ form: { name: 'x', color } }, { json: { name: 'x', color } }]
      requests.push({ json: { name: 'x', color: String(color) } }, { form: { name: 'x', color: ` ${color}\t` } })
      for (const request of requests) {
        const { status, body } = await app.send('POST', spaces, request)
        assert.equal(status, 201)
        assert.equal(body.data.color, color)
      }
    })
  }

  test('201 with the color 1 when it is empty, blank or null', async () => {
    for (const request of [
      { form: 'name=x&color=' },
      { form: 'name=x&color=+' },
      { json: { name: 'x', color: null } },
    ]) {
      assert.equal((await app.send('POST', spaces, request)).body.data.color, 1)
    }
  })

  test('201 for a JSON number, however it is written', async () => {
    for (const number of ['3', '3.0', '3e0', '0.3e1']) {
      const body = `{"name": "x", "color": ${number}}`
      const answer = await app.send('POST', spaces, { body, headers: { 'content-type': 'application/json' } })
      assert.equal(answer.body.data.color, 3)
    }
  })

  test('201 with the name trimmed and in NFC', async () => {
    assert.equal((await stored({ name: ' \t Cafe\u0301 \u00a0\n' })).name, 'Caf\u00e9')
  })

  test('201 for a name in use', async () => {
    const first = await stored({ name: 'Twice' })
    const second = await stored({ name: 'Twice' })
    assert.ok(second.id > first.id)
  })

  test('201 for names with special characters', async () => {
    const names = [`' or 1=1 --`, '%_\\', '<script>alert(1)</script>', '__proto__', 'null', '0', '💩', 'a"b', '\u202e']
    for (const name of names) assert.equal((await stored({ name })).name, name)
  })

  test('201 for a name of exactly 255 code points, of one or two code units each', async () => {
    for (const letter of ['a', 'é', '💩'])
      assert.equal((await stored({ name: letter.repeat(255) })).name, letter.repeat(255))
    const decomposed = 'e\u0301'.repeat(255)
    assert.equal((await stored({ name: decomposed })).name, 'é'.repeat(255))
  })

  test('422 too_long for a name of 256 code points', async () => {
    for (const letter of ['a', 'é', '💩']) {
      assertRefused(await app.send('POST', spaces, { form: { name: letter.repeat(256) } }), ['name', 'too_long'])
    }
  })

  test('422 control_characters for control characters and lone surrogates in a name', async () => {
    for (const name of ['a\0b', 'a\x01b', 'a\nb', 'a\x7fb', 'a\x9fb', '\ud800', 'a\udc00b', '\udc00\ud800']) {
      if (name.isWellFormed())
        assertRefused(await app.send('POST', spaces, { form: { name } }), ['name', 'control_characters'])
      assertRefused(await app.send('POST', spaces, { json: { name } }), ['name', 'control_characters'])
    }
  })

  for (const color of ['0', '7', '-1', '03', '3.0', '1e0', '+3', '1 2', 'red', '٣', 'NaN', '9'.repeat(400)]) {
    test(`422 out_of_range for the color ${JSON.stringify(color.slice(0, 20))}, in a form and as JSON text`, async () => {
      const answer = await app.send('POST', spaces, { form: { name: 'x', color } })
      assertRefused(answer, ['color', 'out_of_range'])
      assert.equal(answer.body.message, 'The color must be an integer from 1 to 6.')
      assertRefused(await app.send('POST', spaces, { json: { name: 'x', color } }), ['color', 'out_of_range'])
    })
  }

  for (const color of ['0', '7', '-1', '1.5', '1e400', '-0', 'true', 'false', '{}', '{"toString": 1, "valueOf": 1}']) {
    test(`422 out_of_range for the color ${color} in JSON`, async () => {
      const body = `{"name": "x", "color": ${color}}`
      const answer = await app.send('POST', spaces, { body, headers: { 'content-type': 'application/json' } })
      assertRefused(answer, ['color', 'out_of_range'])
    })
  }

  test('422 with the exact example of the contract', async () => {
    const { status, text, body } = await app.send('POST', spaces, { form: { color: 9 } })
    assert.equal(status, 422)
    assert.equal(text.replace(body.request_id, '…'), example)
  })
})

const example =
  '{"message":"The name field is required. (and 1 more error)","errors":{"name":["The name field is required."],"color":["The color must be an integer from 1 to 6."]},"type":"/problems/validation_failed","title":"Validation failed","status":422,"detail":"The name field is required. (and 1 more error)","code":"validation_failed","violations":[{"field":"name","code":"required","message":"The name field is required."},{"field":"color","code":"out_of_range","message":"The color must be an integer from 1 to 6."}],"request_id":"…"}'

for (const method of ['PUT', 'PATCH']) {
  describe(`${method} /spaces/{id}`, () => {
    test('200 if only the case changes', async () => {
      const record = await stored({ name: 'case' })
      assert.equal(
        (await app.send(method, `${spaces}/${record.id}`, { form: { name: 'CASE' } })).body.data.name,
        'CASE',
      )
    })

    test('422 for an empty, blank or null name and color, and changes nothing', async () => {
      const record = await stored({ color: 3 })
      const blanks = [{ form: 'name=&color=' }, { form: 'name=+&color=+' }, { json: { name: null, color: null } }]
      for (const request of blanks) {
        const answer = await app.send(method, `${spaces}/${record.id}`, request)
        assertRefused(answer, ['name', 'required'], ['color', 'required'])
      }
      assert.deepEqual((await app.send('GET', `${spaces}/${record.id}`)).body.data, record)
    })
  })
}
