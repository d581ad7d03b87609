/** The field `rules` in requests and records: accepted and rejected values, with the place of each violation. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'

const app = await startApp({ urlSchemes: ['whatsapp'] })
const place = await newPlace(app)
const { send, link } = place
const url = 'https://acme.com'
const rule = { name: 'A', url }
const variants = (...urls: readonly Json[]) => ({ name: 'Test', urls })
const many = <T>(count: number, item: (n: number) => T) => Array.from({ length: count }, (_, n) => item(n))

/** Returns the violations of the rules as their places and codes. */
async function refusalsOf(rules: unknown): Promise<string[]> {
  const { status, text, body } = await send('POST', '/links', { json: { url, rules } as Json })
  assert.equal(status, 422, text)
  for (const { field, message } of body.violations) assert.deepEqual(body.errors[field]?.includes(message), true)
  return body.violations.map(({ field, code }: Json) => `${field} ${code}`)
}

/** Rejected rules by their only violation. */
const refused: Readonly<Record<string, readonly unknown[]>> = {
  'rules not_a_list': [1, true, {}, '{}', '"a"'],
  'rules malformed_json': ['x', '[', '[{"name":"A",}]', `[${' '.repeat(9)}`],
  'rules too_many': [many(21, (n) => ({ name: `${n}`, url }))],
  'rules.0 not_an_object': [[1], [null], ['a'], [[]], [[rule]]],
  'rules.0 too_many': [
    [Object.fromEntries(many(30, (n) => [`m${n}`, 1]))],
    [Object.fromEntries(many(200, (n) => [n, 1]))],
  ],
  'rules.0.name required': [
    [{ url }],
    [{ ...rule, name: '' }],
    [{ ...rule, name: ' \u200b' }],
    [{ ...rule, name: null }],
  ],
  'rules.0.name too_long': [[{ ...rule, name: '💩'.repeat(51) }]],
  'rules.0.name not_a_string': [[{ ...rule, name: 1 }], [{ ...rule, name: {} }]],
  'rules.0.name control_characters': [[{ ...rule, name: 'a\nb' }], [{ ...rule, name: '\ud800' }]],
  'rules.1.name taken': [
    [rule, rule],
    [
      { name: 'é', url },
      { name: 'e\u0301', url },
    ],
    [variants({ url, weight: 1 }, { url, weight: 1 }), { name: 'Test 2', url }],
  ],
  'rules.0.url required': [[{ name: 'A' }], [{ name: 'A', url: '' }], [{ name: 'A', url: null, urls: null }]],
  'rules.0.url not_absolute': [[{ ...rule, url: 'acme.com' }]],
  'rules.0.url unsupported_scheme': [[{ ...rule, url: 'ftp://acme.com' }], [{ ...rule, url: 'javascript:alert(1)' }]],
  'rules.0.url doubled_scheme': [[{ ...rule, url: 'https://https://acme.com' }]],
  'rules.0.url has_credentials': [[{ ...rule, url: 'https://a@acme.com' }]],
  'rules.0.url too_long': [[{ ...rule, url: `https://acme.com/${'a'.repeat(8192 - 16)}` }]],
  'rules.0.url not_single': [[{ ...rule, url: [url] }]],
  'rules.0.urls required': [[{ name: 'A', urls: [] }]],
  'rules.0.urls not_a_list': [[{ name: 'A', urls: {} }], [{ name: 'A', urls: url }]],
  'rules.0.urls not_allowed': [
    [variants({ url, weight: 1 })],
    [{ ...rule, urls: many(2, () => ({ url, weight: 1 })) }],
  ],
  'rules.0.urls too_many': [[variants(...many(11, () => ({ url, weight: 1 })))]],
  'rules.0.urls.1 not_an_object': [[variants({ url, weight: 1 }, url)]],
  'rules.0.urls.1.url required': [[variants({ url, weight: 1 }, { weight: 1 })]],
  'rules.0.urls.1.url unsupported_scheme': [[variants({ url, weight: 1 }, { url: 'ftp://a', weight: 1 })]],
  'rules.0.urls.1.weight required': [
    [variants({ url, weight: 1 }, { url })],
    [variants({ url, weight: 1 }, { url, weight: null })],
  ],
  'rules.0.urls.1.weight out_of_range': [0, 101, 1.5, -1, '01', true].map((weight) => [
    variants({ url, weight: 1 }, { url, weight }),
  ]),
  'rules.0.urls.1.weigth unknown_field': [[variants({ url, weight: 1 }, { url, weight: 1, weigth: 1 })]],
  'rules.0.country unknown_field': [[{ ...rule, country: ['DE'] }]],
  'rules.0.__proto__ unknown_field': ['[{"name":"A","url":"https://acme.com","__proto__":{"url":"x"}}]'],
  ...Object.fromEntries(
    ['countries', 'languages', 'devices', 'operating_systems', 'browsers', 'weekdays'].flatMap((name) => [
      [`rules.0.${name} required`, [null, '', [], [''], [null]].map((value) => [{ ...rule, [name]: value }])],
      [`rules.0.${name} not_a_list`, ['DE', 1, {}].map((value) => [{ ...rule, [name]: value }])],
      [`rules.0.${name} too_many`, [[{ ...rule, [name]: many(251, () => 'DE') }]]],
    ]),
  ),
  'rules.2.countries not_allowed': ['XX', 'DEU', 'Germany', 'D', 'ﬁ'].map((code) => [
    { name: '1', url },
    { name: '2', url },
    { ...rule, countries: ['DE', code] },
  ]),
  'rules.0.countries not_a_string': [[{ ...rule, countries: [1] }]],
  'rules.0.countries not_single': [[{ ...rule, countries: [['DE']] }]],
  'rules.0.languages not_allowed': [
    'German',
    'd',
    'deutsch-',
    'd e',
    'abcdefghi',
    'de_AT',
    '*-DE',
    'de;q=1',
    `a${'-b'.repeat(40)}`,
  ].map((tag) => [{ ...rule, languages: [tag] }]),
  'rules.0.devices not_allowed': [[{ ...rule, devices: ['phone'] }], [{ ...rule, devices: ['Mobile'] }]],
  'rules.0.operating_systems not_allowed': [[{ ...rule, operating_systems: ['ios'] }]],
  'rules.0.browsers not_allowed': [[{ ...rule, browsers: ['Edge'] }]],
  'rules.0.query required': [
    [{ ...rule, query: {} }],
    [{ ...rule, query: null }],
    [{ ...rule, query: '' }],
    [{ ...rule, query: { '': 'x' } }],
  ],
  'rules.0.query not_an_object': [[{ ...rule, query: [] }], [{ ...rule, query: 'a=1' }]],
  'rules.0.query too_many': [21, 200].map((count) => [
    { ...rule, query: Object.fromEntries(many(count, (n) => [`p${n}`, 'x'])) },
  ]),
  'rules.0.query not_a_string': [[{ ...rule, query: { a: 1 } }], [{ ...rule, query: { a: {} } }]],
  'rules.0.query not_single': [[{ ...rule, query: { a: ['x'] } }]],
  'rules.0.query too_long': [
    [{ ...rule, query: { ['a'.repeat(256)]: null } }],
    [{ ...rule, query: { a: 'a'.repeat(1025) } }],
  ],
  'rules.0.from invalid_time': [[{ ...rule, from: '2026-02-30T12:00:00Z' }], [{ ...rule, from: 'tomorrow' }]],
  'rules.0.until required': [[{ ...rule, until: null }], [{ ...rule, until: '' }]],
  'rules.0.until not_after_start': [[{ ...rule, from: '2026-01-01T12:00:00Z', until: '2026-01-01T13:00:00+01:00' }]],
  'rules.0.weekdays out_of_range': [0, 8, 1.5, 'Monday', true].map((day) => [{ ...rule, weekdays: [day] }]),
  'rules.0.hours not_allowed': [
    '9:00-17:00',
    '09:00-09:00',
    '24:00-01:00',
    '09:00-24:01',
    '09:60-10:00',
    '09:00–10:00',
    '09:00',
  ].map((hours) => [{ ...rule, hours }]),
  'rules.0.hours required': [[{ ...rule, hours: null }]],
  'rules.0.hours not_a_string': [[{ ...rule, hours: 9 }]],
}

describe('422 for rules, with the place', () => {
  for (const [violation, values] of Object.entries(refused)) {
    test(violation, async () => {
      for (const value of values)
        assert.deepEqual(await refusalsOf(value), [violation], JSON.stringify(value).slice(0, 200))
    })
  }
})

describe('rules in records', () => {
  const full = {
    name: 'Überall',
    countries: ['DE', 'AT'],
    languages: ['de', 'pt-BR', '*'],
    devices: ['mobile'],
    operating_systems: ['iOS', 'Android'],
    browsers: ['Safari'],
    query: { utm_source: 'news', ref: null, empty: '' },
    from: '2026-11-20T12:00:00.000Z',
    until: '2026-12-20T12:00:00.000Z',
    weekdays: [1, 7],
    hours: '22:00-24:00',
    urls: [
      { url: 'https://acme.com/a', weight: 1 },
      { url: 'mailto:a@acme.com', weight: 100 },
    ],
  }

  test('have their members in the order of the documents, and follow redirect_status', async () => {
    const names = Object.keys(await link({ rules: [full] }))
    assert.equal(names[names.indexOf('redirect_status') + 1], 'rules')
    const reversed = Object.fromEntries(Object.entries(full).reverse())
    const { rules } = await link({ rules: [reversed] as Json })
    assert.equal(JSON.stringify(rules), JSON.stringify([full]))
  })

  test('may ask for a parameter with the name of a property of objects', async () => {
    const text = '[{"name":"A","query":{"__proto__":"x","constructor":null},"url":"https://acme.com"}]'
    const { id } = await link({ rules: text })
    assert.ok((await send('GET', `/links/${id}`)).text.includes(`"rules":${text}`))
  })

  test('are normalized: times, countries, numbers and duplicates; null and empty URLs are skipped', async () => {
    const sent = [
      { name: ' e\u0301 ', countries: ['de', 'DE', ' xk '], from: '2026-11-20 12:00', url: ` ${url} `, urls: null },
      { name: 'B', url: '', weekdays: ['1', 1], urls: many(10, (n) => ({ url: `${url}/${n}`, weight: `${n + 1}` })) },
    ]
    const { rules } = await link({ rules: sent as Json })
    assert.deepEqual(rules, [
      { name: 'é', countries: ['DE', 'XK'], from: '2026-11-20T12:00:00.000Z', url },
      { name: 'B', weekdays: [1], urls: many(10, (n) => ({ url: `${url}/${n}`, weight: n + 1 })) },
    ])
  })

  test('are the same from JSON, from text in JSON, from a form, and from a CSV row', async () => {
    const text = ` \u00a0${JSON.stringify([full], null, 2)}\r\n`
    const form = await send('POST', '/links', { form: new URLSearchParams({ url, rules: text }).toString() })
    const cell = `"${text.replaceAll('"', '""')}"`
    const csv = await send('POST', '/links/bulk', {
      body: `url,rules\r\n${url},${cell}`,
      headers: { 'content-type': 'text/csv' },
    })
    const all = [await link({ rules: [full] }), await link({ rules: text }), form.body.data, csv.body.data[0].data]
    for (const { rules } of all) assert.deepEqual(rules, [full])
  })

  for (const empty of [null, '', ' ', [], '[]', 'null']) {
    test(`are [] after ${JSON.stringify(empty)}, and absent rules stay`, async () => {
      const { id, rules } = await link({ rules: [rule] })
      const kept = await send('PATCH', `/links/${id}`, { json: { title: 'T' } })
      assert.deepEqual(kept.body.data.rules, rules)
      const cleared = await send('PATCH', `/links/${id}`, { json: { rules: empty } })
      assert.deepEqual(cleared.body.data.rules, [])
      assert.deepEqual((await link({ rules: empty })).rules, [])
    })
  }

  test('take 16 KiB of UTF-8 at most, as text too, 20 rules and 50 code points of a name', async () => {
    const rulesOf = (bytes: number) => {
      const rules = [1, 2, 3].map((n) => ({ name: `${n}`, url: `https://acme.com/${n === 3 ? '' : 'a'.repeat(8000)}` }))
      const last = rules[2] as { url: string }
      const left = bytes - Buffer.byteLength(JSON.stringify(rules))
      last.url += 'ü'.repeat(left >> 1) + 'a'.repeat(left % 2)
      return rules
    }
    for (const form of [(rules: Json) => rules, JSON.stringify]) {
      const { id } = await link({ rules: form(rulesOf(16_384)) })
      const { violations } = (await send('PATCH', `/links/${id}`, { json: { rules: form(rulesOf(16_385)) } })).body
      assert.deepEqual(violations, [
        { field: 'rules', code: 'too_long', message: 'The rules field must be at most 16384 bytes of JSON.' },
      ])
    }
    const long = [' '.repeat(16_385), [{ ...rule, languages: many(250, () => 'a'.repeat(300)) }]]
    const bulk = await send('POST', '/links/bulk', { json: { links: long.map((rules) => ({ url, rules })) } })
    const codes = bulk.body.data.map(({ violations: [{ field, code }] }: Json) => `${field} ${code}`)
    assert.deepEqual(codes, ['rules too_long', 'rules too_long'])
    await link({ rules: many(20, (n) => ({ name: `${n}${'💩'.repeat(48)}`, url })) })
  })

  test('report all violations together, each at its place', async () => {
    const rules = [{ name: '', countries: ['XX'], hours: '9' }, rule, variants({ url: 'x', weight: 0 }, 1)]
    assert.deepEqual(await refusalsOf(rules), [
      ...[
        'rules.0.name required',
        'rules.0.countries not_allowed',
        'rules.0.hours not_allowed',
        'rules.0.url required',
      ],
      ...['rules.2.urls.0.url not_absolute', 'rules.2.urls.0.weight out_of_range', 'rules.2.urls.1 not_an_object'],
    ])
    const { body } = await send('POST', '/links', {
      json: { url: 'x', title: 'a'.repeat(256), rules: [{ ...rule, country: 1 }] },
    })
    assert.deepEqual(Object.keys(body.errors), ['url', 'title', 'rules.0.country'])
    assert.equal(body.errors['rules.0.country'][0], 'The rules.0.country field is unknown. Did you mean countries?')
  })

  test('name the position of malformed JSON', async () => {
    const { body } = await send('POST', '/links', { json: { url, rules: '[{"name":"A",\n  url: "x"}]' } })
    const message =
      'The rules field is not valid JSON at line 2, column 3: unexpected url. Put names and texts in double quotes, and leave out commas before closing brackets.'
    assert.deepEqual(body.violations, [{ field: 'rules', code: 'malformed_json', message }])
  })

  test('are 422 not_single if they are sent twice', async () => {
    const twice = await send('POST', '/links', { form: 'url=https://acme.com&rules=[]&rules=[]' })
    assertRefused(twice, ['rules', 'not_single'])
    const body = `{"url":"${url}","rules":[{"name":"A","name":"B","countries":["DE"],"countries":["AT"],"query":{"a":"1","a":"2"},"url":"${url}"}]}`
    const inside = await send('POST', '/links', { body, headers: { 'content-type': 'application/json' } })
    const text = await send('POST', '/links', { json: { url, rules: body.slice(body.indexOf('['), -1) } })
    for (const answer of [inside, text])
      assertRefused(answer, ...['name', 'countries', 'query'].map((name) => [`rules.0.${name}`, 'not_single'] as const))
  })
})

describe('rules and other fields', () => {
  const permanent = ['redirect_status', 'not_allowed'] as const

  for (const status of [301, 308]) {
    test(`redirect_status ${status} is 422 not_allowed with rules: on store, on update in either order, and in rows`, async () => {
      assertRefused(await send('POST', '/links', { json: { url, redirect_status: status, rules: [rule] } }), permanent)
      const [withRules, redirecting] = [await link({ rules: [rule] }), await link({ redirect_status: status })]
      const path = ({ id }: Json) => `/links/${id}`
      assertRefused(await send('PATCH', path(withRules), { json: { redirect_status: status } }), permanent)
      assertRefused(await send('PATCH', path(redirecting), { json: { rules: [rule] } }), permanent)
      const both = { redirect_status: status, rules: [rule] }
      assertRefused(await send('PUT', path(withRules), { json: both }), permanent)
      const swap = await send('PATCH', path(withRules), { json: { redirect_status: status, rules: [] } })
      assert.equal(swap.status, 200)
      const back = await send('PATCH', path(withRules), { json: { redirect_status: 307, rules: [rule] } })
      assert.deepEqual(back.body.data.rules, [rule])
      const ids = [withRules.id, redirecting.id]
      const bulk = await send('PATCH', '/links/bulk', { json: { ids, set: { redirect_status: status } } })
      assert.deepEqual(
        bulk.body.data.map((row: Json) => row.status),
        [422, 200],
      )
      assert.deepEqual(bulk.body.data[0].violations[0].field, 'redirect_status')
      const set = await send('PATCH', '/links/bulk', { json: { ids, set: both } })
      assertRefused(set, ['set.redirect_status', 'not_allowed'])
      const rows = await send('POST', '/links/bulk', {
        json: {
          links: [
            { url, ...both },
            { url, rules: [rule] },
          ],
        },
      })
      assert.deepEqual(
        rows.body.data.map((row: Json) => row.status),
        [422, 201],
      )
    })
  }

  test('422 loops at the destination of the rule that is the short URL, on store, update and in bulk', async () => {
    const own = `https://${place.domain.name}/LOOP`
    const rules = [
      rule,
      {
        name: 'B',
        urls: [
          { url, weight: 1 },
          { url: own, weight: 1 },
        ],
      },
    ]
    const [field, code] = ['rules.1.urls.1.url', 'loops'] as const
    assertRefused(await send('POST', '/links', { json: { url, alias: 'loop', rules } }), [field, code])
    const bulk = await send('POST', '/links/bulk', { json: { links: [{ url, alias: 'loop', rules }] } })
    assert.deepEqual(
      bulk.body.data[0].violations.map((each: Json) => [each.field, each.code]),
      [[field, code]],
    )
    const named = await link({ alias: 'loop' })
    assertRefused(await send('PATCH', `/links/${named.id}`, { json: { rules } }), [field, code])
    const set = await send('PATCH', '/links/bulk', { json: { ids: [named.id], set: { rules } } })
    assert.deepEqual(set.body.data[0].violations[0].field, field)
    const other = await link({ alias: 'other', rules })
    assert.equal((await send('DELETE', `/links/${named.id}`)).status, 204)
    assertRefused(await send('PATCH', `/links/${other.id}`, { json: { alias: 'loop' } }), [field, code])
  })

  test('the schemes of URL_SCHEMES are allowed, and others are refused at their place', async () => {
    const { rules } = await link({ rules: [{ name: 'A', url: 'whatsapp://send' }] })
    assert.equal(rules[0].url, 'whatsapp://send')
    const refused = [
      {
        name: 'A',
        urls: [
          { url, weight: 1 },
          { url: 'slack://x', weight: 1 },
        ],
      },
    ]
    assert.deepEqual(await refusalsOf(refused), ['rules.0.urls.1.url unsupported_scheme'])
  })

  test('sending the record back changes nothing, and a change of rules changes the ETag', async () => {
    const record = await link({ rules: [rule, variants({ url, weight: 1 }, { url, weight: 2 })] })
    const path = `/links/${record.id}`
    const { etag = '' } = (await send('GET', path)).headers
    const same = await send('PUT', path, { json: record, headers: { 'if-match': etag } })
    assert.deepEqual([same.status, same.body.data, same.headers.etag], [200, record, etag])
    const json = { rules: [rule] }
    const changed = await send('PATCH', path, { json, headers: { 'if-match': etag } })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.etag, etag)
    assert.equal((await send('PATCH', path, { json: { rules: [] }, headers: { 'if-match': etag } })).status, 412)
  })

  test('bulk updates set and clear rules of all links', async () => {
    const ids = [(await link()).id, (await link({ rules: [rule] })).id]
    for (const [rules, shown] of [
      [JSON.stringify([rule]), [rule]],
      [null, []],
    ] as const) {
      const { body } = await send('PATCH', '/links/bulk', { json: { ids, set: { rules } } })
      assert.deepEqual(
        body.data.map(({ data }: Json) => data.rules),
        [shown, shown],
      )
    }
    const refused = await send('PATCH', '/links/bulk', { json: { ids, set: { rules: [{ ...rule, hours: '' }] } } })
    assertRefused(refused, ['set.rules.0.hours', 'required'])
  })
})
