/** Dashboard forms: they reject the same fields as the API, and preserve rejected input. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scopes } from '../../src/access/actor.ts'
import { storeLink } from '../../src/links/schema.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, newOwner, signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()
const { browser, ...place } = await newOwner(app)

interface Refusal {
  /** The page with the form, its path, and the API operation. */
  readonly page: string
  readonly action: string
  readonly asks: readonly [method: string, path: string]
  /** The input, in addition to the form's values. */
  readonly typed: Form
  /** Additional fields for a valid API request. */
  readonly besides?: Form
}

/** Sends both requests and compares the invalid controls with the fields of the API's violations. */
async function assertRefusedAlike({ page, action, asks, typed, besides = {} }: Refusal, of = browser): Promise<void> {
  const said = await place.send(...asks, { form: { ...besides, ...typed } })
  assert.ok([409, 422].includes(said.status), `${JSON.stringify(typed)}: ${said.text}`)
  const { status, page: again } = await of.submit(await of.open(page), action, { ...besides, ...typed })
  assert.equal(status, 422, JSON.stringify(typed))
  const fields: string[] = said.body.violations.map(({ field }: Json) => field)
  assert.deepEqual(again.refused.toSorted(), [...new Set(fields)].sort(), JSON.stringify(typed))
  for (const field of fields) assert.notEqual(again.errorOf(field), '', field)
  const written = Object.entries(typed).filter(([name]) => again.control(name).name !== 'select')
  for (const [name, value] of written) assert.equal(again.value(name), value)
  // Several errors also appear in a summary with links to their fields.
  if (fields.length > 1) {
    for (const field of fields) assert.ok(again.links.includes(`#${again.control(field).attributes.get('id')}`), field)
  }
}

const long = (length: number) => 'x'.repeat(length)
const web = [
  { homepage_url: 'nope' },
  { homepage_url: 'javascript:alert(1)' },
  { not_found_url: 'ftp://acme.com/' },
  { homepage_url: 'acme.com' },
  { not_found_url: 'acme.com/nothing' },
  { apple_app_site_association: '{}' },
  { asset_links: '[' },
  { asset_links: `[${' '.repeat(24 * 1024)}1]` },
]
const badLinks: readonly Form[] = [
  { url: '' },
  { url: 'javascript:alert(1)' },
  { url: `https://acme.com/${long(9_000)}` },
  { alias: '../x' },
  { alias: 'TAKEN' },
  { title: long(256) },
  { clicks_limit: '0' },
  { expiration_url: 'acme.com/over' },
  { redirect_status: '303' },
  { space_id: '99999' },
  { redirect_password: long(129) },
  { tags: `fine, ${long(51)}` },
  { tags: Array.from({ length: 21 }, (_, index) => `tag ${index}`).join() },
  { notes: long(2_001) },
  { active_period_start_at: '2026-02-30T10:00' },
  { active_period_end_at: 'tomorrow' },
  { active_period_start_at: '2030-01-02 10:00', active_period_end_at: '2030-01-01 10:00' },
  { url: 'nope', alias: 'two words', title: long(256), clicks_limit: 'many' },
]

test('the form for a domain accepts a host with a scheme, a port or a final slash, which the API rejects, and says what it stored', async () => {
  const name = 'pasted.acme.com'
  for (const text of ['/path', '?a=b', '#a', ':80:80', ':', ':123456', '//', '\\'].map(
    (end) => `https://${name}${end}`,
  ))
    assert.equal((await browser.post('/app/domains', { name: text })).status, 422, text)
  for (const text of [
    `https://me@${name}/`,
    `ftp://${name}`,
    `https://${name} x`,
    'http://127.0.0.1:3080/',
    'mailto:x',
  ])
    assert.equal((await browser.post('/app/domains', { name: text })).status, 422, text)
  for (const [text, stored, shown] of [
    [' HTTPS://Pasted.Acme.com/ ', name, name],
    ['http://localhost:3080/', 'localhost', 'localhost'],
    ['bücher.example:8080', 'xn--bcher-kva.example', 'bücher.example'],
  ] as const) {
    assert.equal((await place.send('POST', '/domains', { form: { name: text } })).status, 422)
    const { status, headers } = await browser.post('/app/domains', { name: text })
    assert.equal(status, 303)
    const id = headers.location?.split('/').at(-1)
    assert.equal((await place.send('GET', `/domains/${id}`)).body.data.name, stored)
    assert.match((await browser.open(`/app/domains/${id}`)).text, new RegExp(`Added ${shown}\\.`))
  }
})

test('the link form has a control for each API field', async () => {
  await place.stored('/domains', { name: 'second.example' })
  const page = await browser.open('/app/links/new')
  // The menu of a link archives it.
  const fields = Object.keys(storeLink.fields).filter((field) => field !== 'archived')
  for (const field of fields) page.control(field)
})

const twice = (typed: readonly Form[]) => [typed, typed] as const

describe('returns 422 with a message next to each field that the API rejects, and keeps the input', () => {
  const webs = [...web, { homepage_url: 'a', not_found_url: 'b' }]
  const names = ['', '-nope.example', 'a b.example', '1.2.3.4', `${long(64)}.example`, 'аpple.example', 'mine.example']
  for (const [resource, fields, added, edited] of [
    ['domains', { name: 'mine.example' }, [...names.map((name) => ({ name })), ...web], webs],
    ['spaces', { name: 'Sales' }, ...twice([{ name: '' }, { name: long(300) }, { name: '\u0000' }, { name: 'a\nb' }])],
    ['tags', { name: 'Taken' }, ...twice([{ name: '' }, { name: long(51) }, { name: 'a, b' }, { name: 'TAKEN' }])],
  ] as const) {
    test(`for new and for existing ${resource}`, async () => {
      await place.stored(`/${resource}`, fields)
      const { id } = await place.stored(`/${resource}`, { name: 'other.example' })
      const action = `/app/${resource}/${id}`
      const besides = { name: 'fresh.example' }
      for (const typed of added as readonly Form[]) {
        const asks = ['POST', `/${resource}`] as const
        await assertRefusedAlike({ page: `/app/${resource}/new`, action: `/app/${resource}`, asks, typed, besides })
      }
      for (const typed of edited as readonly Form[])
        await assertRefusedAlike({ page: `${action}/edit`, action, asks: ['PATCH', `/${resource}/${id}`], typed })
    })
  }

  test('for a new and for an existing link', async () => {
    await place.link({ alias: 'taken' })
    const link = await place.link({ alias: 'mine', redirect_password: 'old' })
    const action = `/app/links/${link.id}`
    const page = `${action}/edit`
    const besides = { url: 'https://acme.com/', domain_id: String(place.domain.id) }
    for (const typed of badLinks) {
      const asks = ['POST', '/links'] as const
      await assertRefusedAlike({ page: '/app/links/new', action: '/app/links', asks, typed, besides })
      await assertRefusedAlike({ page, action, asks: ['PATCH', `/links/${link.id}`], typed })
    }
    const loop = { url: link.short_url }
    await assertRefusedAlike({ page, action, asks: ['PATCH', `/links/${link.id}`], typed: loop })
    assert.deepEqual((await place.send('GET', `/links/${link.id}`)).body.data, link)
  })

  test('above the form, for an unknown field', async () => {
    const { browser: own, domain } = await newOwner(app)
    for (const [action, form] of [
      ['/app/spaces', { name: 'x', zzz: '1' }],
      ['/app/domains', { name: 'zzz.example.com', zzz: '1' }],
      ['/app/links', { url: 'https://acme.com', domain_id: String(domain.id), zzz: '1' }],
      ['/app/links', { url: 'https://acme.com', domain_id: '99999' }],
      ['/app/keys', { name: 'x', expires: 'never', '*': 'true', zzz: '1' }],
    ] as const) {
      const { status, page } = await own.post(action, form)
      assert.equal(status, 422, action)
      assert.match(page.said.join(), /an entry that Waymark does not know|This domain does not exist/, action)
    }
  })

  test('for a new key', async () => {
    for (const [typed, field] of [
      [{ name: '' }, 'name'],
      [{ name: long(256) }, 'name'],
      [{ expires: 'tomorrow' }, 'expires'],
      // Without scripts, a task doesn't check its scopes.
      [{ task: 'create', 'links:read': 'true' }, 'task'],
      [{ task: 'own', ...Object.fromEntries(scopes.map((scope) => [scope, undefined])) }, '*'],
    ] as const) {
      const form = await browser.open('/app/keys/new')
      const { status, page } = await browser.submit(form, '/app/keys', { name: 'CI', ...typed })
      assert.equal(status, 422)
      assert.deepEqual(page.refused, [field])
      if (!('name' in typed)) assert.equal(page.value('name'), 'CI')
    }
  })
})

describe('returns 409 with both versions after someone else saved', () => {
  const clash = async (path: string, mine: Form, theirs: Form, shown: readonly string[]) => {
    const other = await signedIn(app, place.key)
    const [page, opened] = [await browser.open(`${path}/edit`), await other.open(`${path}/edit`)]
    assert.equal((await other.submit(opened, path, theirs)).status, 303)
    const refused = await browser.submit(page, path, mine)
    assert.equal(refused.status, 409)
    const told = refused.page.said.join()
    for (const text of shown) assert.ok(told.includes(text), `${text} in ${told}`)
    for (const [name, value] of Object.entries(mine)) assert.equal(refused.page.value(name), value)
    assert.equal((await browser.submit(refused.page, path, mine)).status, 303)
  }

  test('for a link', async () => {
    const { id } = await place.link({ alias: 'clash', redirect_password: 'secret' })
    const [mine, theirs] = ['https://acme.com/mine', 'https://acme.com/theirs']
    const shown = ['Setting', mine, theirs, 'Mine', '7']
    await clash(`/app/links/${id}`, { url: mine, title: 'Mine' }, { url: theirs, clicks_limit: '7' }, shown)
    const { data } = (await place.send('GET', `/links/${id}`)).body
    assert.deepEqual([data.url, data.title, data.has_redirect_password], [mine, 'Mine', true])
    const [red, blue] = [
      await place.stored('/spaces', { name: 'Twin' }),
      await place.stored('/spaces', { name: 'Twin' }),
    ]
    await clash(`/app/links/${id}`, { space_id: `${red.id}` }, { space_id: `${blue.id}` }, ['Space', 'Twin'])
    // Tags are the same in another spelling, and browsers don't send unchecked boxes.
    const theirTime = { tags: 'Print', disabled: 'true', active_period_end_at: '2027-01-01T23:30' }
    for (const [at, shown] of [
      ['2027-01-02T00:30', 'Jan 2, 2027, 00:30 UTC'],
      ['2027-01-01T23:30:05', '2027-01-01T23:30:05Z'],
    ] as const) {
      const told = [`Current value Stops working on${shown}Jan 1, 2027, 23:30 UTC DisabledYes`]
      await clash(`/app/links/${id}`, { tags: ' Print ,', active_period_end_at: at }, theirTime, told)
    }
  })

  test('for a domain and for a space', async () => {
    const domain = await place.stored('/domains', { name: 'clash.example.com' })
    const space = await place.stored('/spaces', { name: 'Ours', color: 1 })
    const [mine, theirs] = ['https://acme.com/mine', 'https://acme.com/theirs']
    for (const [path, own, other] of [
      [`/domains/${domain.id}`, { homepage_url: mine }, { homepage_url: theirs, not_found_url: theirs }],
      [`/spaces/${space.id}`, { name: 'Mine' }, { name: 'Theirs', color: '4' }],
    ] as const) {
      await clash(`/app${path}`, own, other, [...Object.values(own), Object.values(other)[0] as string])
      assert.partialDeepStrictEqual((await place.send('GET', path)).body.data, own)
    }
  })

  test('even if both versions are equal, or the version is unknown', async () => {
    const { id } = await place.stored('/spaces', { name: 'Same', color: 1 })
    const path = `/app/spaces/${id}`
    await clash(path, { name: 'Equal' }, { name: 'Equal' }, ['the same values'])
    assert.equal((await browser.submit(await browser.open(`${path}/edit`), path, { version: 'x' })).status, 409)
    await place.send('DELETE', `/spaces/${id}`)
    assert.equal((await browser.post(path, { name: 'Gone' })).status, 404)
  })
})

test('saves a form without a version, like the API without If-Match', async () => {
  for (const [resource, stored, typed] of [
    ['spaces', { name: 'Before' }, { name: 'After' }],
    ['domains', { name: 'unconditional.example' }, { homepage_url: 'https://acme.com/after' }],
    ['links', { url: 'https://acme.com' }, { title: 'After' }],
  ] as const) {
    const { id } = await place.stored(`/${resource}`, stored)
    const path = `/app/${resource}/${id}`
    for (const version of [undefined, '']) {
      const page = await browser.open(`${path}/edit`)
      assert.equal((await browser.submit(page, path, { ...typed, version })).status, 303, path)
    }
    assert.partialDeepStrictEqual((await place.send('GET', `/${resource}/${id}`)).body.data, typed)
  }
})

describe('the link form', () => {
  test('changes nothing if nothing was edited', async () => {
    const link = await place.link({
      title: 'Größe "1" & <b>',
      url: 'https://acme.com/?a=1&b=%22',
      clicks_limit: 9,
      forward_query: true,
      active_period_start_at: '2026-01-02T03:04:05.678Z',
      active_period_end_at: '2090-01-01T00:00:00Z',
      expiration_url: 'https://acme.com/over',
      redirect_status: 308,
      redirect_password: 'secret',
      disabled: true,
      tags: ['Print', 'Summer'],
      notes: 'One <line>\n\tand another',
      archived: true,
    })
    const path = `/app/links/${link.id}`
    assert.match((await browser.save(`${path}/edit`, {}, path)).said.join(), /^Nothing was changed\./)
    const { data } = (await place.send('GET', `/links/${link.id}`)).body
    assert.deepEqual(data, { ...link, updated_at: data.updated_at })
  })

  test('clears unchecked boxes, empty fields and a removed password', async () => {
    const link = await place.link({ title: 'x', disabled: true, clicks_limit: 9, redirect_password: 'secret' })
    const path = `/app/links/${link.id}`
    const cleared = { title: '', disabled: undefined, clicks_limit: '' }
    for (const [typed, expected] of [
      [cleared, { title: null, disabled: false, clicks_limit: null, has_redirect_password: true }],
      [{ remove_password: 'true' }, { has_redirect_password: false }],
      [{ redirect_password: 'new' }, { has_redirect_password: true }],
      [{ active_period_end_at: '2090-01-02T03:04' }, { active_period_end_at: '2090-01-02T03:04:00.000Z' }],
    ] as const) {
      await browser.save(`${path}/edit`, typed, path)
      assert.partialDeepStrictEqual((await place.send('GET', `/links/${link.id}`)).body.data, expected)
    }
  })

  test('creates a link from a URL in the query, with tags between commas and notes, which its page shows', async () => {
    await place.stored('/tags', { name: 'Spring' })
    const page = await browser.open('/app/links/new?url=https%3A%2F%2Facme.com%2F%3Fa%3D1%26b')
    assert.equal(page.value('url'), 'https://acme.com/?a=1&b')
    assert.ok(allOf(page.root, 'option').some(({ attributes }) => attributes.get('value') === 'Spring'))
    const typed = {
      alias: 'Everything',
      title: 'All',
      disabled: 'true',
      tags: 'SPRING,, <Fresh>,',
      notes: 'First\r\nsecond',
    }
    const shown = await browser.after(await browser.submit(page, '/app/links', typed))
    assert.match(shown.said.join(), /^Created .*\/Everything\./)
    assert.match(shown.heading, /Everything/)
    for (const words of ['https://acme.com/?a=1&b', 'All', 'Disabled', 'Spring', '<Fresh>', 'First second'])
      assert.ok(shown.text.includes(words), shown.text)
    const { id } = (await place.send('GET', '/tags?search=spring')).body.data[0]
    assert.ok(shown.links.includes(`/app/links?tag_id=${id}&archived=any`), shown.links.join())
  })

  test('shows the beginning of the short link with its port', async () => {
    const { browser, ...own } = await newOwner(app)
    const { name } = own.domain
    assert.ok((await browser.open('/app/links/new')).text.includes(`${name}:3080/`))
    await own.stored('/domains', { name: `second.${name}` })
    const options = allOf((await browser.open('/app/links/new')).root, 'option').map(textOf)
    for (const text of [`${name}:3080/`, `second.${name}:3080/`]) assert.ok(options.includes(text), options.join())
  })
})

test('creates one record if the button is pressed twice, with the same response', async () => {
  for (const [path, typed] of [
    ['links', { url: 'https://acme.com/twice' }],
    ['spaces', { name: 'Twice' }],
    ['tags', { name: 'Twice' }],
    ['domains', { name: 'twice.example.com' }],
  ] as const) {
    const page = await browser.open(`/app/${path}/new`)
    const press = () => browser.submit(page, `/app/${path}`, typed)
    const [one, two, late] = [...(await Promise.all([press(), press()])), await press()]
    for (const answer of [one, two, late])
      assert.deepEqual([answer?.status, answer?.headers.location], [303, one?.headers.location])
    assert.equal((await place.send('GET', `/${path}?search=twice`)).body.meta.total, 1)
  }
})

test('creates one key if the button is pressed twice, and shows it only once', async () => {
  const { browser: own } = await newOwner(app)
  const secret = /wm_\w{49}/
  const page = await own.open('/app/keys/new')
  const press = () => own.submit(page, '/app/keys', { name: 'Twice' })
  const first = await press()
  assert.deepEqual([first.status, secret.test(first.text)], [201, true])
  const { page: list, text } = await own.follow(await press())
  assert.match(list.said.join(), /it’s shown only once. If you didn’t copy it, revoke it/)
  assert.doesNotMatch(text, secret)
  assert.equal(text.match(/<bdi>Twice<\/bdi>/g)?.length, 1)
})

test('the form for a duplicate has the link’s values, except its alias and password', async () => {
  const space = await place.stored('/spaces', { name: 'Copied' })
  const original = await place.link({
    ...{ url: 'https://acme.com/summer', alias: 'original', title: 'Summer', space_id: space.id, clicks_limit: 9 },
    ...{ active_period_end_at: '2030-01-01T10:00:00Z', redirect_status: 301, redirect_password: 'secret' },
  })
  const path = `/app/links/new?copy=${original.id}`
  const form = await browser.open(path)
  assert.match(form.text, /A copy of .*\/original, with another alias\. Its password can’t be copied/)
  const rejected = await browser.submit(form, '/app/links', { alias: 'original' })
  assert.equal(rejected.status, 422)
  assert.match(rejected.page.text, /A copy of /)
  const page = await browser.after(await browser.submit(rejected.page, '/app/links', { alias: '' }))
  const id = page.links.map((href) => /^\/app\/links\/(\d+)\/edit$/.exec(href)?.[1]).find(Boolean)
  const copy = (await place.send('GET', `/links/${id}`)).body.data
  const { alias, id: _, short_url, created_at, updated_at } = copy
  assert.notEqual(alias, original.alias)
  assert.deepEqual(copy, {
    ...original,
    ...{ id: copy.id, alias, short_url, created_at, updated_at, has_redirect_password: false },
  })
  for (const unknown of ['99999', 'x', ''])
    assert.equal((await browser.get(`/app/links/new?copy=${unknown}`)).status, 404)
  const stranger = await signedIn(app, (await newPlace(app)).key)
  assert.equal((await stranger.get(path)).status, 404)
})
