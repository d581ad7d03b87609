/** Media types, sizes and syntax of request bodies, which are the same for all resources. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseJson } from '../../src/api/body.ts'
import { startApp } from '../app.ts'
import { anyCharacter } from '../characters.ts'
import { type Answer, assertProblem, type Json, type Request } from '../client.ts'
import { assertRefused } from '../links-api.ts'
import { runs } from '../runs.ts'

const app = await startApp()
const spaces = '/api/v1/spaces'
const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
const { id } = (await app.send('POST', spaces, { form: { name: 'to be changed' } })).body.data

const post = (body: string | Buffer, type?: string, headers: Request['headers'] = {}) =>
  app.send('POST', spaces, { body, headers: { ...(type === undefined ? {} : { 'content-type': type }), ...headers } })

describe('media types', () => {
  test('201 for a form and for JSON in UTF-8, however the type is written', async () => {
    const charsets = ['', ';charset=utf-8', '; profile=x; charset=UTF-8', ' ; charset="utf-8"']
    const accepted = [form, json].flatMap((type) => charsets.map((charset) => type + charset))
    for (const type of accepted.concat('Application/JSON', 'APPLICATION/X-WWW-FORM-URLENCODED', `${json};`)) {
      const answer = await post(/json/i.test(type) ? '{"name":"é"}' : 'name=%C3%A9', type)
      assert.deepEqual([answer.status, answer.body.data?.name], [201, 'é'], type)
    }
  })

  test('415 for any other type or charset, with the accepted types', async () => {
    const others = ['text/plain', 'multipart/form-data; boundary=x', '*/*', 'json', 'application/', 'gar bage', ',']
    const similar = [`${json}, ${form}`, `x-${json}`, `${json}x`, 'application/vnd.api+json', 'application/jsonp']
    const parameters = ['charset=utf-16', 'charset=utf-8; charset=latin1', 'charset="utf-8', 'charset=us-ascii']
    for (const type of [...others, ...similar, ...parameters.map((parameter) => `${json}; ${parameter}`)]) {
      for (const method of ['POST', 'PUT', 'PATCH']) {
        const path = method === 'POST' ? spaces : `${spaces}/${id}`
        const answer = await app.send(method, path, { body: '{"name":"x"}', headers: { 'content-type': type } })
        assertProblem(answer, 415, 'unsupported_media_type')
        assert.match(answer.body.detail, /application\/x-www-form-urlencoded.*application\/json/)
      }
    }
  })

  test('415 for a Content-Encoding, for a body without a content type, and for an empty body of another type', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'identity', 'gzip, br', ''])
      assertProblem(await post('name=x', form, { 'content-encoding': encoding }), 415, 'unsupported_media_type')
    assertProblem(await post('name=x'), 415, 'unsupported_media_type')
    assertProblem(await post('name=x', undefined, { 'transfer-encoding': 'chunked' }), 415, 'unsupported_media_type')
    assertProblem(await post('', 'text/plain'), 415, 'unsupported_media_type')
  })
})

test('200 for PUT and PATCH without fields, 422 for POST', async () => {
  for (const request of [
    {},
    { headers: { 'content-length': '0' } },
    { body: '', headers: { 'content-type': form } },
    { body: '', headers: { 'content-type': json } },
    { body: '', headers: { 'content-type': form, 'transfer-encoding': 'chunked' } },
    { json: {} },
    { body: ' \r\n\t{ } ', headers: { 'content-type': json } },
    { form: '&&&' },
  ] satisfies Request[]) {
    for (const method of ['PUT', 'PATCH'])
      assert.equal((await app.send(method, `${spaces}/${id}`, request)).status, 200, JSON.stringify(request))
    assertRefused(await app.send('POST', spaces, request), ['name', 'required'])
  }
})

test('204 for DELETE with any body, which is ignored', async () => {
  const large = Buffer.alloc(200_000, 'a')
  for (const request of [
    { headers: { 'content-type': json } },
    { body: '', headers: { 'content-type': json } },
    { body: '{{{', headers: { 'content-type': json } },
    { form: '%zz=%ff' },
    { json: { zzz: 1 } },
    { body: 'x', headers: { 'content-type': 'text/plain' } },
    { body: 'x' },
    { body: 'x', headers: { 'content-type': 'gar bage' } },
    { form: 'a=b', headers: { 'content-encoding': 'gzip' } },
    { body: large, headers: { 'content-type': form } },
    { body: large, headers: { 'transfer-encoding': 'chunked' } },
  ] satisfies Request[]) {
    const { body } = await app.send('POST', spaces, { form: { name: 'x' } })
    const path = `${spaces}/${body.data.id}`
    assert.equal((await app.send('DELETE', path, request)).status, 204, JSON.stringify(request).slice(0, 99))
    assert.equal((await app.send('GET', path)).status, 404)
  }
})

describe('size', () => {
  const limit = 64 * 1024
  const formOf = (size: number) => `name=x${'+'.repeat(size - 6)}`
  const jsonOf = (size: number) => `{"name":"x"${' '.repeat(size - 12)}}`
  const bodies = { [form]: formOf, [json]: jsonOf }

  test('201 for a body of exactly 64 KiB, 413 for one more byte, with its length and chunked', async () => {
    for (const [type, bodyOf] of Object.entries(bodies)) {
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
        assert.equal((await post(bodyOf(limit), type, headers)).status, 201)
        assertProblem(await post(bodyOf(limit + 1), type, headers), 413, 'body_too_large')
      }
    }
  })

  test('413 before the body is sent', async () => {
    const head = `POST ${spaces} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: ${json}\r\n`
    const [answer] = await app.raw(`${head}Content-Length: 999999999999\r\n\r\n`)
    assertProblem(answer as Answer, 413, 'body_too_large')
  })
})

describe('forms', () => {
  test('400 for malformed percent-encoding and for bytes that are not UTF-8', async () => {
    for (const body of ['name=%', 'name=%zz', 'name=%ff', 'name=%ED%A0%80', '%zz=1', 'name=x&%=']) {
      assertProblem(await post(body, form), 400, 'malformed_body')
      assertProblem(await app.send('PATCH', `${spaces}/999`, { form: body }), 400, 'malformed_body')
    }
    assertProblem(await post(Buffer.from('name=\xff', 'latin1'), form), 400, 'malformed_body')
  })

  test('201 with a decoded name', async () => {
    assert.equal((await post('&n%61me=a+b%20%2B%26%3D%25=é%c3%A9&', form)).body.data.name, 'a b +&=%=éé')
  })

  test('422 not_single for repeated fields and arrays', async () => {
    for (const body of ['name=a&name=a', 'name=&name=', 'name[]=a', 'name%5B%5D=a', 'name[x]=a', 'name=a&name[]=b'])
      assertRefused(await post(body, form), ['name', 'not_single'])
    assertRefused(await post('color=1&name=a&name=b&color=1', form), ['name', 'not_single'], ['color', 'not_single'])
  })
})

test('422 unknown_field for names of inherited properties', async () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
    assertRefused(await post(`name=x&${name}=1`, form), [name, 'unknown_field'])
    assertRefused(await post(`{"name":"x","${name}":{"color":9}}`, json), [name, 'unknown_field'])
  }
})

describe('JSON', () => {
  test('400 for bytes that are not UTF-8', async () => {
    assertProblem(await post(Buffer.from('{"name":"\xff"}', 'latin1'), json), 400, 'malformed_body')
    assertProblem(await post(Buffer.from('{"name":"x"}', 'utf16le'), json), 400, 'malformed_body')
  })

  test('422 for nesting as deep as the limit allows, in any field', async () => {
    const depth = 30_000
    assertRefused(await post(`{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`, json), ['name', 'not_single'])
    assertRefused(await post(`{"name":"x","color":${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}}`, json), [
      'color',
      'out_of_range',
    ])
  })

  test('422 for a long or malformed name, which the response shortens', async () => {
    const answer = await post(`{"name":"x","${'z'.repeat(60_000)}":1}`, json)
    assert.equal(answer.status, 422)
    assert.ok(answer.text.length < 2_000)
    assert.equal((await post('{"name":"x","\\ud800":1}', json)).status, 422)
  })
})

test('422 for a name of 60 KB of combining marks, without normalizing it', async (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize')
  const answer = await app.send('POST', spaces, { json: { name: `a${'\u0301\u0316'.repeat(15_000)}` } })
  assertRefused(answer, ['name', 'too_long'])
  assert.ok(normalize.mock.calls.every((each) => String(each.this).length < 10_000))
})

const postJson = (body: string) => post(body, json)
const codesOf = ({ body }: { body: Json }, field: string): string[] =>
  (body.violations ?? []).filter((each: Json) => each.field === field).map((each: Json) => each.code)

const printable = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 40 })
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
        await app.send('POST', spaces, { json: { name, color } }),
        await app.send('POST', spaces, { form: { name, color } }),
      ]) {
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.body.data.name, name)
        assert.equal(answer.body.data.color, color)
        assert.deepEqual((await app.send('GET', `${spaces}/${answer.body.data.id}`)).body, answer.body)
        const query = new URLSearchParams({ search: name, per_page: '100' })
        const list = (await app.send('GET', `${spaces}?${query}`)).body
        assert.ok(
          list.data.some(({ id }: Json) => id === answer.body.data.id),
          `not found: ${JSON.stringify(name)}`,
        )
      }
    }),
    { numRuns: runs(60, 30) },
  )
})

test('400 for JSON that is not an object', async () => {
  for (const body of ['null', 'true', '1', '"name"', '[]', '[{"name":"x"}]'])
    assertProblem(await postJson(body), 400, 'malformed_body')
})

test('422 not_single only for repeated members', async () => {
  const member = fc.constantFrom('name', 'color', 'id', 'zzz')
  const objects = ['{"name":1,"name":2}', '[{"color":1,"color":2}]', '"\\"name\\":1,{"']
  const nested = fc.constantFrom('1', '"x"', 'null', ...objects)
  const escaped = (name: string) => `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(member, nested, fc.boolean()), { maxLength: 6 }), async (members) => {
      const written = members.map(([name, value, isEscaped]) => `"${isEscaped ? escaped(name) : name}" : ${value}`)
      const answer = await postJson(`{${written.join(' , ')}}`)
      for (const name of ['name', 'color']) {
        const values = members.filter(([each]) => each === name).map(([, value]) => value)
        const isTwice = values.length > 1 || values[0]?.startsWith('[') === true
        assert.deepEqual(
          codesOf(answer, name).filter((code) => code === 'not_single'),
          isTwice ? ['not_single'] : [],
        )
      }
    }),
    { numRuns: runs(150, 60) },
  )
})

test('JSON is read as JSON.parse reads it, whatever a client sends', async () => {
  const name = fc.string({ unit: anyCharacter, maxLength: 3 }).filter((text) => !text.endsWith(']'))
  const scalars = ['01', '-0', '1e999', '+1', '0x1', 'nul', '"\\ud800"', '"\\x"', '"\u0001"', '"\\\\"', '"a']
  const json = fc.oneof(
    fc.dictionary(name, fc.jsonValue({ maxDepth: 3 })).map((value) => JSON.stringify({ value })),
    fc.tuple(name, fc.constantFrom(...scalars)).map(([field, value]) => `{${JSON.stringify(field)}:[ ${value}\n]}`),
  )
  const inserted = fc.constantFrom('', ...'{}[]:,"\\ \n\t0-.e\0\ufeff\u00a0\u2028', '"__proto__":1,')
  const slips = fc.array(fc.tuple(fc.nat(40), fc.nat(1), inserted), { maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(json, slips, async (valid, all) => {
      const body = all.reduce((text, [at, cut, more]) => text.slice(0, at) + more + text.slice(at + cut), valid)
      const bytes = Buffer.from(body)
      let expected: unknown
      try {
        expected = JSON.parse(bytes.toString().replace(/^\ufeff/, ''))
      } catch {
        await assert.rejects(async () => parseJson(bytes), { code: 'malformed_body' })
        return
      }
      const read = await parseJson(bytes)
      // A repeated member is an error of its field, and only its last value is in `expected`.
      if (!JSON.stringify(read).includes('"repeated":true'))
        assert.equal(JSON.stringify(read), JSON.stringify(expected))
    }),
    { numRuns: runs(5_000, 200) },
  )
})

test('400 for more than 100 members', async () => {
  const members = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, n])))
  assert.equal((await postJson(members(100))).status, 422)
  const { status, body } = await postJson(members(101))
  assert.deepEqual([status, body.code], [400, 'malformed_body'])
  assert.match(body.detail, /at most 100 /)
})

test('400 malformed_body for malformed JSON, with the position', async () => {
  for (const [body, place] of [
    ['{\n  "name": "x",\n}', 'line 3, column 1'],
    ["{'name':'x'}", 'line 1, column 2'],
    ['{"name":"x"', 'line 1, column 12'],
    ['{"name": "x\\"', 'line 1, column 10'],
    ['{"color":NaN}', 'line 1, column 10'],
  ] as const) {
    const answer = await postJson(body)
    assertProblem(answer, 400, 'malformed_body')
    const advice = 'Put names and texts in double quotes, and leave out commas before closing brackets.'
    assert.equal(answer.body.message, `The body is not valid JSON: it goes wrong at ${place}. ${advice}`)
  }
})

test('201 for JSON after a byte order mark, which is ignored', async () => {
  assert.equal((await postJson('\ufeff{"name":"Marked"}')).body.data.name, 'Marked')
})
