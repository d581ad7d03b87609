/** The rules of link fields: rejected values with their codes, and accepted values. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused, fresh, newPlace } from '../../test/links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const strange = await newPlace(app)
const strangeSpace = await strange.stored('/spaces', { name: 'Of another' })
const { send, link } = place
const url = 'https://acme.com'

const tagNames = Array.from({ length: 21 }, (_, index) => `tag ${index}`)

/** Rejected values by field and code. */
const refused: Readonly<Record<string, Readonly<Record<string, readonly Json[]>>>> = {
  url: {
    required: ['', null],
    not_absolute: ['acme.com'],
    unsupported_scheme: ['javascript:alert(1)', 'ftp://acme.com', 'whatsapp://send'],
    doubled_scheme: ['https://https://acme.com'],
    scheme_alone: ['mailto:'],
    has_credentials: ['https://user@acme.com'],
    control_characters: ['https://acme.com/\0'],
    too_long: [`https://acme.com/${'a'.repeat(8192 - 16)}`, `https://acme.com/${'例'.repeat(909)}`],
    not_a_string: [1],
    not_single: [['https://acme.com']],
  },
  domain_id: {
    unknown_domain: [999_999, strange.domain.id],
    out_of_range: [0, -1, 1.5, '01', '9007199254740992', true, {}],
    not_single: [[1]],
  },
  space_id: {
    unknown_space: [999_999, strangeSpace.id, 9_007_199_254_740_991],
    out_of_range: ['0', 'x', false],
  },
  alias: {
    empty_segment: ['/a', 'a//b'],
    dot_segment: ['.', 'a/..'],
    reserved: ['robots.txt', 'robot\u017f.txt', 'FAVICON.ico', '.Well-Known/x/y', 'Apple-App-Site-Association', 'a+'],
    invalid_character: ['a b', 'a+b', 'a?b', 'a\\b'],
    invisible_character: ['a\u200bb', 'summer\ufe0f', '\u3164'],
    control_characters: ['a\u0000b', '\ud800'],
    too_long: ['💩'.repeat(129)],
    not_a_string: [7],
    not_single: [['a']],
  },
  title: { too_long: ['a'.repeat(256), '💩'.repeat(256)], control_characters: ['a\nb'], not_a_string: [1] },
  disabled: { not_a_boolean: ['yes', 2, {}], not_single: [[true]] },
  forward_query: { not_a_boolean: ['00'] },
  clicks_limit: { out_of_range: [0, -1, 1_000_000_001, '1e3', '03', 2.5, true] },
  expiration_url: {
    not_absolute: ['acme.com'],
    unsupported_scheme: ['mailto:a@acme.com'],
    too_long: [`https://acme.com/${'a'.repeat(2032)}`],
  },
  redirect_password: {
    too_long: ['a'.repeat(129), '💩'.repeat(129)],
    control_characters: ['a\0'],
    not_a_string: [1],
  },
  redirect_status: { not_allowed: [300, '0302', 'x', true] },
  tags: {
    invalid_character: [['a,b']],
    not_a_string: [[1], {}],
    too_long: [['x'.repeat(51)]],
    control_characters: [['a\0']],
    too_many: [tagNames, tagNames.join()],
  },
  notes: { control_characters: ['a\rb'], too_long: ['x'.repeat(2_001)] },
  archived: { not_a_boolean: ['yes'] },
  exact: { not_a_boolean: ['maybe', 2] },
}
const badTimes = [
  ...['2026-02-30T12:00:00Z', '2026-02-30 12:00', '2025-02-29 00:00', '2026-13-01 00:00', '2026-11-20', 'tomorrow'],
  ...['2026-11-20 24:00', '2026-11-20T24:00:00Z', '2026-11-20 12:60', '2026-11-20T12:00Z', '2026-11-20T12:00:00'],
  ...['2026-11-20T12:00:00+0200', '2026-11-20T12:00:00+24:00', '2026-11-20T12:00:61Z', '2026-11-20 12:00:00'],
  ...['0000-01-01T00:00:00+01:00', '9999-12-31T23:59:00-01:00', '1700000000', '٢٠٢٦-11-20 12:00'],
]
const times = ['active_period_start_at', 'active_period_end_at'] as const

function nameOf(value: Json): string {
  return JSON.stringify(value).slice(0, 40)
}

describe('422 on store and update', () => {
  const own = link()
  const assertBoth = async (field: string, value: Json, code: string, updateCode = code) => {
    const json = { url, [field]: value }
    assertRefused(await send('POST', '/links', { json }), [field, code])
    const { id } = await own
    assertRefused(await send('PATCH', `/links/${id}`, { json: { [field]: value } }), [field, updateCode])
  }
  for (const [field, codes] of Object.entries(refused)) {
    for (const [code, values] of Object.entries(codes)) {
      const updateCode = field === 'domain_id' && code !== 'not_single' ? 'prohibited' : code
      for (const value of values) {
        test(`${code} for the ${field} ${nameOf(value)}`, () => assertBoth(field, value, code, updateCode))
      }
    }
  }
  test('the same codes in rows of bulk requests, in their changes, and for further addresses', async () => {
    const { id } = await own
    const cases = Object.entries(refused).flatMap(([field, codes]) =>
      Object.entries(codes).flatMap(([code, values]) => values.map((value) => ({ field, code, value }))),
    )
    const links = cases.map(({ field, value }) => ({ url, [field]: value }))
    const stored = await send('POST', '/links/bulk', { json: { links } })
    const found = stored.body.data.map(({ violations }: Json) =>
      violations.map(({ field, code }: Json) => [field, code]),
    )
    assert.deepEqual(
      found,
      cases.map(({ field, code }) => [[field, code]]),
    )
    for (const { field, code, value } of cases) {
      const isInSet = !['alias', 'domain_id'].includes(field)
      const changed = await send('PATCH', '/links/bulk', { json: { ids: [id], set: { [field]: value } } })
      assertRefused(changed, [`set.${field}`, isInSet ? code : 'unknown_field'])
      const isOfAddress = !isInSet || field === 'exact'
      const added = await send('POST', `/links/${id}/addresses`, { json: { [field]: value } })
      assertRefused(added, [field, isOfAddress ? code : 'unknown_field'])
    }
  })

  for (const value of badTimes) {
    test(`invalid_time for ${value}`, async () => {
      for (const field of times) await assertBoth(field, value, 'invalid_time')
    })
  }

  test('not_after_start for a period that ends before or when it starts', async () => {
    const refusal = ['active_period_end_at', 'not_after_start'] as const
    for (const [start, end] of [
      ['2026-11-20 12:00', '2026-11-20 12:00'],
      ['2026-11-20T12:00:00+01:00', '2026-11-20T11:00:00Z'],
      ['2026-11-20 12:01', '2026-11-20 12:00'],
    ]) {
      const json = { active_period_start_at: start, active_period_end_at: end }
      assertRefused(await send('POST', '/links', { json: { url, ...json } }), refusal)
      assertRefused(await send('PUT', `/links/${(await own).id}`, { json }), refusal)
    }
  })

  test('all invalid fields together, in the order of the form, unknown fields last', async () => {
    const json = {
      ...{ zzz: 1, redirect_status: 303, forward_query: 'x', redirect_password: 'a'.repeat(129), expiration_url: 'x' },
      ...{ clicks_limit: 0, active_period_end_at: 'x', active_period_start_at: 'y', disabled: 'x', title: 7 },
      ...{ alias: '/', url: 'x', domain_id: 'x' },
    }
    const inOrder = ['url', 'domain_id', 'alias', 'title', 'disabled', ...times, 'clicks_limit', 'expiration_url']
    const { status, body } = await send('POST', '/links', { json })
    assert.equal(status, 422)
    assert.deepEqual(
      body.violations.map(({ field }: Json) => field),
      [...inOrder, 'redirect_password', 'forward_query', 'redirect_status', 'zzz'],
    )
  })

  test('invalid values together with an invalid domain, space, period and destination', async () => {
    const { id, short_url } = await link({ alias: fresh('all') })
    const period = { active_period_start_at: '2026-11-20 12:00', active_period_end_at: '2025-11-20 12:00' }
    const json = { ...period, title: 7, space_id: 999_999, domain_id: 999_999 }
    assertRefused(
      await send('POST', '/links', { json: { url, ...json } }),
      ...([
        ['title', 'not_a_string'],
        ['domain_id', 'unknown_domain'],
        ['space_id', 'unknown_space'],
      ] as const),
      ['active_period_end_at', 'not_after_start'],
    )
    assertRefused(
      await send('PATCH', `/links/${id}`, { json: { ...json, url: short_url } }),
      ...([
        ['title', 'not_a_string'],
        ['domain_id', 'prohibited'],
        ['space_id', 'unknown_space'],
      ] as const),
      ...([
        ['active_period_end_at', 'not_after_start'],
        ['url', 'loops'],
      ] as const),
    )
  })
})

describe('422 loops', () => {
  const spellings = (host: string, alias: string) => [
    `http://${host}:3080/${alias}`,
    `https://${host}/${alias.toUpperCase()}/`,
    `HTTP://${host.toUpperCase()}./${encodeURIComponent(alias)}?x=1#y`,
    `http://${host}:80/x/../${alias}`,
  ]
  test('for the short URL of the link in any spelling, on store and on update', async () => {
    const stored = await link({ alias: fresh('self') })
    const alias = fresh('loop-é')
    for (const each of spellings(place.domain.name, alias)) {
      assertRefused(await send('POST', '/links', { json: { alias, url: each } }), ['url', 'loops'])
    }
    for (const each of spellings(place.domain.name, stored.alias)) {
      assertRefused(await send('PATCH', `/links/${stored.id}`, { json: { url: each } }), ['url', 'loops'])
    }
  })

  test('not for another port, path or host, or for a generated alias', async () => {
    const { name } = place.domain
    for (const other of [`http://${name}:8080/x`, `http://${name}/x/y`, `http://x.${name}/x`, `http://${name}/`]) {
      await link({ alias: fresh('x'), url: other })
    }
    await link({ url: `http://${name}/x` })
  })
})

describe('201 and 200 at the edges', () => {
  /** Accepted values by field, with the value in the response if it differs. */
  const taken: Readonly<Record<string, readonly (readonly [sent: Json, shown?: Json])[]>> = {
    url: [
      [`https://acme.com/${'a'.repeat(8192 - 17)}`],
      [`https://acme.com/${'例'.repeat(908)}`],
      ['HTTPS://Acme.COM:443/%7Ea/../b?q=ü#ö'],
    ],
    title: [['💩'.repeat(255)], [' e\u0301 ', 'é'], ['', null], [null]],
    disabled: [['1', true], ['0', false], ['true', true], [' false ', false], [true], [false], [1, true], [0, false]],
    forward_query: [['true', true], [false]],
    active_period_start_at: [
      ['2026-11-20 12:00', '2026-11-20T12:00:00.000Z'],
      ['2026-11-20T12:00:00Z', '2026-11-20T12:00:00.000Z'],
      ['2026-11-20t12:00:00.5z', '2026-11-20T12:00:00.500Z'],
      ['2026-11-20T12:00:00.123456789+05:30', '2026-11-20T06:30:00.123Z'],
      ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
      ['2024-02-29 00:00', '2024-02-29T00:00:00.000Z'],
      ['2026-11-20T12:00:00-00:00', '2026-11-20T12:00:00.000Z'],
      ['', null],
    ],
    active_period_end_at: [['9999-12-31T23:59:59.999Z']],
    clicks_limit: [[1], ['1000000000', 1_000_000_000], [null]],
    expiration_url: [[`https://acme.com/${'a'.repeat(2048 - 17)}`], [' ', null]],
    redirect_status: [[301], [302], [307], [308], ['307', 307]],
  }
  for (const [field, values] of Object.entries(taken)) {
    for (const [sent, shown = sent] of values) {
      test(`${field} ${nameOf(sent)}`, async () => {
        assert.deepEqual((await link({ [field]: sent }))[field], shown)
        const { id } = await link()
        const { status, body, text } = await send('PUT', `/links/${id}`, { json: { [field]: sent } })
        assert.equal(status, 200, text)
        assert.deepEqual(body.data[field], shown)
      })
    }
  }

  test('alias of 128 code points, and with dots', async () => {
    const longest = ['a', '💩', 'ﷺ'].map((letter) => letter.repeat(128))
    for (const alias of [...longest, '.a', 'a.', '...', 'robots.txt/x', 'a/robots.txt', '~', '-']) {
      const stored = await link({ alias })
      assert.equal(stored.alias, alias)
      assert.equal(decodeURIComponent(new URL(stored.short_url).pathname), `/${alias}`)
    }
  })

  test('redirect_password of 128 code points', async () => {
    for (const redirect_password of ['a', '💩'.repeat(128)]) {
      assert.equal((await link({ redirect_password })).has_redirect_password, true)
    }
    for (const redirect_password of ['', null]) {
      assert.equal((await link({ redirect_password })).has_redirect_password, false)
    }
  })
})
