import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'

const app = await startApp()
const domains = '/api/v1/domains'
let made = 0

/** A name that no other test of this file has. */
function freshName(): string {
  made += 1
  return `d${made}.acme.com`
}

async function stored(fields: Record<string, string> = {}): Promise<Json> {
  const answer = await app.send('POST', domains, { form: { name: freshName(), ...fields } })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

function assertRefused(answer: Answer, ...expected: readonly (readonly [field: string, code: string])[]): void {
  assert.equal(answer.status, 422, answer.text)
  assert.deepEqual(
    answer.body.violations.map(({ field, code }: Json) => [field, code]),
    expected,
  )
}

const both = ['PUT', 'PATCH'] as const
const urls = ['homepage_url', 'not_found_url'] as const
const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('POST /domains', () => {
  test('201 with the whole record, its fields in order, and the defaults', async () => {
    const before = Date.now()
    const { status, body } = await app.send('POST', domains, { form: { name: 'go.acme.com' } })
    assert.equal(status, 201)
    assert.deepEqual(Object.keys(body), ['data'])
    const { id, created_at, updated_at, ...rest } = body.data
    assert.deepEqual(Object.keys(body.data), [
      ...['id', 'name', 'name_unicode', 'homepage_url', 'not_found_url', 'created_at', 'updated_at'],
    ])
    assert.deepEqual(rest, {
      name: 'go.acme.com',
      name_unicode: 'go.acme.com',
      homepage_url: null,
      not_found_url: null,
    })
    assert.ok(Number.isSafeInteger(id) && id >= 1)
    assert.match(created_at, isTime)
    assert.equal(updated_at, created_at)
    assert.ok(Date.parse(created_at) >= before && Date.parse(created_at) <= Date.now())
  })

  test('201 with an absolute Location that leads to the record', async () => {
    const { headers, body } = await app.send('POST', domains, { form: { name: freshName() } })
    assert.equal(headers.location, `${app.origin}${domains}/${body.data.id}`)
    const { pathname } = new URL(String(headers.location))
    assert.deepEqual((await app.send('GET', pathname)).body, body)
  })

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
    assert.equal(body.data.name, 'xn--bcher-kva.example')
    assert.equal(body.data.name_unicode, 'bücher.example')
  })

  test('201 for localhost and for intranet names', async () => {
    for (const name of ['localhost', 'wiki.corp', 'intranet']) {
      assert.equal((await app.send('POST', domains, { form: { name } })).status, 201)
    }
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

  test('201 ignores what the server assigns', async () => {
    const json = { id: 1_000_000, created_at: 'x', updated_at: [1], name_unicode: '\0', name: freshName() }
    const { status, body } = await app.send('POST', domains, { json })
    assert.equal(status, 201)
    assert.equal(body.data.name_unicode, json.name)
    assert.ok(body.data.id < 1_000_000)
  })

  for (const [what, name] of Object.entries({
    'an upper-case spelling': 'TAKEN.acme.com',
    'a trailing dot': 'taken.acme.com.',
    'the same spelling': 'taken.acme.com',
  })) {
    test(`409 when the name is taken: ${what}`, async () => {
      await app.send('POST', domains, { form: { name: 'taken.acme.com' } })
      const { status, body } = await app.send('POST', domains, { form: { name } })
      assert.equal(status, 409)
      assert.equal(body.code, 'name_taken')
      assert.equal(body.errors.name.length, 1)
      assert.deepEqual(body.violations, [{ field: 'name', code: 'taken', message: body.errors.name[0] }])
    })
  }

  test('409 when the other spelling of an internationalised name is taken', async () => {
    await app.send('POST', domains, { form: { name: 'köln.example' } })
    assert.equal((await app.send('POST', domains, { form: { name: 'xn--kln-sna.example' } })).status, 409)
    assert.equal((await app.send('POST', domains, { form: { name: 'ko\u0308LN.example' } })).status, 409)
  })

  test('409 when another account has the name, in the same words', async () => {
    const name = freshName()
    const key = await app.createKey({ account: await app.createAccount() })
    await app.send('POST', domains, { form: { name }, key })
    const other = await app.send('POST', domains, { form: { name } })
    const own = await app.send('POST', domains, { form: { name }, key })
    assert.equal(other.status, 409)
    assert.deepEqual({ ...other.body, request_id: '' }, { ...own.body, request_id: '' })
  })

  test('409 for all but one of fifty that store one name at once', async () => {
    const name = freshName()
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.send('POST', domains, { form: { name } })))
    const statuses = Map.groupBy(answers, ({ status }) => status)
    assert.equal(statuses.get(201)?.length, 1)
    assert.equal(statuses.get(409)?.length, 49)
    const { body } = await app.send('GET', `${domains}?search=${name}`)
    assert.equal(body.data.filter((each: Json) => each.name === name).length, 1)
  })

  test('422 without a name, and with one that is empty, blank or null', async () => {
    for (const form of ['', 'name=', 'name=%20%09%0a', 'name']) {
      const answer = await app.send('POST', domains, { form })
      assertRefused(answer, ['name', 'required'])
      assert.deepEqual(answer.body.errors, { name: ['The name field is required.'] })
    }
    assertRefused(await app.send('POST', domains, { json: { name: null } }), ['name', 'required'])
    assertRefused(await app.send('POST', domains), ['name', 'required'])
  })

  const refusedNames: readonly (readonly [string, string])[] = [
    ['https://go.acme.com', 'has_scheme'],
    ['go.acme.com:8080', 'has_port'],
    ['go.acme.com/path', 'has_path'],
    ['user@go.acme.com', 'has_credentials'],
    ['*.acme.com', 'has_wildcard'],
    ['my_shop.acme.com', 'has_underscore'],
    ['my shop.acme.com', 'has_space'],
    ['go\\acme.com', 'has_backslash'],
    ['127.0.0.1', 'ip_address'],
    ['0x7f.1', 'ip_address'],
    ['2130706433', 'ip_address'],
    ['[::1]', 'ip_address'],
    ['1.2.3.4.5', 'numeric_last_label'],
    ['acme.123', 'numeric_last_label'],
    ['xn--a.com', 'invalid_punycode'],
    ['xn--pple-43d.com', 'mixed_scripts'],
    ['acme.com⁄path', 'lookalike_character'],
    ['go\u3164acme.com', 'invisible_character'],
    ['com', 'public_suffix'],
    ['co.uk', 'public_suffix'],
    ['CO.UK.', 'public_suffix'],
    ['-a.com', 'hyphen_at_edge'],
    ['a-.com', 'hyphen_at_edge'],
    ['a..com', 'empty_label'],
    ['.', 'empty_label'],
    [`${'a'.repeat(64)}.com`, 'label_too_long'],
    [`${'abc.'.repeat(62)}abcdef`, 'too_long'],
    ['a,b.com', 'invalid_character'],
    ['a\u0000b.com', 'control_characters'],
    ['a\u001fb.com', 'control_characters'],
    ['a\u0085b.com', 'control_characters'],
  ]
  for (const [name, code] of refusedNames) {
    test(`422 ${code} for the name ${JSON.stringify(name.slice(0, 40))}, with a hint`, async () => {
      const answer = await app.send('POST', domains, { form: { name } })
      assertRefused(answer, ['name', code])
      assert.ok(answer.body.message.length > 20)
    })
  }

  const refusedUrls: readonly (readonly [string, string])[] = [
    ['acme.com', 'not_absolute'],
    ['/path', 'not_absolute'],
    ['//acme.com', 'not_absolute'],
    ['https:acme.com', 'not_absolute'],
    ['https:/acme.com', 'not_absolute'],
    ['ftp://acme.com', 'unsupported_scheme'],
    ['javascript:alert(1)', 'unsupported_scheme'],
    ['mailto:a@acme.com', 'unsupported_scheme'],
    ['https://', 'host_missing'],
    ['https:///acme.com', 'host_missing'],
    ['https://user@acme.com', 'has_credentials'],
    ['https://u:p@acme.com', 'has_credentials'],
    ['https://acme.com/a b', 'has_space'],
    ['https://acme.com/a\tb', 'control_characters'],
    ['https://acme.com/a\nb', 'control_characters'],
    ['https://acme.com\\path', 'has_backslash'],
    ['https://acme.com/\0', 'control_characters'],
    ['https://acme.com:99999', 'invalid_url'],
    ['https://*.acme.com', 'has_wildcard'],
    ['https://acme.com/\u202e', 'bidi_control'],
    ['https://acme.com/\u200b', 'invisible_character'],
    [`https://acme.com/${'a'.repeat(2032)}`, 'too_long'],
  ]
  for (const field of urls) {
    for (const [url, code] of refusedUrls) {
      test(`422 ${code} for the ${field} ${JSON.stringify(url.slice(0, 40))}`, async () => {
        assertRefused(await app.send('POST', domains, { form: { name: freshName(), [field]: url } }), [field, code])
      })
    }
  }

  test('201 for a URL of exactly 2048 characters', async () => {
    const url = `https://acme.com/${'a'.repeat(2048 - 17)}`
    assert.equal((await stored({ homepage_url: url })).homepage_url, url)
  })

  test('422 names all bad fields at once, in a stated order', async () => {
    const form = { not_found_url: 'x', colour: 'red', homepage_url: 'ftp://x', name: 'a_b' }
    assertRefused(
      await app.send('POST', domains, { form }),
      ...([
        ['name', 'has_underscore'],
        ['homepage_url', 'unsupported_scheme'],
      ] as const),
      ...([
        ['not_found_url', 'not_absolute'],
        ['colour', 'unknown_field'],
      ] as const),
    )
  })

  test('422 unknown_field with what was probably meant', async () => {
    const answer = await app.send('POST', domains, { form: { name: freshName(), hompage_url: 'https://acme.com' } })
    assertRefused(answer, ['hompage_url', 'unknown_field'])
    assert.match(answer.body.message, /Did you mean homepage_url\?/)
    const far = await app.send('POST', domains, { form: { name: freshName(), zzz: '1' } })
    assert.doesNotMatch(far.body.message, /Did you mean/)
  })

  test('422 stores nothing', async () => {
    const name = freshName()
    assert.equal((await app.send('POST', domains, { form: { name, zzz: '1' } })).status, 422)
    assert.equal((await app.send('POST', domains, { form: { name } })).status, 201)
  })

  for (const value of [1, true, {}, { toString: 1 }, 1.5]) {
    test(`422 not_a_string for ${JSON.stringify(value)} in JSON`, async () => {
      const json = { name: value, homepage_url: value }
      assertRefused(
        await app.send('POST', domains, { json }),
        ['name', 'not_a_string'],
        ['homepage_url', 'not_a_string'],
      )
    })
  }
})

describe('GET /domains/{id}', () => {
  test('200 with the record', async () => {
    const record = await stored({ homepage_url: 'https://acme.com' })
    const { status, body } = await app.send('GET', `${domains}/${record.id}`)
    assert.equal(status, 200)
    assert.deepEqual(body, { data: record })
  })
})

for (const method of both) {
  describe(`${method} /domains/{id}`, () => {
    test('200 with the whole record, changed', async () => {
      const record = await stored()
      const form = { homepage_url: 'https://acme.com', not_found_url: 'https://acme.com/404' }
      await elapsed(record.updated_at)
      const { status, body } = await app.send(method, `${domains}/${record.id}`, { form })
      assert.equal(status, 200)
      assert.deepEqual(body.data, { ...record, ...form, updated_at: body.data.updated_at })
      assert.ok(body.data.updated_at > record.updated_at)
      assert.deepEqual((await app.send('GET', `${domains}/${record.id}`)).body, body)
    })

    for (const field of urls) {
      const other = urls.find((each) => each !== field) as string
      test(`200 leaves ${other} alone when only ${field} is sent`, async () => {
        const record = await stored({ homepage_url: 'https://a.com', not_found_url: 'https://b.com' })
        const { body } = await app.send(method, `${domains}/${record.id}`, { json: { [field]: 'https://c.com' } })
        assert.equal(body.data[field], 'https://c.com')
        assert.equal(body.data[other], record[other])
      })

      test(`200 clears ${field} when it is sent empty, blank or null`, async () => {
        for (const request of [{ form: { [field]: '' } }, { form: { [field]: ' \t' } }, { json: { [field]: null } }]) {
          const record = await stored({ homepage_url: 'https://a.com', not_found_url: 'https://b.com' })
          const { status, body } = await app.send(method, `${domains}/${record.id}`, request)
          assert.equal(status, 200)
          assert.deepEqual(body.data, { ...record, [field]: null, updated_at: body.data.updated_at })
        }
      })
    }

    test('200 changes nothing, not even updated_at, when no field is sent', async () => {
      const record = await stored({ homepage_url: 'https://a.com' })
      await elapsed(record.updated_at)
      for (const request of [{}, { form: '' }, { json: {} }, { body: '' }]) {
        const { status, body } = await app.send(method, `${domains}/${record.id}`, request)
        assert.equal(status, 200)
        assert.deepEqual(body.data, record)
      }
    })

    test('200 changes nothing, not even updated_at, when the same values are sent', async () => {
      const record = await stored({ homepage_url: 'https://a.com' })
      await elapsed(record.updated_at)
      const form = { homepage_url: 'https://a.com', not_found_url: '' }
      assert.deepEqual((await app.send(method, `${domains}/${record.id}`, { form })).body.data, record)
    })

    test('200 for the record as it was got, sent back', async () => {
      const record = await stored({ homepage_url: 'https://a.com' })
      const { status, body } = await app.send(method, `${domains}/${record.id}`, { json: record })
      assert.equal(status, 200)
      assert.deepEqual(body.data, record)
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

    test('422 prohibited for any other name, and nothing else of the request is kept', async () => {
      const record = await stored()
      for (const name of [freshName(), 'not a host name', 'com', '127.0.0.1']) {
        const form = { name, homepage_url: 'https://changed.com' }
        assertRefused(await app.send(method, `${domains}/${record.id}`, { form }), ['name', 'prohibited'])
      }
      assert.deepEqual((await app.send('GET', `${domains}/${record.id}`)).body.data, record)
    })

    test('422 names all bad fields at once', async () => {
      const { id } = await stored()
      const form = { homepage_url: 'x', not_found_url: 'ftp://x', name: freshName(), zzz: '1' }
      const { status, body } = await app.send(method, `${domains}/${id}`, { form })
      assert.equal(status, 422)
      assert.deepEqual(Object.keys(body.errors).sort(), ['homepage_url', 'name', 'not_found_url', 'zzz'])
    })
  })
}

describe('DELETE /domains/{id}', () => {
  test('204, then 404 for every operation on it', async () => {
    const { id } = await stored()
    assert.equal((await app.send('DELETE', `${domains}/${id}`)).status, 204)
    for (const method of ['DELETE', 'GET', 'PUT', 'PATCH']) {
      const { status, body } = await app.send(method, `${domains}/${id}`)
      assert.equal(status, 404)
      assert.equal(body.code, 'not_found')
    }
  })

  test('201 for the name of a deleted record, under another id', async () => {
    const record = await stored()
    await app.send('DELETE', `${domains}/${record.id}`)
    const { status, body } = await app.send('POST', domains, { form: { name: record.name } })
    assert.equal(status, 201)
    assert.ok(body.data.id > record.id, 'the id of a deleted record is never given out again')
  })
})

/** Waits until the clock has left the millisecond that is named. */
async function elapsed(time: string): Promise<void> {
  while (new Date().toISOString() <= time) await new Promise(setImmediate)
}
