/** `GET /links/{id}/explain`. `explain.test.ts` compares it with real responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'
import { person } from '../../test/visitors.ts'

const app = await startApp()
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1'
const url = 'https://acme.com/'
const german = { name: 'German', countries: ['DE', 'AT'], languages: ['de'], url: 'https://acme.com/de' }
const apple = {
  name: 'iPhone',
  operating_systems: ['iOS'],
  urls: [
    { url: 'https://acme.com/a', weight: 1 },
    { url: 'https://acme.com/b', weight: 1 },
  ],
}

async function placeWith(json: Json = {}) {
  const place = await newPlace(app)
  const { id, short_url } = await place.link({ url, rules: [german, apple], ...json })
  const ask = (query: Readonly<Record<string, string>> = {}) =>
    place.send('GET', `/links/${id}/explain?${new URLSearchParams(query)}`)
  return { place, id, short_url, ask, explained: async (query = {}) => (await ask(query)).body.data }
}

test('explains the redirect by a rule with all conditions that fail in the others', async () => {
  const { ask, explained } = await placeWith()
  const answer = await ask({ country: 'de', accept_language: 'de-AT,en;q=0.5', user_agent: person })
  assert.equal(answer.headers['cache-control'], 'private, no-cache')
  assert.equal(typeof answer.headers.etag, 'string')
  assert.deepEqual(answer.body, {
    data: {
      ...{ status: 302, location: 'https://acme.com/de', kind: 'redirect', class: 'person', rule: 'German' },
      variant: null,
      checks: [
        { rule: 'German', matches: true, failed: [] },
        { rule: 'iPhone', matches: false, failed: ['operating_systems'] },
      ],
    },
  })
  assert.deepEqual(await explained(), {
    ...{ status: 302, location: url, kind: 'redirect', class: 'person', rule: null, variant: null },
    checks: [
      { rule: 'German', matches: false, failed: ['countries', 'languages'] },
      { rule: 'iPhone', matches: false, failed: ['operating_systems'] },
    ],
  })
})

test('draws one of the variants each time', async () => {
  const { explained } = await placeWith()
  const drawn = new Set<string>()
  for (let asked = 0; drawn.size < 2; asked += 1) {
    assert.ok(asked < 100)
    const { rule, variant, location } = await explained({ user_agent: iphone })
    drawn.add(`${rule} ${variant} ${location}`)
  }
  assert.deepEqual([...drawn].sort(), ['iPhone 1 https://acme.com/a', 'iPhone 2 https://acme.com/b'])
})

test('shows bots the link’s URL, and still checks every rule', async () => {
  const { explained } = await placeWith()
  const {
    class: type,
    rule,
    location,
    checks,
  } = await explained({
    ...{ user_agent: 'Googlebot/2.1', country: 'DE', accept_language: 'de' },
  })
  assert.deepEqual([type, rule, location, checks[0].matches], ['bot', null, url, true])
})

test('forwards the query as a browser encodes it, without a first question mark and a fragment', async () => {
  const { explained } = await placeWith({ forward_query: true, rules: [{ name: 'Ad', query: { a: 'ä b' }, url }] })
  const { location, rule } = await explained({ query: '?a=ä b&c#d' })
  assert.deepEqual([location, rule], [`${url}?a=%C3%A4%20b&c`, 'Ad'])
})

for (const [fields, expected] of [
  [{ redirect_password: 'a' }, [401, null, 'password']],
  [{ clicks_limit: 1 }, [200, null, 'preview']],
  [{ disabled: true }, [404, null, 'not_found']],
  [{ active_period_end_at: '2026-01-01T00:00:00Z' }, [410, null, 'expired']],
  [
    { active_period_end_at: '2026-01-01T00:00:00Z', expiration_url: 'https://acme.com/ä' },
    [302, 'https://acme.com/%C3%A4', 'expired'],
  ],
  [{ active_period_start_at: '2099-01-01T00:00:00Z' }, [404, null, 'not_found']],
] as const) {
  test(`explains the response ${expected.join(' ')} without a rule`, async () => {
    const { explained } = await placeWith({ ...fields, rules: [{ name: 'All', url }] })
    const { status, location, kind, rule, variant, checks } = await explained()
    assert.deepEqual([status, location, kind, rule, variant], [...expected, null, null])
    assert.deepEqual(checks, [{ rule: 'All', matches: true, failed: [] }])
  })
}

test('redirects to the not-found URL of the domain, and assumes the time', async () => {
  const { place, explained } = await placeWith({ active_period_start_at: '2099-01-01T00:00:00Z' })
  await place.send('PATCH', `/domains/${place.domain.id}`, { json: { not_found_url: 'https://acme.com/lost' } })
  const { status, location, kind } = await explained()
  assert.deepEqual([status, location, kind], [302, 'https://acme.com/lost', 'not_found'])
  assert.equal((await explained({ at: '2099-01-01T00:00:00Z' })).location, url)
})

test('explains a redirect that returns to the link, even through another link, as not found', async () => {
  const { place, id, short_url, explained } = await placeWith()
  const other = await place.link({ url: short_url })
  const rules = [{ name: 'Back', countries: ['DE'], url: other.short_url }]
  assert.equal((await place.send('PATCH', `/links/${id}`, { json: { rules } })).status, 200)
  assert.equal((await explained({ country: 'FR' })).location, url)
  const { status, location, kind, rule, checks } = await explained({ country: 'DE' })
  assert.deepEqual([status, location, kind, rule], [404, null, 'not_found', null])
  assert.deepEqual(checks, [{ rule: 'Back', matches: true, failed: [] }])
})

test('counts nothing', async () => {
  const { place, id, explained } = await placeWith({ clicks_limit: 1 })
  for (let asked = 0; asked < 3; asked += 1) assert.equal((await explained({ user_agent: iphone })).status, 302)
  assert.equal((await place.send('GET', `/links/${id}`)).body.data.clicks, 0)
})

test('accepts any time', async () => {
  const { explained } = await placeWith({ rules: [{ name: 'Night', weekdays: [6], hours: '22:00-06:00', ...{ url } }] })
  for (const [at, rule] of [
    ['0000-01-01T23:00:00Z', 'Night'],
    ['0000-01-01T12:00:00Z', null],
    ['9999-12-31T23:59:59Z', null],
  ] as const) {
    assert.equal((await explained({ at })).rule, rule, at)
  }
})

test('returns 422 for each invalid parameter', async () => {
  const { ask } = await placeWith()
  assertRefused(
    await ask({ country: 'XX', user_agent: 'a\nb', accept_language: 'x'.repeat(2_049), at: 'now' }),
    ['country', 'not_allowed'],
    ['user_agent', 'control_characters'],
    ['accept_language', 'too_long'],
    ['at', 'invalid_time'],
  )
  assertRefused(await ask({ query: 'x'.repeat(2_049) }), ['query', 'too_long'])
  assertRefused(await ask({ ip: '1.1.1.1' }), ['ip', 'unknown_field'])
})
