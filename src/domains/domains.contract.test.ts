import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { assertRefused } from '../../test/links-api.ts'

const app = await startApp()
const domains = '/api/v1/domains'
let made = 0

/** Returns a name that other tests do not use. */
function freshName(): string {
  made += 1
  return `d${made}.acme.com`
}

const stored = (fields: Json = {}) => app.stored('/domains', { name: freshName(), ...fields })

const both = ['PUT', 'PATCH'] as const

describe('POST /domains', () => {
  test('201 with the name trimmed, in lower case and in both spellings, without its trailing dot', async () => {
    for (const [sent, name, unicode = name] of [
      [' \t Trim.ACME.com. \n', 'trim.acme.com'],
      ['BÜCHER.example', 'xn--bcher-kva.example', 'bücher.example'],
    ] as const) {
      const { body } = await app.send('POST', domains, { form: { name: sent } })
      assert.deepEqual([body.data.name, body.data.name_unicode], [name, unicode])
    }
  })

  test('201 with URLs as sent, only trimmed, and null for empty, blank and null ones', async () => {
    for (const [sent, shown = sent] of [
      ['https://acme.com/?a=1&b=2#c'],
      [' HTTPS://Acme.COM:443/%7Ea/../b?q=ü#ö ', 'HTTPS://Acme.COM:443/%7Ea/../b?q=ü#ö'],
      [`https://acme.com/${'a'.repeat(2048 - 17)}`],
      ['', null],
      [' \t', null],
      [null],
    ] as const) {
      const fields = () => ({ name: freshName(), homepage_url: sent, not_found_url: sent })
      const requests: Request[] = [{ json: fields() }, ...(sent === null ? [] : [{ form: fields() as Json }])]
      for (const request of requests) {
        const { status, body } = await app.send('POST', domains, request)
        assert.deepEqual([status, body.data?.homepage_url, body.data?.not_found_url], [201, shown, shown])
      }
    }
  })

  test('409 when the name is taken, in any spelling', async () => {
    await app.send('POST', domains, { form: { name: 'köln.example' } })
    for (const name of ['köln.example', 'KÖLN.example', 'xn--kln-sna.example.', 'ko\u0308LN.example']) {
      const { status, body } = await app.send('POST', domains, { form: { name } })
      assert.deepEqual([status, body.code, body.errors.name.length], [409, 'name_taken', 1])
      assert.deepEqual(body.violations, [{ field: 'name', code: 'taken', message: body.errors.name[0] }])
    }
  })

  test('409 with the same message when another account has the name', async () => {
    const name = freshName()
    const key = await app.createKey({ account: await app.createAccount() })
    await app.send('POST', domains, { form: { name }, key })
    const other = await app.send('POST', domains, { form: { name } })
    const own = await app.send('POST', domains, { form: { name }, key })
    assert.equal(other.status, 409)
    assert.deepEqual({ ...other.body, request_id: '' }, { ...own.body, request_id: '' })
  })

  test('201 for one of fifty concurrent requests with the same name, 409 for the others', async () => {
    const name = freshName()
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.send('POST', domains, { form: { name } })))
    const statuses = Map.groupBy(answers, ({ status }) => status)
    assert.equal(statuses.get(201)?.length, 1)
    assert.equal(statuses.get(409)?.length, 49)
    const { body } = await app.send('GET', `${domains}?search=${name}`)
    assert.equal(body.data.filter((each: Json) => each.name === name).length, 1)
  })

  // `names/` tests the other codes.
  test('422 for invalid names, with a hint, and for invalid URLs', async () => {
    for (const [name, code] of [
      ['https://go.acme.com', 'has_scheme'],
      ['com', 'public_suffix'],
      [`${'abc.'.repeat(62)}abcdef`, 'too_long'],
      ['a\u0000b.com', 'control_characters'],
    ] as const) {
      const answer = await app.send('POST', domains, { form: { name } })
      assertRefused(answer, ['name', code])
      assert.ok(answer.body.message.length > 20)
    }
    for (const [url, code] of [
      ['acme.com', 'not_absolute'],
      ['https://acme.com/\0', 'control_characters'],
      [`https://acme.com/${'a'.repeat(2032)}`, 'too_long'],
    ] as const) {
      const form = { name: freshName(), homepage_url: url, not_found_url: url }
      assertRefused(await app.send('POST', domains, { form }), ['homepage_url', code], ['not_found_url', code])
    }
  })

  test('422 for all invalid fields together, in the order of the form', async () => {
    const form = { not_found_url: 'x', colour: 'red', homepage_url: 'ftp://x', name: 'a_b' }
    assertRefused(
      await app.send('POST', domains, { form }),
      ['name', 'has_underscore'],
      ['homepage_url', 'unsupported_scheme'],
      ['not_found_url', 'not_absolute'],
      ['colour', 'unknown_field'],
    )
  })
})

for (const method of both) {
  describe(`${method} /domains/{id}`, () => {
    test('200 clears URLs that are sent empty, blank or null', async () => {
      for (const field of ['homepage_url', 'not_found_url']) {
        for (const request of [{ form: { [field]: '' } }, { form: { [field]: ' \t' } }, { json: { [field]: null } }]) {
          const record = await stored({ homepage_url: 'https://a.com', not_found_url: 'https://b.com' })
          const { status, body } = await app.send(method, `${domains}/${record.id}`, request)
          assert.equal(status, 200)
          assert.deepEqual(body.data, { ...record, [field]: null, updated_at: body.data.updated_at })
        }
      }
    })

    test('200 for the present name in another spelling', async () => {
      const { body } = await app.send('POST', domains, { form: { name: `${method}.münchen.example` } })
      const { id, name, name_unicode } = body.data
      for (const spelling of [name, name_unicode, name.toUpperCase(), ` ${name}. `]) {
        const answer = await app.send(method, `${domains}/${id}`, { form: { name: spelling } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body, body)
      }
    })

    test('422 prohibited for any other name, and changes nothing', async () => {
      const record = await stored()
      for (const name of [freshName(), 'not a host name', 'com', '127.0.0.1']) {
        const form = { name, homepage_url: 'https://changed.com' }
        assertRefused(await app.send(method, `${domains}/${record.id}`, { form }), ['name', 'prohibited'])
      }
      assert.deepEqual((await app.send('GET', `${domains}/${record.id}`)).body.data, record)
    })
  })
}
