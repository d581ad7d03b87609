/** The contract that all resources share. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { assertRefused, fresh } from '../links-api.ts'

const app = await startApp()

interface Resource {
  /** Returns unused values for a new record. The first is required, and is text. */
  fresh(): Record<string, string>
  readonly fields: readonly string[]
  readonly defaults: Json
  readonly changed: Record<string, string | number | boolean | null>
  /** Fields with invalid values, in the order of their violations. */
  readonly invalid: readonly (readonly [field: string, value: string | number, code: string])[]
  readonly misspelled: readonly [wrong: string, right: string]
}

const resources: Readonly<Record<string, Resource>> = {
  domains: {
    fresh: () => ({ name: `${fresh('d')}.acme.com` }),
    fields: [
      ...['id', 'name', 'name_unicode', 'homepage_url', 'not_found_url'],
      ...['apple_app_site_association', 'asset_links', 'created_at', 'updated_at'],
    ],
    defaults: { homepage_url: null, not_found_url: null, apple_app_site_association: null, asset_links: null },
    changed: { homepage_url: 'https://acme.com', not_found_url: 'https://acme.com/404' },
    invalid: [
      ['homepage_url', 'ftp://x', 'unsupported_scheme'],
      ['not_found_url', 'x', 'not_absolute'],
    ],
    misspelled: ['hompage_url', 'homepage_url'],
  },
  spaces: {
    fresh: () => ({ name: 'Marketing' }),
    fields: ['id', 'name', 'color', 'created_at', 'updated_at'],
    defaults: { color: 1 },
    changed: { name: 'Sales', color: 4 },
    invalid: [
      ['name', 'x'.repeat(256), 'too_long'],
      ['color', 7, 'out_of_range'],
    ],
    misspelled: ['colour', 'color'],
  },
  tags: {
    fresh: () => ({ name: `  ${fresh('Cafe\u0301')} ` }),
    fields: ['id', 'name', 'color', 'links', 'created_at', 'updated_at'],
    defaults: { color: 1, links: 0 },
    changed: { color: 4 },
    invalid: [
      ['name', 'a,b', 'invalid_character'],
      ['color', 7, 'out_of_range'],
    ],
    misspelled: ['colour', 'color'],
  },
  links: {
    fresh: () => ({ url: 'https://acme.com', alias: fresh('Summer') }),
    fields: [
      ...['id', 'domain_id', 'space_id', 'alias', 'short_url', 'url', 'title', 'status', 'disabled'],
      ...['active_period_start_at', 'active_period_end_at', 'clicks_limit', 'expiration_url', 'has_redirect_password'],
      ...['forward_query', 'redirect_status', 'rules', 'tags', 'notes', 'archived', 'exact', 'legacy'],
      ...['clicks', 'last_clicked_at', 'created_at', 'updated_at'],
    ],
    defaults: {
      ...{ domain_id: 1, space_id: null, title: null, status: 'active', disabled: false },
      ...{ active_period_start_at: null, active_period_end_at: null, clicks_limit: null, expiration_url: null },
      ...{ has_redirect_password: false, forward_query: false, redirect_status: 302, rules: [], tags: [], notes: null },
      ...{ archived: false, exact: false, legacy: false, clicks: 0, last_clicked_at: null },
    },
    changed: {
      ...{ url: 'https://acme.com/2', title: 'Ünder', notes: 'One\n\tand another', archived: true },
      ...{ active_period_start_at: '2001-01-01T00:00:00.000Z', active_period_end_at: '2201-01-01T00:00:00.000Z' },
      ...{ clicks_limit: 7, expiration_url: 'https://acme.com/x', forward_query: true, redirect_status: 301 },
    },
    invalid: [
      ['url', 'x', 'not_absolute'],
      ['title', 'x'.repeat(256), 'too_long'],
    ],
    misspelled: ['titles', 'title'],
  },
}

/** Values are returned in NFC, without spaces around them. */
const normalized = (values: Json): Json =>
  Object.fromEntries(Object.entries<string>(values).map(([field, value]) => [field, value.normalize().trim()]))

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

for (const [resource, { fresh, fields, defaults, changed, invalid, misspelled }] of Object.entries(resources)) {
  const path = `/api/v1/${resource}`
  const [required = ''] = Object.keys(fresh())
  const formOf = (values: Json): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]))

  const stored = async (values: Json = {}): Promise<Json> => {
    const answer = await app.send('POST', path, { form: formOf({ ...fresh(), ...values }) })
    assert.equal(answer.status, 201, answer.text)
    return answer.body.data
  }

  describe(`POST /${resource}`, () => {
    test('201 with the whole record, its fields in order, and the defaults', async () => {
      const before = Date.now()
      const values = fresh()
      const { status, body } = await app.send('POST', path, { form: formOf(values) })
      assert.equal(status, 201)
      assert.deepEqual(Object.keys(body), ['data'])
      assert.deepEqual(Object.keys(body.data), fields)
      const { id, created_at, updated_at } = body.data
      assert.deepEqual({ ...body.data, ...defaults, ...normalized(values) }, body.data)
      assert.ok(Number.isSafeInteger(id) && id >= 1)
      assert.match(created_at, isTime)
      assert.equal(updated_at, created_at)
      assert.ok(Date.parse(created_at) >= before && Date.parse(created_at) <= Date.now())
    })

    test('201 with an absolute Location of the record', async () => {
      const { headers, body } = await app.send('POST', path, { form: formOf(fresh()) })
      assert.equal(headers.location, `${app.origin}${path}/${body.data.id}`)
      const shown = await app.send('GET', new URL(String(headers.location)).pathname)
      assert.deepEqual([shown.status, shown.body], [200, body])
    })

    test('201 ignores fields that the server assigns', async () => {
      const json = { id: 1_000_000, created_at: 'x', updated_at: [1], ...fresh() }
      const { status, body } = await app.send('POST', path, { json })
      assert.equal(status, 201)
      assert.ok(body.data.id < 1_000_000)
    })

    test(`422 without a ${required}, and with an empty, blank or null one`, async () => {
      for (const form of ['', ...['', '=', '=%20%C2%A0%E3%80%80', '=%20%09%0a'].map((end) => required + end)]) {
        const answer = await app.send('POST', path, { form })
        assertRefused(answer, [required, 'required'])
        assert.deepEqual(answer.body.errors, { [required]: [`The ${required} field is required.`] })
      }
      assertRefused(await app.send('POST', path, { json: { [required]: null } }), [required, 'required'])
      assertRefused(await app.send('POST', path), [required, 'required'])
    })

    test(`422 not_a_string for a ${required} of another type in JSON`, async () => {
      for (const value of [1, 0, 1.5, true, false, {}, { toString: 1 }])
        assertRefused(await app.send('POST', path, { json: { [required]: value } }), [required, 'not_a_string'])
    })

    test('422 unknown_field with a suggestion, and stores nothing', async () => {
      const [wrong, right] = misspelled
      const values = fresh()
      const total = async () => (await app.send('GET', path)).body.meta.total
      const before = await total()
      const answer = await app.send('POST', path, { form: formOf({ ...values, [wrong]: '1' }) })
      assertRefused(answer, [wrong, 'unknown_field'])
      assert.match(answer.body.message, new RegExp(`Did you mean ${right}\\?`))
      const far = await app.send('POST', path, { form: formOf({ ...values, zzz: '1' }) })
      assert.doesNotMatch(far.body.message, /Did you mean/)
      assert.equal(await total(), before)
    })
  })

  for (const method of ['PUT', 'PATCH']) {
    describe(`${method} /${resource}/{id}`, () => {
      test('200 with the whole record, changed', async () => {
        const record = await stored()
        await elapsed(record.updated_at)
        const { status, body } = await app.send(method, `${path}/${record.id}`, { form: formOf(changed) })
        assert.equal(status, 200)
        assert.deepEqual(body.data, { ...record, ...changed, updated_at: body.data.updated_at })
        assert.ok(body.data.updated_at > record.updated_at)
        assert.deepEqual((await app.send('GET', `${path}/${record.id}`)).body, body)
      })

      test('200 keeps all other fields if only one is sent', async () => {
        for (const [field, value] of Object.entries(changed)) {
          const record = await stored()
          const { body } = await app.send(method, `${path}/${record.id}`, { json: { [field]: value } })
          assert.deepEqual(body.data, { ...record, [field]: value, updated_at: body.data.updated_at })
        }
      })

      test('200 changes nothing, not even updated_at, if no field or the same values are sent', async () => {
        const record = await stored()
        await elapsed(record.updated_at)
        for (const request of [{}, { form: '' }, { json: {} }, { body: '' }, { json: record }]) {
          const { status, body } = await app.send(method, `${path}/${record.id}`, request)
          assert.equal(status, 200)
          assert.deepEqual(body.data, record)
        }
      })

      test('422 reports all invalid fields together, and changes nothing', async () => {
        const record = await stored()
        const form = formOf({ ...changed, zzz: '1', ...Object.fromEntries(invalid) })
        assertRefused(
          await app.send(method, `${path}/${record.id}`, { form }),
          ...invalid.map(([field, , code]) => [field, code] as const),
          ['zzz', 'unknown_field'],
        )
        assert.deepEqual((await app.send('GET', `${path}/${record.id}`)).body.data, record)
      })
    })
  }

  describe(`DELETE /${resource}/{id}`, () => {
    test('204, then 404 for every operation on the record', async () => {
      const { id } = await stored()
      assert.equal((await app.send('DELETE', `${path}/${id}`)).status, 204)
      for (const method of ['DELETE', 'GET', 'PUT', 'PATCH']) {
        const { status, body } = await app.send(method, `${path}/${id}`)
        assert.deepEqual([status, body.code], [404, 'not_found'])
      }
    })

    test('201 for the same values afterwards, with a new id', async () => {
      const values = fresh()
      const { id } = await stored(values)
      await app.send('DELETE', `${path}/${id}`)
      assert.ok((await stored(values)).id > id)
    })
  })
}

const stranger = await app.createKey({ account: await app.createAccount() })
const noIds = ['0', '01', '-1', '+1', '1.0', '1e0', '0x1', '1%20', '%201', 'abc', '1,', '%D9%A3', '1%00', 'null']
const largeIds = ['999999', '9007199254740991', '9007199254740992', '9223372036854775808', '1'.repeat(400)]

for (const resource of Object.keys(resources)) {
  const path = `/api/v1/${resource}`

  test(`404 for /${resource}/{id} with a malformed or unknown id, or another account's, with the same body`, async () => {
    const { id } = (await app.send('POST', path, { json: resources[resource]?.fresh() })).body.data
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const others = await app.send(method, `${path}/${id}`, { key: stranger })
      assert.deepEqual([others.status, others.body.code], [404, 'not_found'])
      for (const unknown of [...noIds, ...largeIds]) {
        const { status, body } = await app.send(method, `${path}/${unknown}`)
        assert.equal(status, 404, unknown)
        assert.deepEqual({ ...body, request_id: '' }, { ...others.body, request_id: '' }, unknown)
      }
    }
    assert.equal((await app.send('HEAD', `${path}/999999`)).status, 404)
    // Not 422: whether a record exists is checked before its fields.
    assert.equal((await app.send('PATCH', `${path}/999999`, { form: { zzz: '1', name: '' } })).status, 404)
    assert.equal((await app.send('PATCH', `${path}/${id}`, { form: { zzz: '1' }, key: stranger })).status, 404)
    assert.equal((await app.send('GET', `${path}/${id}`)).status, 200)
  })

  test(`404 for /${resource}/ with advice about the slash`, async () => {
    const { status, body } = await app.send('GET', `${path}/`)
    assert.equal(status, 404)
    const what = resource.slice(0, -1)
    assert.equal(body.message, `The path has no id: leave out the slash at its end, or name the ${what}.`)
  })
}

/** Waits until the clock has left this millisecond. */
async function elapsed(time: string): Promise<void> {
  while (new Date().toISOString() <= time) await new Promise(setImmediate)
}
