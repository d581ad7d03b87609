/** Section by section: further and exact addresses of links in the API, and what visitors get there. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemActor } from '../../src/access/actor.ts'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { addressesIn, destination } from '../../test/link-addresses.ts'
import { insertLink, plainLink } from '../../test/links.ts'
import { assertRefused, fresh, newPlace, type Place } from '../../test/links-api.ts'

const app = await startApp({ shortUrl: 'https://{domain}' })
const place = await newPlace(app)
const { send, stored } = place
const { link, addressesOf, add, tryAdd, update, visit, furtherOf } = addressesIn(app, place)
const other = await stored('/domains', { name: 'other.example' })

/** Stores a link with an alias that the rule rejects, as an import does. */
async function legacyLink(alias: string, { account, domain }: Place = place): Promise<Json> {
  const values = { ...plainLink, alias, legacy: true }
  const { record } = await insertLink(app.storage, systemActor(account), { id: domain.id, name: domain.name }, values)
  return (await send('GET', `/links/${record.id}`)).body.data
}

describe('POST /links/{id}/addresses', () => {
  test('201 with the record, Location and ETag; visitors are redirected immediately', async () => {
    const to = await link({ url: 'https://acme.com/1' })
    const alias = fresh('Printed')
    assert.equal(await visit(alias), 404)
    const { status, headers, body } = await tryAdd(to, { alias })
    assert.equal(status, 201)
    const { id, created_at } = body.data
    const short_url = `https://${place.domain.name}/${alias}`
    const expected = { id, domain_id: place.domain.id, alias, exact: false, legacy: false, short_url, clicks: 0 }
    assert.deepEqual(body.data, { ...expected, created_at })
    assert.equal(new URL(String(headers.location)).pathname, `/api/v1/links/${to.id}/addresses/${id}`)
    assert.match(String(headers.etag), /^"[!#-~]+"$/)
    assert.equal(await visit(alias.toUpperCase()), 'https://acme.com/1')
  })

  test('201 on another domain of the account, and with a generated alias', async () => {
    const to = await link({ url: 'https://acme.com/2' })
    const { alias, domain_id } = await add(to, { domain_id: other.id })
    assert.equal(domain_id, other.id)
    assert.equal(await visit(alias, other), 'https://acme.com/2')
    assert.equal(await visit(alias), 404)
  })

  test('a form may have the fields, too, and an empty exact is false', async () => {
    const to = await link()
    const { body } = await send('POST', addressesOf(to), { form: { alias: fresh('form'), exact: '' } })
    assert.equal(body.data.exact, false)
  })

  test('422 `loops` if the link redirects to the address', async () => {
    const alias = fresh('loop')
    const to = await link({ url: `https://${place.domain.name}/${alias}?again` })
    const refused = await tryAdd(to, { alias })
    assertRefused(refused, ['alias', 'loops'])
    assert.match(refused.body.violations[0].message, /^The link redirects to https/)
    const address = await add(await link(), { alias: fresh('loop') })
    const own = (await send('GET', '/links?search=')).body.data[0]
    assertRefused(await update(own, { url: address.short_url }), ['url', 'loops'])
  })

  test('422 `too_many` for the 21st further address', async () => {
    const to = await link()
    for (let made = 0; made < 20; made += 1) await add(to)
    const refused = await tryAdd(to, {})
    assertRefused(refused, ['alias', 'too_many'])
    assert.equal(refused.body.violations[0].message, 'A link has at most 20 further addresses. Delete one first.')
    assertRefused(await update(to, { alias: fresh('new'), keep_address: true }), ['keep_address', 'too_many'])
  })

  test('409 `alias_taken` for a link’s address, in any case, and for a further address', async () => {
    const [one, two] = [await link({ alias: fresh('Taken') }), await link()]
    const { alias } = await add(two, { alias: fresh('Further') })
    for (const taken of [one.alias, one.alias.toUpperCase(), alias, alias.toLowerCase()]) {
      for (const to of [one, two]) {
        const refused = await tryAdd(to, { alias: taken })
        assert.deepEqual(
          [refused.status, refused.body.code, refused.body.violations[0].field],
          [409, 'alias_taken', 'alias'],
        )
      }
      const made = await send('POST', '/links', { json: { url: destination, alias: taken } })
      assert.deepEqual([made.status, made.body.code], [409, 'alias_taken'])
    }
    assert.equal((await tryAdd(one, { alias: one.alias, domain_id: other.id })).status, 201)
  })

  test('stores one address for a repeated Idempotency-Key', async () => {
    const [to, another] = [await link(), await link()]
    const request = (alias: string) => ({ json: { alias }, headers: { 'idempotency-key': fresh('key') } })
    const asked = request(fresh('once'))
    const [first, second] = [await send('POST', addressesOf(to), asked), await send('POST', addressesOf(to), asked)]
    assert.deepEqual([first.status, second.status, second.headers['idempotency-replayed']], [201, 201, 'true'])
    assert.deepEqual([second.text, second.headers.etag], [first.text, first.headers.etag])
    assert.equal(second.headers.location, first.headers.location)
    assert.equal((await furtherOf(to)).length, 1)
    assert.equal((await send('POST', addressesOf(another), asked)).body.code, 'idempotency_key_reused')
    await send('DELETE', `/links/${to.id}?permanently=true`)
    assert.equal((await send('POST', addressesOf(to), asked)).text.includes(first.body.data.alias), false)
  })
})

describe('GET /links/{id}/addresses', () => {
  test('lists only further addresses, newest first, 25 on a page by default', async () => {
    const to = await link()
    const made = [await add(to), await add(to), await add(to)]
    const { body } = await send('GET', addressesOf(to))
    assert.deepEqual(body.data, made.toReversed())
    assert.deepEqual([body.meta.per_page, body.meta.total], [25, 3])
    assert.equal(new URL(body.meta.path).pathname, `/api/v1/links/${to.id}/addresses`)
    assert.deepEqual((await send('GET', `${addressesOf(to)}?sort=asc`)).body.data, made)
  })

  test('continues with `page` and with `after`', async () => {
    const to = await link()
    const ids: number[] = []
    for (let made = 0; made < 12; made += 1) ids.push((await add(to)).id)
    const idsOf = async (query: string) =>
      (await send('GET', `${addressesOf(to)}?${query}`)).body.data.map(({ id }: Json) => id)
    assert.deepEqual(await idsOf('per_page=10&page=2'), ids.slice(0, 2).reverse())
    assert.deepEqual(await idsOf(`per_page=10&sort=asc&after=${ids[8]}`), ids.slice(9))
    const { links } = (await send('GET', `${addressesOf(to)}?per_page=10&sort=asc&after=${ids[0]}`)).body
    assert.equal(new URL(links.next).search, `?per_page=10&sort=asc&after=${ids[10]}`)
    assertRefused(await send('GET', `${addressesOf(to)}?sort_by=alias`), ['sort_by', 'not_allowed'])
  })

  test('304 for a known ETag until an address is added', async () => {
    const to = await link()
    const tag = String((await send('GET', addressesOf(to))).headers.etag)
    const again = () => send('GET', addressesOf(to), { headers: { 'if-none-match': tag } })
    assert.equal((await again()).status, 304)
    await add(to)
    assert.equal((await again()).status, 200)
  })
})

describe('/links/{id}/addresses/{address_id}', () => {
  test('shows an address; 304 for a known ETag', async () => {
    const to = await link()
    const address = await add(to)
    const path = `${addressesOf(to)}/${address.id}`
    const { body, headers } = await send('GET', path)
    assert.deepEqual(body.data, address)
    assert.equal((await send('GET', path, { headers: { 'if-none-match': String(headers.etag) } })).status, 304)
  })

  test('404 for another link’s address, the main one, and malformed ids', async () => {
    const [to, another] = [await link(), await link()]
    const { id } = await add(another)
    for (const path of [`${addressesOf(to)}/${id}`, `${addressesOf(to)}/x`, `/links/x/addresses/${id}`]) {
      assert.equal((await send('GET', path)).status, 404, path)
      assert.equal((await send('DELETE', path)).status, 404, path)
    }
    assert.deepEqual(await furtherOf(another), [(await send('GET', `${addressesOf(another)}/${id}`)).body.data.alias])
  })

  test('DELETE: 204, and the address is free immediately', async () => {
    const [one, two] = [await link({ url: 'https://acme.com/one' }), await link({ url: 'https://acme.com/two' })]
    const address = await add(one, { alias: fresh('moved') })
    assert.equal(await visit(address.alias), 'https://acme.com/one')
    assert.equal((await send('DELETE', `${addressesOf(one)}/${address.id}`)).status, 204)
    assert.equal(await visit(address.alias), 404)
    await add(two, { alias: address.alias })
    assert.equal(await visit(address.alias), 'https://acme.com/two')
  })

  test('DELETE: 412 if the condition fails', async () => {
    const to = await link()
    const path = `${addressesOf(to)}/${(await add(to)).id}`
    assert.equal((await send('DELETE', path, { headers: { 'if-match': '"another"' } })).status, 412)
    const { headers } = await send('GET', path)
    assert.equal((await send('DELETE', path, { headers: { 'if-match': String(headers.etag) } })).status, 204)
  })

  test('adding and deleting an address keeps the ETag of the link', async () => {
    const to = await link()
    const tagOf = async () => (await send('GET', `/links/${to.id}`)).headers.etag
    const before = await tagOf()
    const { id } = await add(to)
    assert.equal(await tagOf(), before)
    await send('DELETE', `${addressesOf(to)}/${id}`)
    assert.equal(await tagOf(), before)
  })
})

describe('exact addresses', () => {
  test('match only their spelling, and win over the address that ignores case', async () => {
    const stem = fresh('Exact')
    const common = await link({ alias: stem.toLowerCase(), url: 'https://acme.com/common' })
    const exact = await link({ alias: stem, exact: true, url: 'https://acme.com/exact' })
    assert.deepEqual([common.exact, exact.exact, exact.legacy], [false, true, false])
    assert.equal(await visit(stem.toUpperCase()), 'https://acme.com/common')
    assert.equal(await visit(stem), 'https://acme.com/exact')
    await add(exact, { alias: stem.toUpperCase(), exact: true })
    assert.equal(await visit(stem.toUpperCase()), 'https://acme.com/exact')
    assert.equal(await visit(stem.toLowerCase()), 'https://acme.com/common')
  })

  test('a lone exact address is unknown in another case', async () => {
    const { alias } = await link({ alias: fresh('Only'), exact: true })
    assert.deepEqual([await visit(alias), await visit(alias.toLowerCase())], [destination, 404])
  })

  test('compare by code point in NFC', async () => {
    const stem = fresh('Caf')
    await link({ alias: `${stem}\u00e9`, exact: true })
    assert.equal(await visit(`${stem}e\u0301`), destination)
    assert.equal(await visit(`${stem}\u00c9`), 404)
  })

  test('409 for the spelling of an address that ignores case, and the other way around', async () => {
    const { alias } = await link({ alias: fresh('Same') })
    const storing = (json: Json) => send('POST', '/links', { json: { url: destination, ...json } })
    assert.equal((await storing({ alias, exact: true })).status, 409)
    const exact = await link({ alias: alias.toUpperCase(), exact: true })
    assert.equal((await storing({ alias: exact.alias, exact: true })).status, 409)
    assert.equal((await update(exact, { exact: false })).body.code, 'alias_taken')
    assert.equal((await update(exact, { alias: fresh('Free'), exact: false })).status, 200)
  })

  test('an update makes an address exact, and case-insensitive again', async () => {
    const made = await link({ alias: fresh('Both') })
    assert.equal(await visit(made.alias.toUpperCase()), destination)
    assert.equal((await update(made, { exact: true })).body.data.exact, true)
    assert.equal(await visit(made.alias.toUpperCase()), 404)
    await update(made, { exact: false })
    assert.equal(await visit(made.alias.toUpperCase()), destination)
  })

  test('a bulk request makes addresses exact, and does not keep addresses', async () => {
    const links = [await link(), await link()]
    const ids = links.map(({ id }) => id)
    const { status, body } = await send('PATCH', '/links/bulk', { json: { ids, set: { exact: true } } })
    assert.equal(status, 200)
    assert.deepEqual(
      body.data.map(({ data }: Json) => data.exact),
      [true, true],
    )
    assert.equal(await visit(links[0].alias.toUpperCase()), 404)
    const refused = await send('PATCH', '/links/bulk', { json: { ids, set: { keep_address: true } } })
    assertRefused(refused, ['set.keep_address', 'unknown_field'])
  })

  test('links that a bulk request refuses keep addresses that others of the request want', async () => {
    const [one, other] = [await link({ alias: fresh('Own'), exact: true }), await link({ exact: true })]
    const { alias } = one
    await update(other, { alias: alias.toUpperCase() })
    await add(one, { alias: alias.toLowerCase() })
    const { body } = await send('PATCH', '/links/bulk', { json: { ids: [other.id, one.id], set: { exact: false } } })
    assert.deepEqual(
      body.data.map(({ status }: Json) => status),
      [409, 200],
    )
    assert.deepEqual(await furtherOf(other), [])
    assert.equal(await visit(alias.toUpperCase()), destination)
  })
})

describe('keep_address', () => {
  test('the old alias becomes a further address, with its spelling and exactness', async () => {
    const made = await link({ alias: fresh('Old'), exact: true, url: 'https://acme.com/kept' })
    const { status, body } = await update(made, { alias: fresh('New'), exact: false, keep_address: true })
    assert.deepEqual([status, body.data.exact], [200, false])
    const [kept] = (await send('GET', addressesOf(made))).body.data
    assert.deepEqual([kept.alias, kept.exact, kept.clicks], [made.alias, true, 0])
    assert.equal(await visit(made.alias), 'https://acme.com/kept')
    assert.equal(await visit(made.alias.toLowerCase()), 404)
    assert.equal(await visit(body.data.alias.toUpperCase()), 'https://acme.com/kept')
  })

  test('without it, the old alias is free', async () => {
    const made = await link({ alias: fresh('gone') })
    await update(made, { alias: fresh('new') })
    assert.deepEqual([await furtherOf(made), await visit(made.alias)], [[], 404])
  })

  test('without a new alias, it changes nothing', async () => {
    const made = await link()
    const { headers } = await send('GET', `/links/${made.id}`)
    const updated = await update(made, { alias: made.alias, keep_address: true })
    assert.deepEqual([updated.headers.etag, await furtherOf(made)], [headers.etag, []])
    assertRefused(await update(made, { keep_address: 'maybe' }), ['keep_address', 'not_a_boolean'])
    assertRefused(await send('POST', '/links', { json: { url: destination, keep_address: true } }), [
      'keep_address',
      'unknown_field',
    ])
  })

  test('an own further address becomes the main one, with and without keeping the old one', async () => {
    const made = await link({ alias: fresh('First') })
    const { alias } = await add(made, { alias: fresh('Second'), exact: true })
    const promoted = (await update(made, { alias, keep_address: true })).body.data
    assert.deepEqual([promoted.alias, promoted.exact], [alias, true])
    assert.deepEqual(await furtherOf(made), [made.alias])
    await update(made, { alias: made.alias })
    assert.deepEqual(await furtherOf(made), [])
    assert.deepEqual([await visit(alias), await visit(made.alias)], [404, destination])
  })
})

describe('legacy aliases', () => {
  test('are shown, served and accepted unchanged in an update; any other value must follow the rule', async () => {
    const alias = `${fresh('50')}% off!`
    const made = await legacyLink(alias)
    assert.deepEqual([made.alias, made.legacy], [alias, true])
    assert.equal(await visit(alias), plainLink.url)
    const { status, body } = await update(made, { alias, title: 'Sale' })
    assert.deepEqual([status, body.data.title, body.data.alias, body.data.legacy], [200, 'Sale', alias, true])
    assertRefused(await update(made, { alias: `${alias}!` }), ['alias', 'invalid_character'])
    const renamed = (await update(made, { alias: fresh('good'), keep_address: true })).body.data
    assert.equal(renamed.legacy, false)
    const [kept] = (await send('GET', addressesOf(made))).body.data
    assert.deepEqual([kept.alias, kept.legacy], [alias, true])
    assert.equal(await visit(alias), plainLink.url)
  })

  test('may have 255 code points', async () => {
    const alias = `${fresh('long')}!`.padEnd(255, '!')
    const made = await legacyLink(alias)
    assert.equal(await visit(alias), plainLink.url)
    assert.equal((await update(made, { alias })).status, 200)
  })
})

describe('lookups of addresses', () => {
  test('the QR code shows the short URL of an address; 422 `unknown_address` for others', async () => {
    const [to, another] = [await link(), await link()]
    const [own, foreign] = [await add(to, { domain_id: other.id }), await add(another)]
    const drawn = async (query: string) => (await send('GET', `/links/${to.id}/qr?${query}`)).text
    const [main, further] = [await drawn(''), await drawn(`address_id=${own.id}`)]
    assert.notEqual(main, further)
    await update(to, { alias: fresh('changed') })
    assert.equal(await drawn(`address_id=${own.id}`), further)
    for (const id of [foreign.id, 999_999]) {
      assertRefused(await send('GET', `/links/${to.id}/qr?address_id=${id}`), ['address_id', 'unknown_address'])
    }
    assertRefused(await send('GET', `/links/${to.id}/qr?address_id=x`), ['address_id', 'out_of_range'])
  })

  test('a search for the short URL of any address finds its link; other searches only read main addresses', async () => {
    const stem = fresh('Search')
    const [common, exact] = [await link({ alias: stem.toLowerCase() }), await link()]
    const further = await add(exact, { alias: stem, exact: true })
    const found = async (text: string) =>
      (await send('GET', `/links?search=${encodeURIComponent(text)}`)).body.data.map(({ id }: Json) => id)
    assert.deepEqual(await found(further.short_url), [exact.id])
    assert.deepEqual(await found(further.short_url.toUpperCase()), [common.id])
    assert.deepEqual(await found(stem), [common.id])
  })

  test('the preview, the password and the state are the same at every address', async () => {
    const to = await link({ redirect_password: 'secret' })
    const { alias } = await add(to)
    assert.equal(await visit(alias), 401)
    await update(to, { redirect_password: '' })
    assert.equal(await visit(`${alias}+`), 200)
    await update(to, { disabled: true })
    assert.equal(await visit(alias), 404)
  })
})
