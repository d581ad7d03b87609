/** Lists, and actions with a confirmation. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scopes, systemActor } from '../../src/access/actor.ts'
import { today } from '../../src/accounts/calendar.ts'
import { maxChoices } from '../../src/dashboard/choices.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, newOwner, type Page, signedIn, signedInMember } from '../dashboard.ts'
import { addClicks, manyPeople } from '../days.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()
const { browser, ...place } = await newOwner(app)

const shown = async ({ id }: Json) => (await place.send('GET', `/links/${id}`)).body.data

test('deletes a space without its links, after naming their number', async () => {
  const space = await place.stored('/spaces', { name: 'Gone' })
  const within = await place.link({ space_id: space.id })
  const path = `/app/spaces/${space.id}/delete`
  const page = await browser.open(path)
  assert.match(page.text, /1 link will keep working/)
  assert.match(
    (await browser.after(await browser.submit(page, path))).said.join(),
    /^Deleted the space Gone( and changed 1 link)?/,
  )
  assert.equal((await shown(within)).space_id, null)
  const bare = await place.stored('/spaces', { name: 'Bare' })
  assert.match((await browser.open(`/app/spaces/${bare.id}/delete`)).text, /This space has no links/)
  const empty = await place.stored('/domains', { name: 'empty.example.com' })
  assert.match((await browser.open(`/app/domains/${empty.id}/delete`)).heading, /^Delete empty\.example\.com\?$/)
})

test('a tag is created, renamed, merged into another and deleted, and its links stay', async () => {
  const { browser, ...own } = await newOwner(app)
  assert.match((await browser.open('/app/tags')).text, /No tags yet/)
  const saved = async (page: Page, path: string, typed: Form) => browser.after(await browser.submit(page, path, typed))
  const created = await browser.save('/app/tags/new', { name: 'Fall', color: '3' }, '/app/tags')
  assert.match(created.text, /Created the tag Fall\.[\s\S]*0 links[\s\S]*Amber/)
  const link = await own.link({ tags: ['Fall'] })
  const [into, from] = [
    await own.stored('/tags', { name: 'Into' }),
    (await own.send('GET', '/tags?search=fall')).body.data[0],
  ]
  const path = `/app/tags/${from.id}`
  const renamed = await browser.save(`${path}/edit`, { name: 'Autumn' }, path)
  assert.match(renamed.heading, /Autumn/)
  assert.ok(renamed.links.includes('/app/links/new?tags=Autumn'))
  assert.match((await browser.open('/app/tags?search=autumn')).text, /Autumn[\s\S]*Amber[\s\S]*1 link/)
  const question = await browser.open(`${path}/merge`)
  assert.match(question.text, /Its 1 link had 0 clicks in the last 30 days\./)
  for (const [name, error] of [
    ['', /Fill in “Into”/],
    ['autumn', /Choose another tag\./],
    ['missing', /This tag does not exist\. Choose another tag\./],
  ] as const) {
    const refused = await browser.submit(question, `${path}/merge`, { into: name })
    assert.equal(refused.status, 422)
    assert.match(refused.page.errorOf('into'), error)
  }
  assert.match((await saved(question, `${path}/merge`, { into: 'INTO ' })).text, /Merged the tag \S+/)
  assert.deepEqual((await own.send('GET', `/links/${link.id}`)).body.data.tags, ['Into'])
  const deletion = await browser.open(`/app/tags/${into.id}/delete`)
  assert.match(deletion.text, /Its 1 link had 0 clicks in the last 30 days\.\s*Links lose the tag and keep working\./)
  assert.match((await saved(deletion, `/app/tags/${into.id}/delete`, {})).said.join(), /^Deleted the tag Into/)
  assert.deepEqual((await own.send('GET', `/links/${link.id}`)).body.data.tags, [])
})

test('the list of links shows tags and filters by several of them and by archived links', async () => {
  const { browser, ...own } = await newOwner(app)
  const names = ['a1', 'b2', 'c3', 'd4', 'e5']
  await own.link({ alias: 'all', tags: names })
  await own.link({ alias: 'some', tags: ['b2'], archived: true })
  const ids: Json = {}
  for (const { id, name } of (await own.send('GET', '/tags')).body.data) ids[name] = id
  const page = await browser.open(`/app/links?tag_id=${ids.b2},${ids.a1}`)
  assert.deepEqual(
    allOf(page.root, 'li')
      .map(textOf)
      .filter((text) => /^\w\d$/.test(text)),
    names,
  )
  assert.match(page.text, /1 link/)
  assert.equal(page.value('tags'), 'b2, a1')
  const typed = await browser.open('/app/links?tags=B2,+a1,')
  assert.deepEqual(
    [typed.value('tags'), allOf(typed.root, 'tbody').map(textOf)],
    ['B2, a1,', allOf(page.root, 'tbody').map(textOf)],
  )
  assert.ok(typed.links.some((link) => link.includes(`tag_id=${ids.b2}%2C${ids.a1}`)))
  assert.doesNotMatch((await browser.open(`/app/links?tag_id=${ids.b2}`)).text, /some/)
  for (const [query, expected] of [
    [`tag_id=${ids.b2}&archived=any`, /2 links[\s\S]*some[\s\S]*Archived/],
    ['archived=true', /1 link/],
    ['tag_id=99999', /This tag doesn’t exist\s*It was deleted or merged/],
    ['tags=b2,5', /No tag is named “5”\s*Did you mean e5\?/],
    ['tags=%3Cb%3E', /No tag is named “<b>”\s*Separate several tags with/],
  ] as const) {
    assert.match((await browser.open(`/app/links?${query}`)).text, expected)
  }
  const unknown = await browser.open('/app/links?tags=b2,5')
  assert.ok(unknown.links.includes(`/app/links?tag_id=${ids.b2}%2C${ids.e5}`))
  const many = Array.from({ length: 21 }, (_, n) => `tag ${n}`)
  const links = [many.slice(1), many.slice(0, 1)].map((tags) => ({ url: 'https://acme.com', tags }))
  await own.send('POST', '/links/bulk', { json: { links } })
  assert.equal((await browser.get(`/app/links?tags=${encodeURIComponent(many.join())}`)).status, 422)
})

test('domain, space and tag lists show their clicks in 30 days, and sort by them', async () => {
  const { browser, ...own } = await newOwner(app)
  const others = [await own.stored('/domains', { name: `two.${own.domain.name}` }), own.domain]
  for (const [at, clicks] of [4_000, 70].entries()) {
    const space = await own.stored('/spaces', { name: `Space ${at}` })
    const tags = ['Both', `Tag ${at}`]
    const { id } = await own.link({ domain_id: others[at]?.id, space_id: space.id, tags })
    await addClicks(app.storage, id, today(), manyPeople(clicks, 'devices', 'desktop'))
    await addClicks(app.storage, id, today() - 29, manyPeople(1, 'devices', 'desktop'))
    await addClicks(app.storage, id, today() - 40, manyPeople(9_000, 'devices', 'desktop'))
  }
  await own.stored('/spaces', { name: 'Unclicked' })
  const tags = await browser.open('/app/tags?sort_by=name&sort=asc')
  const ofTags = allOf(tags.root, 'td').flatMap((cell) => /^([\d,]+) clicks in 30 days$/.exec(textOf(cell))?.[1] ?? [])
  assert.deepEqual(ofTags, ['4,072', '4,001', '71'])
  await own.stored('/tags', { name: 'Unused' })
  for (const [query, names] of [
    ['sort_by=clicks_30d', ['Both', 'Tag 0', 'Tag 1', 'Unused']],
    ['sort_by=clicks_30d&sort=asc', ['Unused', 'Tag 1', 'Tag 0', 'Both']],
    ['sort_by=clicks_30d&search=TAG', ['Tag 0', 'Tag 1']],
    ['sort_by=links', ['Both', 'Tag 1', 'Tag 0', 'Unused']],
    ['sort_by=links&page=2', []],
  ] as const) {
    const { root } = await browser.open(`/app/tags?${query}`)
    const shown = allOf(root, 'th').flatMap((cell) => /^(?:Both|Tag \d|Unused)$/.exec(textOf(cell))?.[0] ?? [])
    assert.deepEqual(shown, names, query)
  }
  for (const list of ['domains', 'spaces']) {
    for (const sort of ['asc', 'desc']) {
      const page = await browser.open(`/app/${list}?sort_by=clicks_30d&sort=${sort}`)
      const shown = allOf(page.root, 'td').map(textOf)
      const clicks = shown.flatMap((text) => /^(4,001|71) clicks in 30 days$/.exec(text)?.[1] ?? [])
      assert.deepEqual(clicks, sort === 'asc' ? ['71', '4,001'] : ['4,001', '71'], `${list} ${sort}`)
    }
  }
})

test('the domain list names domains without a homepage, and links to their form', async () => {
  const { browser, domain, stored } = await newOwner(app)
  const home = await stored('/domains', { name: `home.${domain.name}`, homepage_url: 'https://acme.com/' })
  const list = await browser.open('/app/domains')
  const editOf = ({ id }: Json) => `/app/domains/${id}/edit#field-homepage_url`
  assert.deepEqual([list.links.includes(editOf(domain)), list.links.includes(editOf(home))], [true, false])
  assert.equal(list.text.match(/No homepage/g)?.length, 1)
  const form = await browser.open(`/app/domains/${domain.id}/edit`)
  assert.equal(form.control('homepage_url').attributes.get('id'), 'field-homepage_url')
})

describe('keys', () => {
  test('are listed 25 on a page, newest first', async () => {
    const own = await startApp()
    const browser = await signedInMember(own)
    for (let at = 1; at <= 26; at++) await own.createKey({ name: `Key ${at}.` })
    const shown = async (path: string) => (await browser.get(path)).text.match(/Key \d+\./g)
    const first = await shown('/app/keys')
    assert.deepEqual([first?.length, first?.[0], first?.at(-1)], [25, 'Key 26.', 'Key 2.'])
    assert.deepEqual(await shown('/app/keys?page=2'), ['Key 1.'])
    assert.deepEqual(await shown('/app/keys?page=9000000000000000'), ['Key 1.'])
    for (const path of ['/app/keys?page=0', '/app/keys?page=x', '/app/keys?page=1&page=2']) {
      assert.deepEqual(await shown(path), first)
    }
    assert.equal((await browser.get('/app/profile?page=2')).status, 200)
  })

  test('are created with 201 and a secret that is shown once', async () => {
    const form = await browser.open('/app/keys/new')
    const none = Object.fromEntries(scopes.map((scope) => [scope, undefined]))
    for (const scope of scopes) assert.equal(form.control(scope).attributes.get('type'), 'checkbox')
    const typed = { name: 'May read', task: 'own', ...none, 'links:read': 'true', expires: '30d' }
    const { status, page } = await browser.submit(form, '/app/keys', typed)
    assert.equal(status, 201)
    const [secret = ''] = /wm_\w{49}/.exec(page.text) ?? []
    const { data } = (await place.send('GET', '/me', { key: secret })).body
    assert.deepEqual([data.name, data.scopes], ['May read', ['links:read']])
    assert.ok(Math.abs(Date.parse(data.expires_at) - Date.now() - 30 * 86_400_000) < 60_000)
    for (const path of ['/app/keys', `/app/keys/${data.id}/revoke`]) {
      const { text } = await browser.get(path)
      assert.ok(!text.includes(secret) && text.includes('May read'))
    }
  })

  test('have the scopes of their task', async () => {
    const form = await browser.open('/app/keys/new')
    const { page } = await browser.submit(form, '/app/keys', { name: 'Reports', task: 'reports' })
    const [secret = ''] = /wm_\w{49}/.exec(page.text) ?? []
    const { data } = (await place.send('GET', '/me', { key: secret })).body
    const reads = ['domains:read', 'links:read', 'spaces:read', 'stats:read', 'tags:read']
    assert.deepEqual(data.scopes.toSorted(), reads)
    assert.ok(Date.parse(data.expires_at) - Date.now() > 364 * 86_400_000)
  })

  test('include all scopes with *; a revoked key has no Revoke link', async () => {
    const page = await browser.open('/app/keys/new')
    const { page: made } = await browser.submit(page, '/app/keys', {
      name: 'All',
      task: 'own',
      '*': 'true',
      expires: 'never',
    })
    const [secret = ''] = /wm_\w{49}/.exec(made.text) ?? []
    const { data } = (await place.send('GET', '/me', { key: secret })).body
    assert.deepEqual([data.scopes, data.expires_at], [['*'], null])
    const path = `/app/keys/${data.id}/revoke`
    const list = await browser.save(path)
    assert.ok(!list.links.includes(path))
    assert.match(list.text, /Revoked/)
    assert.equal((await browser.post('/app/keys/99999/revoke')).status, 404)
    await app.createKey({ account: place.account, expiresAt: new Date(Date.now() - 1_000) })
    assert.match((await browser.open('/app/keys')).text, /Expired/)
  })
})

describe('lists', () => {
  test('a search of links without a match suggests the nearest alias', async () => {
    const { browser, ...own } = await newOwner(app)
    const { id } = await own.link({ alias: 'webinar' })
    const page = await browser.open('/app/links?search=webnar')
    assert.match(page.text, /Did you mean go\d+\.example(?::\d+)?\/webinar\?/)
    assert.ok(page.links.includes(`/app/links/${id}`))
    for (const query of ['search=nothing+like+it', 'search=webnar&status=expired', 'search=webnar&page=2']) {
      assert.doesNotMatch((await browser.open(`/app/links?${query}`)).text, /Did you mean/, query)
    }
    assert.match((await browser.open('/app/links?search=webnar&status=active')).text, /Did you mean/)
  })

  test('a search shows the links with exactly this alias first, and names the searched fields', async () => {
    const { browser, ...own } = await newOwner(app)
    const second = await own.stored('/domains', { name: `second-${own.domain.name}` })
    const exact = [
      await own.link({ alias: 'Sale' }),
      await own.link({ alias: 'SALE', domain_id: second.id, tags: ['Hot'] }),
    ].map(({ id }) => id)
    const others: number[] = []
    for (let n = 0; n < 26; n++) others.unshift((await own.link({ alias: `sale-${n}` })).id)
    const ids = async (query: string) => {
      const { links } = await browser.open(`/app/links?${query}`)
      return [...new Set(links.flatMap((path) => /^\/app\/links\/(\d+)$/.exec(path)?.[1] ?? []).map(Number))]
    }
    assert.deepEqual(await ids('search=sale'), [...exact, ...others.slice(0, 25)])
    assert.deepEqual(await ids('search=sale&page=2'), [...others.slice(25), ...exact.toReversed()])
    assert.deepEqual(await ids('search=SALE&sort=asc'), [...exact, ...others.toReversed().slice(0, 23)])
    assert.deepEqual((await ids(`search=sale&domain_id=${own.domain.id}`)).slice(0, 2), [exact[0], others[0]])
    assert.deepEqual(await ids('search=sale&tags=hot'), exact.slice(1))
    assert.equal((await ids('search=sale+-')).includes(exact[0] ?? 0), false)
    assert.equal((await ids('search=sale&search_by=url')).length, 0)
    assert.match((await browser.open('/app/links?search=sale')).text, /1–25 of 28/)
    const covers = /The search covers aliases, titles and destinations/
    for (const query of ['search=none', `search=none&domain_id=${second.id}`]) {
      assert.match((await browser.open(`/app/links?${query}`)).text, covers, query)
    }
  })

  test('filter by the end of links and by idle links, and keep the page size', async () => {
    const { browser, ...own } = await newOwner(app)
    const { id } = await own.link({ active_period_end_at: new Date(Date.now() + 86_400_000).toISOString() })
    await own.link()
    const page = await browser.open('/app/links?status=ending&per_page=50')
    assert.match(page.text, /1 linkClear all/)
    assert.ok(page.links.includes(`/app/links/${id}`))
    const [preserved] = allOf(page.root, 'input', { name: 'per_page' })
    assert.equal(preserved?.attributes.get('value'), '50')
    const selected = allOf(page.root, 'option').filter(({ attributes }) => attributes.has('selected'))
    assert.ok(selected.some((option) => textOf(option) === 'Ends within 7 days'))
    assert.match((await browser.open('/app/links?status=idle')).text, /No links match these filters/)
    assert.equal((await browser.get('/app/links?status=soon')).status, 422)
    assert.equal((await browser.get('/app/links?per_page=26')).status, 422)
  })

  test('of 100 links with the longest destinations, titles and tags have less than 600 KB, whatever their characters', async () => {
    for (const unit of ['&', 'e\u0301\u0302']) {
      const { browser, ...own } = await newOwner(app)
      /** Repeats the unit up to so many characters, or so many bytes in percent-encoding. */
      const fill = (start: string, most: number, bytes = Number.POSITIVE_INFINITY) => {
        const times = Math.min((most - start.length) / unit.length, (bytes - start.length) / encodeURI(unit).length)
        return start + unit.repeat(times)
      }
      for (const part of ['a', 'b']) {
        const links = Array.from({ length: 50 }, (_, n) => ({
          url: fill(`https://acme.com/${part}${n}?`, 8_192, 8_192),
          title: fill('', 255),
          tags: Array.from({ length: 20 }, (_, tag) => fill(`${tag}-`, 50)),
        }))
        const stored = await own.send('POST', '/links/bulk', { json: { links } })
        assert.equal(stored.status, 200, stored.text)
      }
      const { text } = await browser.get('/app/links?per_page=100')
      assert.equal(text.split('<tr').length - 1, 101)
      assert.ok(Buffer.byteLength(text) < 600_000, `${unit}: ${Buffer.byteLength(text)}`)
    }
  })

  test('are files with all links that match, and the page’s labels', async () => {
    const { browser, ...own } = await newOwner(app)
    const space = await own.stored('/spaces', { name: '+Summer' })
    const link = await own.link({ space_id: space.id, title: 'Sale, "big"' })
    await addClicks(app.storage, link.id, today() - 40, manyPeople(3, 'countries', 'DE'))
    await addClicks(app.storage, link.id, today() - 1, manyPeople(2, 'countries', 'DE'))
    const clickedAt = new Date((today() - 1) * 86_400_000).toISOString()
    for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 12 }, () => own.link({ disabled: true })))
    const file = async (query: string) => (await browser.get(`/app/links.csv${query}`)).text.split('\r\n')
    const [head, first, ...others] = await file('?sort_by=clicks')
    assert.match(
      head ?? '',
      /^\ufeffLink,Title,Destination,Space,Status,Clicks \(30 days\),Total clicks,Last click,Created,Tags,/,
    )
    assert.match(first ?? '', /^http:.*,,https:\/\/acme\.com,,Disabled,0,0,,20/)
    assert.equal(new Set([first, ...others]).size, 122)
    const row = `${link.short_url},"Sale, ""big""",https://acme.com,'+Summer,Active,2,5,${clickedAt},${link.created_at},,,false,false,,,,,false,false,302,,false`
    assert.deepEqual([others.at(-2), others.at(-1)], [row, ''])
    const page = await browser.open('/app/links?search=big&status=active&page=1')
    const hrefs = allOf(page.root, 'a').map(({ attributes }) => attributes.get('href') ?? '')
    const href = hrefs.find((each) => each.startsWith('/app/links.csv')) ?? ''
    assert.deepEqual(await file(href.replace('/app/links.csv', '')), [head, row, ''])
    assert.deepEqual(await file('?search=nothing'), [head, ''])
    assert.equal((await browser.get('/app/links.csv?status=lost')).status, 422)
  })

  test('search, filter, sort and paginate like the API', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Sales' })
    for (let at = 0; at < 27; at++) {
      await own.link({ alias: `a${100 + at}`, title: at % 2 ? 'Odd' : null, ...(at % 3 ? {} : { space_id: space.id }) })
    }
    const other = await signedIn(app, own.key)
    const clicked = await own.link({ alias: 'clicked' })
    await addClicks(app.storage, clicked.id, today(), manyPeople(3, 'devices', 'desktop'))
    const queries = `sort_by=clicks_30d sort_by=clicks_30d&sort=asc&search=odd sort_by=last_clicked_at page=2 search=odd search=odd&page=1 space_id=${space.id} space_id=0 status=active status=expired
      sort_by=alias&sort=asc sort_by=clicks per_page=10&page=3 domain_id=${own.domain.id} search=nothing+like+it page=9
      space_id=${space.id}&search=odd&sort_by=alias&sort=asc&per_page=10`
    for (const query of ['', ...queries.split(/\s+/)]) {
      const { body } = await own.send('GET', `/links?per_page=25&${query}`.replace(/per_page=25&(.*per_page)/, '$1'))
      const page = await other.open(`/app/links?${query}`)
      const ids = allOf(page.root, 'input', { type: 'checkbox' }).flatMap(
        ({ attributes }) => /^row-(\d+)$/.exec(attributes.get('name') ?? '')?.[1] ?? [],
      )
      assert.deepEqual(
        ids.map(Number),
        body.data.map(({ id }: Json) => id),
        query,
      )
    }
  })
})

test('returns the same QR code as the API, as an image or a file', async () => {
  const link = await place.link()
  for (const query of ['', '?format=png&size=256']) {
    const path = `/links/${link.id}/qr${query}`
    const [of, same] = [await browser.get(`/app${path}`), await place.send('GET', path)]
    assert.deepEqual([of.status, of.headers['content-type'], of.text], [200, same.headers['content-type'], same.text])
    assert.match(String(of.headers['content-disposition']), /^inline/)
  }
  const file = await browser.get(`/app/links/${link.id}/qr?download=1`)
  assert.equal(file.headers['content-disposition'], `attachment; filename="${link.alias}.svg"`)
  const { status, page } = await browser.get(`/app/links/${link.id}/qr?size=0`)
  assert.equal(status, 422)
  assert.match(page.text, /size/)
})

test('forms and imports keep a selected domain or space beyond their limit', async () => {
  const many = await newPlace(app)
  const own = await signedIn(app, many.key)
  await app.storage.write(async (tx) => {
    for (let n = 0; n < maxChoices; n++) {
      await (await app.actions.domains.insertion(systemActor(many.account), { name: `a${n}.${many.domain.name}` }))(tx)
      await (await app.actions.spaces.insertion(systemActor(many.account), { name: `a${n}` }))(tx)
    }
  })
  const domain = await many.stored('/domains', { name: `z.${many.domain.name}` })
  const space = await many.stored('/spaces', { name: 'Zulu' })
  const link = await many.link({ domain_id: domain.id, space_id: space.id })
  const path = `/app/links/${link.id}`

  const page = await own.open(path)
  assert.ok(page.links.includes(`/app/links?space_id=${space.id}`), 'the facts of the link lack its space')
  await own.submit(await own.open(`${path}/edit`), path, { title: 'Only this' })
  const { data } = (await many.send('GET', `/links/${link.id}`)).body
  assert.deepEqual([data.title, data.space_id], ['Only this', space.id])

  const list = await own.open(`/app/links?domain_id=${domain.id}&space_id=${space.id}`)
  assert.deepEqual([list.value('domain_id'), list.value('space_id')], [String(domain.id), String(space.id)])
  assert.ok((await own.open('/app/links')).text.includes('Zulu'), 'the row lacks its space')

  const untouched = await own.open('/app/links/new')
  assert.equal(untouched.value('domain_id'), String(many.domain.id), 'not the domain that the API takes')
  const imported = await own.post('/app/import', { text: `url,short_url\nhttps://acme.com,${domain.name}/sale` })
  assert.ok((await own.after(imported)).text.includes(`${domain.name}/sale`), 'the import takes another domain')
  const blank = await own.open(`/app/links/new?domain_id=${domain.id}`)
  assert.equal(blank.value('domain_id'), String(domain.id))
  const { page: refused } = await own.submit(blank, '/app/links', { url: 'nope', space_id: String(space.id) })
  assert.deepEqual([refused.value('domain_id'), refused.value('space_id')], [String(domain.id), String(space.id)])
})
