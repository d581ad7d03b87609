/** The operations on one link as far as they differ from other resources (`test/contract/resources.test.ts`), and its status. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused, clickOn, fresh, newPlace, setPeriod, storedPassword } from '../../test/links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const { send, link } = place
const both = ['PUT', 'PATCH'] as const
const past = '2001-01-01T00:00:00.000Z'
const future = '2201-01-01T00:00:00.000Z'

describe('POST /links', () => {
  test('201 for a form and for JSON alike, with every field', async () => {
    const space = await place.stored('/spaces', { name: 'Marketing' })
    const sent = {
      ...{ url: 'https://acme.com/a?b=c#d', domain_id: place.domain.id, space_id: space.id, title: 'Sale' },
      ...{ active_period_start_at: '2026-11-20 12:00', active_period_end_at: '2199-11-20T12:00:00+02:00' },
      ...{ clicks_limit: 1_000_000_000, expiration_url: 'https://acme.com/over', redirect_password: 'secret' },
      redirect_status: 308,
    }
    const json = { ...sent, alias: fresh('json'), disabled: true, forward_query: true }
    const form = { ...sent, alias: fresh('form'), disabled: 'true', forward_query: '1' }
    for (const request of [{ json }, { form }]) {
      const { status, body, text } = await send('POST', '/links', request)
      assert.equal(status, 201, text)
      const { redirect_password: _, ...shown } = request.json ?? json
      assert.deepEqual(body.data, {
        ...body.data,
        ...shown,
        ...{ alias: request.form?.alias ?? json.alias, status: 'disabled', has_redirect_password: true },
        ...{ active_period_start_at: '2026-11-20T12:00:00.000Z', active_period_end_at: '2199-11-20T10:00:00.000Z' },
      })
      assert.doesNotMatch(text, /secret|argon2/)
    }
  })

  test('201 on the oldest domain without domain_id', async () => {
    const own = await newPlace(app)
    const second = await own.stored('/domains', { name: `${fresh('second')}.example` })
    assert.equal((await own.link()).domain_id, own.domain.id)
    assert.equal((await own.link({ domain_id: second.id })).domain_id, second.id)
    assert.equal((await own.link({ domain_id: null })).domain_id, own.domain.id)
    assert.equal((await own.link({ domain_id: '' })).domain_id, own.domain.id)
  })

  test('422 required without a domain, and says how to store one', async () => {
    const key = await app.createKey({ account: await app.createAccount() })
    const answer = await send('POST', '/links', { key, form: { url: 'https://acme.com' } })
    assertRefused(answer, ['domain_id', 'required'])
    assert.match(answer.body.message, /POST \/api\/v1\/domains/)
    const all = await send('POST', '/links', { key, form: { url: 'acme.com', space_id: 1 } })
    assertRefused(all, ['url', 'not_absolute'], ['domain_id', 'required'], ['space_id', 'unknown_space'])
  })

  test('201 with a different alias of seven unambiguous characters each time', async () => {
    const aliases = await Promise.all(Array.from({ length: 50 }, async () => (await link()).alias))
    for (const alias of aliases) assert.match(alias, /^[23456789bcdfghjkmnpqrstvwxz]{7}$/)
    assert.equal(new Set(aliases).size, 50)
    for (const alias of ['', ' \t', null]) assert.match((await link({ alias })).alias, /^\w{7}$/)
  })

  test('201 with the alias unchanged, and its short URL', async () => {
    const spellings = ['Ünïcode', 'a/b/c', 'قصير', '👩‍👩‍👧', '#️⃣', '*️⃣', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'x-_.~9', '日本/語', '٣']
    for (const alias of spellings) {
      const stored = await link({ alias })
      assert.equal(stored.alias, alias)
      const { pathname, hostname, search, hash } = new URL(stored.short_url)
      assert.deepEqual([decodeURIComponent(pathname), hostname, search, hash], [`/${alias}`, place.domain.name, '', ''])
    }
    assert.equal((await link({ alias: 'e\u0301te\u0301' })).alias, 'été')
  })

  const clashes = [
    ['été', 'e\u0301te\u0301'],
    ['ÉCOLE', 'école'],
    ['straße', 'STRASSE'],
    ['ς', 'Σ'],
    ['same/path', 'Same/PATH'],
    ['K', '\u212a'],
  ]
  test('409 alias_taken for an alias in another case on store and update, but not on another domain', async () => {
    const own = await newPlace(app)
    const other = await own.stored('/domains', { name: `clash.${own.domain.name}` })
    const free = await own.link({ alias: 'free' })
    for (const [one, two] of clashes) {
      await own.link({ alias: one })
      const { status, body } = await own.send('POST', '/links', { json: { url: 'https://acme.com', alias: two } })
      assert.deepEqual([status, body.code], [409, 'alias_taken'])
      assert.deepEqual(body.violations, [{ field: 'alias', code: 'taken', message: body.errors.alias[0] }])
      const moved = await own.send('PATCH', `/links/${free.id}`, { json: { alias: two, title: 'Lost' } })
      assert.deepEqual([moved.status, moved.body.code], [409, 'alias_taken'])
      await own.link({ alias: two, domain_id: other.id })
    }
    assert.deepEqual((await own.send('GET', `/links/${free.id}`)).body.data, free)
  })

  test('201 for one of fifty concurrent requests with the same alias, 409 for the others', async () => {
    const alias = fresh('race')
    const store = (n: number) => {
      const json = { url: 'https://acme.com', alias: n % 2 ? alias : alias.toUpperCase() }
      return send('POST', '/links', { json })
    }
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => store(n)))
    const statuses = Map.groupBy(answers, ({ status }) => status)
    assert.deepEqual([statuses.get(201)?.length, statuses.get(409)?.length], [1, 49])
    assert.equal((await send('GET', `/links?search=${alias}&search_by=alias`)).body.meta.total, 1)
  })
})

for (const method of both) {
  describe(`${method} /links/{id}`, () => {
    test('200 with another alias, space and status, and with null for empty values of a form', async () => {
      const cleared = {
        ...{ space_id: null, title: null, active_period_start_at: null, active_period_end_at: null },
        ...{ clicks_limit: null, expiration_url: null },
      }
      const limits = { active_period_start_at: past, active_period_end_at: future, clicks_limit: 7 }
      const stored = await link({ title: 'Sale', expiration_url: 'https://acme.com/x', ...limits })
      const { id: space_id } = await place.stored('/spaces', { name: 'Autumn' })
      const json = { alias: fresh('New/'), space_id, disabled: true }
      const { body } = await send(method, `/links/${stored.id}`, { json })
      const short_url = `http://${place.domain.name}:3080/${json.alias}`
      const { updated_at } = body.data
      assert.deepEqual(body.data, { ...stored, ...json, short_url, status: 'disabled', updated_at })
      const form = Object.fromEntries(Object.keys(cleared).map((name) => [name, '']))
      const empty = await send(method, `/links/${stored.id}`, { form })
      assert.deepEqual(empty.body.data, { ...body.data, ...cleared, updated_at: empty.body.data.updated_at })
    })

    test('200 without a new updated_at for the unchanged record and for no field', async () => {
      const json = { title: 'Café', active_period_end_at: future, clicks_limit: 3, expiration_url: 'https://a.com/é' }
      const stored = await link({ ...json, alias: fresh('ÉTÉ'), forward_query: true, redirect_password: 'x' })
      await elapsed(stored.updated_at)
      for (const request of [{ json: stored }, { json: {} }, { form: '' }, {}, { form: { alias: stored.alias } }]) {
        const { status, body, text } = await send(method, `/links/${stored.id}`, request)
        assert.equal(status, 200, text)
        assert.deepEqual(body.data, stored)
      }
    })

    test('200 for an alias that differs from the old one only in case', async () => {
      const stored = await link({ alias: fresh('case') })
      const alias = stored.alias.toUpperCase()
      const { body } = await send(method, `/links/${stored.id}`, { json: { alias } })
      assert.equal(body.data.alias, alias)
      assert.ok(body.data.short_url.endsWith(alias))
    })

    test('422 prohibited for any other domain, and changes nothing', async () => {
      const stored = await link()
      const own = await place.stored('/domains', { name: `${fresh('other')}.example` })
      const strange = await newPlace(app)
      for (const domain_id of [own.id, strange.domain.id, 999_999, 'x', null]) {
        const json = { domain_id, title: 'changed' }
        assertRefused(await send(method, `/links/${stored.id}`, { json }), ['domain_id', 'prohibited'])
      }
      assert.deepEqual((await send('GET', `/links/${stored.id}`)).body.data, stored)
    })

    test('422 required for an empty url, alias, flag or redirect_status', async () => {
      const { id } = await link()
      const form = { url: '', alias: ' ', disabled: '', forward_query: '', redirect_status: '' }
      const expected = Object.keys(form).map((name) => [name, 'required'] as const)
      assertRefused(await send(method, `/links/${id}`, { form }), ...expected)
    })

    test('422 not_after_start compared with the stored bound', async () => {
      const { id } = await link({
        active_period_start_at: '2030-01-01 00:00',
        active_period_end_at: '2031-01-01 00:00',
      })
      const refused = ['active_period_end_at', 'not_after_start'] as const
      const change = (json: Json) => send(method, `/links/${id}`, { json })
      assertRefused(await change({ active_period_start_at: '2031-01-01T00:00:00Z' }), refused)
      assertRefused(await change({ active_period_end_at: '2030-01-01T01:00:00+01:00' }), refused)
      assert.equal(
        (await change({ active_period_end_at: null, active_period_start_at: '2032-01-01 00:00' })).status,
        200,
      )
      assert.equal((await change({ active_period_end_at: '2032-01-01 00:01' })).status, 200)
      assert.equal(
        (await change({ active_period_start_at: null, active_period_end_at: '2029-01-01 00:00' })).status,
        200,
      )
    })

    test('422 loops for the URL of the link, by its old alias or its new one', async () => {
      const { id, alias, short_url } = await link({ alias: fresh('loop') })
      const change = (json: Json) => send(method, `/links/${id}`, { json })
      assertRefused(await change({ url: short_url }), ['url', 'loops'])
      assert.equal((await change({ url: short_url, alias: `${alias}-2` })).status, 200)
      assertRefused(await change({ alias }), ['url', 'loops'])
    })

    test('200 sets, replaces and clears the password, and never returns it', async () => {
      const { id, has_redirect_password } = await link()
      assert.equal(has_redirect_password, false)
      const change = async (redirect_password: string) => {
        const { text, body } = await send(method, `/links/${id}`, { form: { redirect_password } })
        assert.doesNotMatch(text, /first|second|argon2/)
        const [row] = await app.storage.execute(storedPassword({ id }))
        return [body.data.has_redirect_password, row?.redirect_password]
      }
      const [isSet, first] = await change('first')
      assert.equal(isSet, true)
      assert.match(String(first), /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[\w+/]{22}\$[\w+/]{43}$/)
      const [, second] = await change('second')
      assert.notEqual(second, first)
      assert.deepEqual(await change(''), [false, null])
    })
  })
}

describe('the status of a link', () => {
  const wanted: readonly (readonly [status: string, lifetime: Json])[] = [
    ['active', {}],
    ['active', { active_period_end_at: future, clicks_limit: 1 }],
    ['active', { active_period_start_at: past, active_period_end_at: future }],
    ['scheduled', { active_period_start_at: future }],
    ['expired', { active_period_end_at: past }],
    ['disabled', { disabled: true }],
    ['disabled', { disabled: true, active_period_end_at: past }],
  ]
  test('is in every response and in the filter', async () => {
    const own = await newPlace(app)
    const listed = async (status: string) => (await own.send('GET', `/links?status=${status}&sort=asc`)).body.data
    for (const [status, lifetime] of wanted) {
      const before = await listed(status)
      const [stored, plain] = [await own.link(lifetime), await own.link({ disabled: false })]
      assert.equal(stored.status, status)
      assert.equal((await own.send('GET', `/links/${stored.id}`)).body.data.status, status)
      const changed = (await own.send('PATCH', `/links/${plain.id}`, { json: lifetime })).body.data
      assert.equal(changed.status, status)
      assert.deepEqual(await listed(status), [...before, stored, changed])
    }
  })

  test('is expired from the click that reaches the limit, even before the period begins, until the limit is raised', async () => {
    const { id } = await link({ clicks_limit: 2, active_period_start_at: future })
    const statusNow = async () => (await send('GET', `/links/${id}`)).body.data.status
    await clickOn(app.storage, id, 1, past)
    assert.equal(await statusNow(), 'scheduled')
    await clickOn(app.storage, id, 1, past)
    assert.equal(await statusNow(), 'expired')
    assert.equal((await send('PATCH', `/links/${id}`, { form: { clicks_limit: 3 } })).body.data.status, 'scheduled')
    assert.equal(
      (await send('PATCH', `/links/${id}`, { form: { disabled: 1, clicks_limit: 1 } })).body.data.status,
      'disabled',
    )
  })

  test('changes with time, in responses and in the filter', async () => {
    const own = await newPlace(app)
    const { id } = await own.link({ active_period_end_at: future })
    const other = await own.link({ active_period_start_at: future })
    const idsIn = async (status: string) =>
      (await own.send('GET', `/links?status=${status}`)).body.data.map((each: Json) => each.id)
    assert.deepEqual([await idsIn('active'), await idsIn('scheduled'), await idsIn('expired')], [[id], [other.id], []])
    await app.storage.execute(setPeriod(id, { active_period_end_at: past }))
    await app.storage.execute(setPeriod(other.id, { active_period_start_at: past }))
    assert.equal((await own.send('GET', `/links/${id}`)).body.data.status, 'expired')
    assert.deepEqual([await idsIn('active'), await idsIn('scheduled'), await idsIn('expired')], [[other.id], [], [id]])
  })

  test('becomes expired at the end of its period, without a write', async () => {
    const own = await newPlace(app)
    const active_period_end_at = new Date(Date.now() + 400).toISOString()
    const { id } = await own.link({ active_period_end_at })
    const etag = String((await own.send('GET', `/links/${id}`)).headers.etag)
    await elapsed(active_period_end_at)
    assert.deepEqual((await own.send('GET', '/links?status=active')).body.data, [])
    assert.equal((await own.send('GET', '/links?status=expired')).body.data[0].id, id)
    const { status, body } = await own.send('GET', `/links/${id}`, { headers: { 'if-none-match': etag } })
    assert.deepEqual([status, body.data.status], [200, 'expired'])
  })
})

/** Waits until the clock has passed a time. */
async function elapsed(time: string): Promise<void> {
  while (new Date().toISOString() <= time) await new Promise(setImmediate)
}

test('201 for mailto, tel, sms and the schemes of URL_SCHEMES, which a search, pages and exports show', async () => {
  const allowing = await startApp({ urlSchemes: ['whatsapp'] })
  const own = await newPlace(allowing)
  const urls = ['mailto:ü@acme.com', 'tel:112', 'sms:+15550100', 'whatsapp://send?text=x', 'https://foo-.example.com/']
  for (const url of urls) {
    const { id } = await own.link({ url: `\u200b${url}\ufeff` })
    assert.equal((await own.send('GET', `/links/${id}`)).body.data.url, url)
    assert.equal((await own.send('PATCH', `/links/${id}`, { json: { url } })).status, 200)
    assert.equal((await own.send('GET', `/links?search=${encodeURIComponent(url)}`)).body.meta.total, 1, url)
  }
  const refused = await own.send('POST', '/links', { json: { url: 'slack:x' } })
  assertRefused(refused, ['url', 'unsupported_scheme'])
  assert.match(refused.body.violations[0].message, /http, https, mailto, tel, sms and whatsapp are supported/)
  const bulk = await own.send('PATCH', '/links/bulk', { json: { ids: [1], set: { url: 'slack:x' } } })
  assertRefused(bulk, ['set.url', 'unsupported_scheme'])
})
