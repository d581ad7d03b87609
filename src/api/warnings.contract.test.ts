import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'
import { signedInMember } from '../../test/dashboard.ts'
import { textOf } from '../../test/html-page.ts'
import { applyImport, planFile } from '../../test/imports.ts'
import { assertRefused, newPlace } from '../../test/links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const { send } = place
const url = 'https://acme.com/'
const summer = await place.link({ alias: 'summer', url })
const foreign = await (await newPlace(app)).link({ alias: 'summer' })

/** Returns the warnings in a response, such as `url html_entity`. */
function warned({ status, body, text }: Answer): string[] {
  assert.ok(status === 200 || status === 201, text)
  assert.ok(!('meta' in body) || body.meta.warnings.length > 0)
  return (body.meta?.warnings ?? []).map(({ field, code }: Json) => `${field} ${code}`)
}

const entity = 'https://acme.com/?a=1&amp;b=2'
const aws = 'https://b.s3.amazonaws.com/f?X-Amz-Date=1&X-Amz-Signature=0f'
const rule = (url: string) => ({ name: 'Phones', operating_systems: ['iOS'], url })

for (const [link, ...expected] of [
  [{ url: 'https://www.acme.con/' }, 'url unknown_top_level'],
  [{ url, expiration_url: 'http://acme.cmo' }, 'expiration_url unknown_top_level'],
  [{ url: 'https://wiki.acme/' }],
  [{ url: 'http://localhost/' }],
  [{ url: summer.short_url }, 'url own_short_link'],
  [{ url, rules: [rule(`${summer.short_url}?a=1`)] }, 'rules.0.url own_short_link'],
  [{ url: `${summer.short_url}-2` }],
  [{ url: foreign.short_url }],
  [{ url: entity }, 'url html_entity'],
  [{ url: 'https://acme.com/?a&#38;b' }, 'url html_entity'],
  [{ url: 'https://acme.com/?a&#x26;b' }, 'url html_entity'],
  [{ url: 'https://acme.com/?a&#038;b' }, 'url html_entity'],
  [{ url: 'https://acme.com/?a&#X026;b' }, 'url html_entity'],
  [{ url, expiration_url: entity }, 'expiration_url html_entity'],
  [{ url, rules: [rule(entity)] }, 'rules.0.url html_entity'],
  [{ url: 'https://acme.com/?amp;&ampere=1' }],
  [{ url, title: 'MÃ¼nchen' }, 'title wrong_encoding'],
  [{ url, notes: 'A\nCafÃ© Ã‰tÃ©' }, 'notes wrong_encoding'],
  [{ url, tags: ['Sale', 'CafÃ©', 'MÃƒÂ¼nchen'] }, 'tags wrong_encoding', 'tags wrong_encoding'],
  [{ url, title: 'Itâ€™s' }, 'title wrong_encoding'],
  [{ url, title: 'MÃ¼nchen – Łódź' }, 'title wrong_encoding'],
  [{ url, title: 'MÃ¼nchen 🎉' }, 'title wrong_encoding'],
  [{ url, title: 'VoilÃ\u00a0 Łódź' }, 'title wrong_encoding'],
  [{ url, title: '“O CAFÉ” „DAS Ä“ ‘UN É’ 🎉' }],
  [{ url, title: 'München, CAFÉ, NÃO, MAÇÃ, “AMANHÔ, „Ä“, Ångström ¼' }],
  [{ url, title: '«\u00a0café\u00a0» »Spaß« «CAFÉ» Gruß\u00a0an' }],
  [{ url: aws, forward_query: true }, 'url signed_url'],
  [{ url: 'https://x.example/?sv=2022&sig=a%3D', forward_query: true }, 'url signed_url'],
  [{ url: 'https://x.example/?X-Goog-Credential=a&X-Goog-Signature=0f', forward_query: true }, 'url signed_url'],
  [{ url: 'https://x.example/?Expires=1&Signature=a&Key-Pair-Id=K', forward_query: true }, 'url signed_url'],
  [{ url: 'https://x.example/?expires=1&signature=0f', forward_query: true }, 'url signed_url'],
  [{ url, rules: [rule(aws)], forward_query: true }, 'rules.0.url signed_url'],
  [{ url: aws }],
  [{ url, expiration_url: aws, forward_query: true }],
  [{ url: 'https://x.example/?sig=a', forward_query: true }],
  [{ url: 'https://x.example/?signature=wine&X-Amz-Date=1', forward_query: true }],
] as readonly [Json, ...string[]][]) {
  test(`warns about ${JSON.stringify(link)}: ${expected.join() || 'nothing'}`, async () => {
    const stored = await send('POST', '/links', { json: link })
    assert.deepEqual(warned(stored), expected)
    const { data } = stored.body
    for (const [name, value] of Object.entries(link))
      assert.deepEqual(data[name], name === 'tags' ? (value as string[]).toSorted() : value)
    const path = `/links/${data.id}`
    assert.deepEqual(warned(await send('PUT', path, { json: data })), expected)
    assert.deepEqual(warned(await send('PATCH', path, { json: { disabled: true } })), [])
    assert.equal('meta' in (await send('GET', path)).body, false)
  })
}

test('the response to a repeated request has the warnings, too', async () => {
  const request = { json: { url: entity }, headers: { 'idempotency-key': 'warned' } }
  const [first, again] = [await send('POST', '/links', request), await send('POST', '/links', request)]
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.text, first.text)
  assert.deepEqual(first.body.meta.warnings, [
    { code: 'html_entity', field: 'url', message: 'The URL looks copied from HTML. Write & instead of &amp;.' },
  ])
})

test('an update warns about a signature that it breaks', async () => {
  const { id } = await place.link({ url: aws })
  const update = (json: Json) => send('PATCH', `/links/${id}`, { json })
  assert.deepEqual(warned(await update({ forward_query: true })), ['url signed_url'])
  assert.deepEqual(warned(await update({ title: 'A' })), [])
})

describe('rows of bulk requests', () => {
  const rowsOf = ({ status, body, text }: Answer): string[][] => {
    assert.equal(status, 200, text)
    return body.data.map(({ warnings = [] }: Json) => warnings.map(({ field, code }: Json) => `${field} ${code}`))
  }
  const csv = (text: string, at = place) =>
    at.send('POST', '/links/bulk', { body: text, headers: { 'content-type': 'text/csv' } })

  test('have the warnings of a separate request, and a repetition has the same', async () => {
    const links = [
      { url: entity, title: 'CafÃ©' },
      { url },
      { url: summer.short_url },
      { url: 'acme.com' },
      { url: aws },
    ]
    const expected = [['url html_entity', 'title wrong_encoding'], [], ['url own_short_link'], [], []]
    const request = { json: { links }, headers: { 'idempotency-key': 'bulk' } }
    const stored = await send('POST', '/links/bulk', request)
    assert.deepEqual(rowsOf(stored), expected)
    assert.equal((await send('POST', '/links/bulk', request)).text, stored.text)
    const ids = [0, 4].map((at) => stored.body.data[at].data.id)
    const update = async (json: Json) => rowsOf(await send('PATCH', '/links/bulk', { json: { ids, ...json } }))
    assert.deepEqual(await update({ set: { forward_query: true } }), [[], ['url signed_url']])
    assert.deepEqual(await update({ add_tags: ['Ã¶'] }), [['tags wrong_encoding'], ['tags wrong_encoding']])
    assert.deepEqual(await update({ add_tags: ['Sale'], remove_tags: ['New'] }), [
      ['tags wrong_encoding'],
      ['tags wrong_encoding'],
    ])
    assert.deepEqual(await update({ remove_tags: ['Sale'] }), [[], []])
    assert.deepEqual(await update({ set: { archived: true } }), [[], []])
    assert.deepEqual(rowsOf(await send('POST', '/links/bulk/delete', { json: { ids } })), [[], []])
  })

  for (const [before, after, isWarned = true] of [
    ['0123', '123'],
    ['true', 'WAHR'],
    ['false', 'faux'],
    ['3-4', '03.Apr'],
    ['3-4', '04.03.2026'],
    ['3/4', '2026-04-03'],
    ['mar-04', '4-Mar'],
    ['sept2', '02-sept', false],
    ['123456', '1.23E05'],
    ['0123', '1123', false],
    ['1234567', '1.23E05', false],
    ['1234567', '1.23E06', false],
    ['summer', '2026-04-03', false],
    ['2026-13', '13-2026', false],
  ] as const) {
    test(`${isWarned ? 'warn' : 'don’t warn'} that a spreadsheet has changed ${before} to ${after}`, async () => {
      const at = await newPlace(app)
      await at.link({ alias: before, url: 'https://acme.com/own' })
      const answer = await csv(`url,alias\r\nhttps://acme.com/,x-${after}\r\nhttps://acme.com/own,${after}\r\n`, at)
      const rows = rowsOf(answer)
      if (isWarned) assert.ok(answer.body.data[1].warnings[0].message.includes(`the alias ${before} has`), answer.text)
      assert.deepEqual(rows, [[], isWarned ? ['alias spreadsheet'] : []])
    })
  }

  test('warn of each exponent, at any place in a request, however many aliases have a close number', async () => {
    const at = await newPlace(app)
    const originals = Array.from({ length: 10 }, (_, n) => ({ url: `${url}${n}`, alias: `${100_123 + n * 1_000}` }))
    const others = Array.from({ length: 600 }, (_, n) => ({ url, alias: `${123_500 + n}` }))
    await at.send('POST', '/links/bulk', { json: { links: [...others, ...originals] } })
    const lines = originals.map((link, n) => `${link.url},1.${String(n).padStart(2, '0')}E05`)
    const { body } = await csv(`url,alias\r\n${lines.join('\r\n')}\r\n`, at)
    for (const [n, { alias }] of originals.entries()) {
      assert.match(body.data[n].warnings[0].message, new RegExp(`the alias ${alias} has`))
    }
    // Too many to look up all numbers of each: none has a warning, but other rows do.
    const many = Array.from({ length: 40 }, (_, n) => `${url}0,2.${n + 10}E05`)
    await at.link({ alias: '210000', url: `${url}0` })
    await at.link({ alias: 'true', url: `${url}0` })
    assert.deepEqual(rowsOf(await csv(`url,alias\r\n${[...many, `${url}0,wahr`].join('\r\n')}\r\n`, at)), [
      ...many.map(() => []),
      ['alias spreadsheet'],
    ])
  })

  test('whose alias a spreadsheet has made a number with an exponent are refused with the reason', async () => {
    const { body } = await csv('url,alias\r\nhttps://acme.com/,1.23E+05\r\n')
    const [{ field, code, message }] = body.data[0].violations
    assert.deepEqual([field, code], ['alias', 'invalid_character'])
    assert.match(message, /^A spreadsheet has changed the number to 1\.23E\+05\./)
  })
})

test('names of spaces, tags, invitations, keys and accounts, and the URLs of domains', async () => {
  const { send, account } = await newPlace(app)
  const browser = await signedInMember(app, { account, name: 'Ana' })
  const name = 'CafÃ©'
  const key = (await browser.post('/app/keys', { name, '*': 'true', expires: 'never' })).page
  const renamed = await browser.save('/app/account', { name })
  for (const page of [key, renamed]) assert.match(textOf(page.root), /looks like UTF-8/)
  for (const path of ['/spaces', '/tags']) {
    const stored = await send('POST', path, { json: { name: 'CafÃ©' } })
    assert.deepEqual(warned(stored), ['name wrong_encoding'])
    const one = `${path}/${stored.body.data.id}`
    assert.deepEqual(warned(await send('PATCH', one, { json: { color: 2 } })), [])
    assert.deepEqual(warned(await send('PATCH', one, { json: { name: 'MÃ¼nchen' } })), ['name wrong_encoding'])
    assert.deepEqual(warned(await send('PATCH', one, { json: { name: 'München' } })), [])
  }
  const invited = await send('POST', '/invitations', { json: { role: 'editor', name: 'JosÃ©' } })
  assert.deepEqual(warned(invited), ['name wrong_encoding'])
  const json = { name: 'warned.example', homepage_url: entity, not_found_url: 'https://acme.con' }
  const stored = await send('POST', '/domains', { json })
  assert.deepEqual(warned(stored), ['homepage_url html_entity', 'not_found_url unknown_top_level'])
  const path = `/domains/${stored.body.data.id}`
  assert.deepEqual(warned(await send('PATCH', path, { json: { not_found_url: url } })), [])
})

describe('app_opens_links', () => {
  const apple = (app: Json) => ({
    apple_app_site_association: JSON.stringify({ applinks: { details: [{ appIDs: ['T.app'], ...app }] } }),
  })
  const handler = 'delegate_permission/common.handle_all_urls'
  const android = (relation: string) => {
    const target = { namespace: 'android_app', package_name: 'com.acme', sha256_cert_fingerprints: ['AB'] }
    return { asset_links: JSON.stringify([{ relation: [relation], target }]) }
  }
  const [field, covered] = ['apple_app_site_association', ['apple_app_site_association app_opens_links']]
  for (const [files, ...expected] of [
    [apple({ components: [{ '/': '/buy/*' }] }), ...covered],
    [apple({ paths: ['NOT /a', '*'] }), ...covered],
    [apple({ components: [{ '/': '*', exclude: true }] })],
    [apple({ components: [] })],
    [{ [field]: '{"applinks":{"details":{"T.app":{"paths":["/x"]}}}}' }, ...covered],
    [{ [field]: '{"applinks":{"details":[1,null,{"components":[2,{"/":3}],"paths":4}]}}' }],
    [{ [field]: '{"webcredentials":{"apps":["T.app"]}}' }],
    [android(handler), 'asset_links app_opens_links'],
    [android('delegate_permission/common.get_login_creds')],
    [{ asset_links: '[{"include":"https://acme.com/assetlinks.json"}]' }],
    [{ asset_links: `[{"relation":["${handler}"],"target":{"namespace":"android_app"}}]` }],
    [{ [field]: '{"applinks":{"details":[{"components":[{"/":"*"}]}]}}' }],
  ] as readonly [Json, ...string[]][]) {
    test(`${Object.values(files)[0]}: ${expected.length}`, async () => {
      assert.deepEqual(warned(await send('PATCH', `/domains/${place.domain.id}`, { json: files })), expected)
    })
  }

  for (const text of ['{"toString":1,"valueOf":1}', '[{"toString":1}]', '[[["*"]]]', '1', 'null', '""', 'true', '{}']) {
    test(`ignores ${text} in any member of the files`, async () => {
      const { domain, send, account } = await newPlace(app)
      const { id } = (await send('POST', '/links', { json: { url, alias: 'covered' } })).body.data
      const browser = await signedInMember(app, { account })
      const ios = { appIDs: ['T.app'], components: [{ '/': '*' }] }
      const target = { namespace: 'android_app', package_name: 'com.acme' }
      const member = JSON.parse(text)
      for (const files of [
        ...['details', 'x'].map((name) => ({ [field]: { applinks: { [name]: member } } })),
        ...['appID', 'appIDs', 'components', 'paths'].map((name) => ({
          [field]: { applinks: { details: [{ ...ios, components: undefined, paths: ['*'], [name]: member }] } },
        })),
        ...['/', '?', '#', 'exclude'].map((name) => ({
          [field]: { applinks: { details: [{ ...ios, components: [{ '/': '/a*', [name]: member }, member] }] } },
        })),
        { [field]: { applinks: { details: { 'T.app': member, '': member } } } },
        { asset_links: [{ relation: [member, handler], target: { ...target, package_name: member } }] },
        { asset_links: [{ relation: [handler], target: { ...target, namespace: member } }] },
        { asset_links: [{ include: 'https://acme.com', relation: member, target: member }] },
      ]) {
        const json = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, JSON.stringify(file)]))
        const names = warned(await send('PATCH', `/domains/${domain.id}`, { json }))
        assert.ok(names.length <= 1, String(names))
        for (const path of [`/app/domains/${domain.id}`, `/app/links/${id}`]) {
          const { cautions } = await browser.open(path)
          assert.doesNotMatch(cautions.join(), /undefined|object|with {2}/)
        }
      }
    })
  }

  test('matches as many patterns as a file can have', async () => {
    const { domain, link, send, account } = await newPlace(app)
    const browser = await signedInMember(app, { account })
    const { id } = await link({ url, alias: 'a'.repeat(100) })
    const file = (...details: Json[]) => JSON.stringify({ applinks: { details } })
    for (const text of [
      file({ appID: 'T.app', paths: [`/${'*a'.repeat(11_000)}b`] }),
      file({ appID: 'T.app', paths: Array.from({ length: 2_000 }, () => '*a*a*a*b') }),
      file({ appIDs: Array.from({ length: 3_000 }, () => 'a'), components: [{ '/': `${'*a'.repeat(5_000)}b` }] }),
      file({ appID: 'T.app', paths: [`${'*'.repeat(11_000)}b`] }),
    ]) {
      const stored = await send('PATCH', `/domains/${domain.id}`, { json: { [field]: text } })
      assert.deepEqual(warned(stored), covered)
      assert.deepEqual((await browser.open(`/app/links/${id}`)).cautions, [])
    }
  })
})

test('an unknown field after a URL with ? says that & is sent as %26', async () => {
  const advice = 'If it belongs to the url, send & as %26, as curl --data-urlencode does.'
  const sentences = async (path: string, body: string, headers = { 'content-type': form }) => {
    const answer = await send(path === '/links' ? 'POST' : 'PATCH', path, { body, headers })
    assert.equal(answer.status, 422)
    return answer.body.violations.map(({ message }: Json) => message)
  }
  const form = 'application/x-www-form-urlencoded'
  assert.deepEqual(await sentences('/links', 'url=https://acme.com/?a=1&b=2&amp;titel=x&title=T&c=3'), [
    `The b field is unknown. ${advice}`,
    `The amp;titel field is unknown. ${advice}`,
    (await sentences('/links', 'url=https://acme.com/&c=3'))[0],
  ])
  assert.match((await sentences('/links', 'url=https://acme.com/?a=1&tittle=2'))[0], /^.* Did you mean title\? If it/)
  const path = `/domains/${place.domain.id}`
  const [homepage] = await sentences(path, 'homepage_url=https://acme.com/?a=1&b=2')
  assert.equal(homepage, `The b field is unknown. ${advice.replace('the url', 'the homepage_url')}`)
  for (const [body, type] of [
    ['b=2&url=https://acme.com/?a=1', form],
    ['url=https://acme.com/%23?a=1&b=2', form],
    ['{"url":"https://acme.com/?a=1","b":2}', 'application/json'],
  ] as const) {
    assert.match((await sentences('/links', body, { 'content-type': type }))[0], /unknown\. Known are: /)
  }
})

test('rows of imports have warnings about the values that they store, by which lists are filtered', async () => {
  const place = await newPlace(app)
  const host = place.domain.name
  await place.link({ alias: '0123', url: `https://tea.example/own` })
  const planned = await planFile(
    place,
    [
      'short_url,url,title,tags',
      `${host}/a,https://tea.example/?a=1&amp;b=2,CafÃ©,`,
      `${host}/b,https://tea.con/,Tea,MÃ¼nchen`,
      `${host}/123,https://tea.example/own,,`,
      `${host}/1.23E+05,https://tea.example/other,,`,
      `${host}/0123,https://tea.example/?c&amp;d,,`,
      `${host}/c,http://${host}:3080/0123,,`,
    ].join('\n'),
    { conflict: 'skip' },
  )
  const codes = (rows: readonly Json[]) =>
    rows.map(({ id, warnings = [] }) => [id, ...warnings.map(({ field, code }: Json) => `${field} ${code}`)].join(' '))
  const expected = [
    ...['1 url html_entity title wrong_encoding', '2 url unknown_top_level tags wrong_encoding', '3 alias spreadsheet'],
    ...['4', '5', '6 url own_short_link'],
  ]
  assert.deepEqual(codes(planned.shown), expected)
  assert.match(planned.shown[2].warnings[0].message, /alias 123\. The link with the alias 0123 has/)
  const alike = [
    ['77', 'same'],
    ['0077', 'same'],
    ['88', 'one'],
    ['088', 'another'],
  ].map((cells) => `${host}/${cells.join(',https://tea.example/')}`)
  const { shown } = await planFile(place, ['short_url,url', ...alike].join('\n'))
  assert.deepEqual(codes(shown), ['1 alias spreadsheet', '2', '3', '4'])
  assert.match(shown[0].warnings[0].message, /alias 77\. The link with the alias 0077 has/)
  assert.equal('warnings' in planned.shown[3], false)
  const rows = async (query: string) => (await place.send('GET', `/imports/${planned.id}/rows?${query}`)).body.data
  assert.deepEqual(codes(await rows('warning=wrong_encoding')), expected.slice(0, 2))
  assert.deepEqual(codes(await rows('warning=signed_url')), [])
  assertRefused(await place.send('GET', `/imports/${planned.id}/rows?warning=lost`), ['warning', 'not_allowed'])
  await applyImport(place, planned)
  assert.deepEqual(codes(await rows('warning=spreadsheet')), ['3 alias spreadsheet'])
  const [link] = (await place.send('GET', '/links?search_by=alias&search=123&sort=desc')).body.data
  assert.equal(link.url, `https://tea.example/own`)
})
