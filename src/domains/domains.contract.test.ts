import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused } from '../../test/links-api.ts'

const app = await startApp()
const domains = '/api/v1/domains'
let made = 0

/** Returns a name that other tests do not use. */
function freshName(): string {
  made += 1
  return `d${made}.acme.com`
}

async function stored(fields: Record<string, string> = {}): Promise<Json> {
  const answer = await app.send('POST', domains, { form: { name: freshName(), ...fields } })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

const both = ['PUT', 'PATCH'] as const
const urls = ['homepage_url', 'not_found_url'] as const

describe('POST /domains', () => {
  test('201 for a form and for JSON alike', async () => {
    const fields = { homepage_url: 'https://acme.com/?a=1&b=2#c', not_found_url: 'http://acme.com/404' }
    const byForm = await app.send('POST', domains, { form: { name: freshName(), ...fields } })
    const byJson = await app.send('POST', domains, { json: { name: freshName(), ...fields } })
    for (const { status, body } of [byForm, byJson]) {
      assert.equal(status, 201)
      assert.equal(body.data.homepage_url, fields.homepage_url)
      assert.equal(body.data.not_found_url, fields.not_found_url)
    }
  })

  test('201 with the name trimmed, in lower case, without its trailing dot', async () => {
    const { body } = await app.send('POST', domains, { form: { name: ' \t Trim.ACME.com. \n' } })
    assert.equal(body.data.name, 'trim.acme.com')
  })

  test('201 with both spellings of an internationalised name', async () => {
    const { body } = await app.send('POST', domains, { form: { name: 'BÜCHER.example' } })
    assert.deepEqual([body.data.name, body.data.name_unicode], ['xn--bcher-kva.example', 'bücher.example'])
  })

  test('201 with URLs as sent, only trimmed', async () => {
    const homepage_url = 'HTTPS://Acme.COM:443/%7Ea/../b?q=ü#ö'
    const record = await stored({ homepage_url: `  ${homepage_url} ` })
    assert.equal(record.homepage_url, homepage_url)
  })

  test('201 with null for URLs that are empty, blank or null', async () => {
    assert.equal((await stored({ homepage_url: '', not_found_url: '  \t ' })).homepage_url, null)
    const { status, body } = await app.send('POST', domains, { json: { name: freshName(), homepage_url: null } })
    assert.equal(status, 201)
    assert.equal(body.data.homepage_url, null)
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
  for (const [name, code] of [
    ['https://go.acme.com', 'has_scheme'],
    ['com', 'public_suffix'],
    [`${'abc.'.repeat(62)}abcdef`, 'too_long'],
    ['a\u0000b.com', 'control_characters'],
  ] as const) {
    test(`422 ${code} for the name ${JSON.stringify(name.slice(0, 40))}, with a hint`, async () => {
      const answer = await app.send('POST', domains, { form: { name } })
      assertRefused(answer, ['name', code])
      assert.ok(answer.body.message.length > 20)
    })
  }

  for (const field of urls) {
    for (const [url, code] of [
      ['acme.com', 'not_absolute'],
      ['https://acme.com/\0', 'control_characters'],
      [`https://acme.com/${'a'.repeat(2032)}`, 'too_long'],
    ] as const) {
      test(`422 ${code} for the ${field} ${JSON.stringify(url.slice(0, 40))}`, async () => {
        assertRefused(await app.send('POST', domains, { form: { name: freshName(), [field]: url } }), [field, code])
      })
    }
  }

  test('201 for a URL of exactly 2048 characters', async () => {
    const url = `https://acme.com/${'a'.repeat(2048 - 17)}`
    assert.equal((await stored({ homepage_url: url })).homepage_url, url)
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
    for (const field of urls) {
      test(`200 clears ${field} when it is sent empty, blank or null`, async () => {
        for (const request of [{ form: { [field]: '' } }, { form: { [field]: ' \t' } }, { json: { [field]: null } }]) {
          const record = await stored({ homepage_url: 'https://a.com', not_found_url: 'https://b.com' })
          const { status, body } = await app.send(method, `${domains}/${record.id}`, request)
          assert.equal(status, 200)
          assert.deepEqual(body.data, { ...record, [field]: null, updated_at: body.data.updated_at })
        }
      })
    }

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
