/** Lists, their figures, and actions with a confirmation. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { maxChoices } from '../../src/dashboard/choices.ts'
import { scopes } from '../../src/keys/scope.ts'
import { createKey } from '../../src/keys/store.ts'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { type Form, type Page, signedIn, type Visited } from '../dashboard.ts'
import { furnish } from '../dashboard-records.ts'
import { addClicks, manyPeople } from '../days.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const browser = await signedIn(app, place.key)

const shown = async ({ id }: Json) => (await place.send('GET', `/links/${id}`)).body.data
/** Returns the page after a form, with its notices. */
async function after(answer: Visited): Promise<Page> {
  return (await browser.follow(answer)).page
}

describe('deletes', () => {
  test('clicks after a confirmation', async () => {
    const own = await furnish(app)
    const browser = await signedIn(app, own.key)
    const [link] = own.links
    const path = `/app/links/${link.id}/delete-statistics`
    await browser.follow(await browser.submit(await browser.open(path), path))
    assert.equal((await own.send('GET', `/links/${link.id}`)).body.data.clicks, 0)
    assert.equal((await browser.post('/app/links/99999/delete-statistics')).status, 404)
  })

  test('a domain with its links, and a space without them, after naming their number', async () => {
    const domain = await place.stored('/domains', { name: 'gone.example.com' })
    const space = await place.stored('/spaces', { name: 'Gone' })
    const [on, within] = [await place.link({ domain_id: domain.id }), await place.link({ space_id: space.id })]
    const confirm = async (page: Page, path: string, typed: Form = {}) =>
      (await after(await browser.submit(page, path, typed))).said.join()
    const ofDomain = await browser.open(`/app/domains/${domain.id}/delete`)
    assert.match(ofDomain.heading, /gone\.example\.com and its 1 link\?/)
    assert.match(await confirm(ofDomain, `/app/domains/${domain.id}/delete`, { name: domain.name }), /deleted/)
    const ofSpace = await browser.open(`/app/spaces/${space.id}/delete`)
    assert.match(ofSpace.text, /1 link will keep working/)
    assert.match(await confirm(ofSpace, `/app/spaces/${space.id}/delete`), /Its links keep working/)
    assert.deepEqual([await shown(on), (await shown(within)).space_id], [undefined, null])
    assert.equal((await browser.get(`/app/domains/${domain.id}`)).status, 404)
    const empty = await place.stored('/domains', { name: 'empty.example.com' })
    assert.match((await browser.open(`/app/domains/${empty.id}/delete`)).heading, /^Delete empty\.example\.com\?$/)
    const bare = await place.stored('/spaces', { name: 'Bare' })
    assert.match((await browser.open(`/app/spaces/${bare.id}/delete`)).text, /This space has no links/)
  })
})

test('the list of domains names those without a homepage, and links to their form', async () => {
  const own = await newPlace(app)
  const browser = await signedIn(app, own.key)
  const { id, name } = await own.stored('/domains', {
    name: `home.${own.domain.name}`,
    homepage_url: 'https://acme.com/',
  })
  const list = await browser.open('/app/domains')
  const edit = `/app/domains/${own.domain.id}/edit`
  assert.ok(list.links.includes(`${edit}#field-homepage_url`))
  assert.ok(!list.links.includes(`/app/domains/${id}/edit#field-homepage_url`))
  assert.equal(list.text.match(/No homepage/g)?.length, 1)
  const form = await browser.open(edit)
  assert.equal(form.control('homepage_url').attributes.get('id'), 'field-homepage_url')
  await browser.submit(form, `/app/domains/${own.domain.id}`, { homepage_url: 'https://acme.com/home' })
  const later = await browser.open('/app/domains')
  assert.deepEqual([later.text.includes('No homepage'), later.text.includes(name)], [false, true])
})

describe('keys', () => {
  test('are listed 25 on a page, newest first', async () => {
    const own = await startApp()
    const browser = await signedIn(own)
    for (let at = 1; at <= 26; at++) {
      await createKey(own.storage, { account: own.account, name: `Key ${at}.`, scopes: ['*'], lifetimeMs: null })
    }
    const shown = async (path: string) => (await browser.get(path)).text.match(/Key \d+\./g)
    const first = await shown('/app/keys')
    assert.deepEqual([first?.length, first?.[0], first?.at(-1)], [25, 'Key 26.', 'Key 2.'])
    assert.deepEqual(await shown('/app/keys?page=2'), ['Key 1.'])
    assert.deepEqual(await shown('/app/keys?page=9000000000000000'), ['Key 1.'])
    for (const path of ['/app/keys?page=0', '/app/keys?page=x', '/app/keys?page=1&page=2']) {
      assert.deepEqual(await shown(path), first)
    }
    assert.equal((await browser.get('/app/sessions?page=2')).status, 200)
  })

  test('are created with 201 and a secret that is shown once', async () => {
    for (const scope of scopes) {
      const typed = { name: `May ${scope}`, '*': undefined, [scope]: 'true', expires: '30d' }
      const { status, page } = await browser.submit(await browser.open('/app/keys/new'), '/app/keys', typed)
      assert.equal(status, 201)
      const [secret = ''] = /wm_\w{49}/.exec(page.text) ?? []
      const { data } = (await place.send('GET', '/me', { key: secret })).body
      assert.deepEqual([data.name, data.scopes], [`May ${scope}`, [scope]])
      assert.ok(Math.abs(Date.parse(data.expires_at) - Date.now() - 30 * 86_400_000) < 60_000)
      for (const path of ['/app/keys', `/app/keys/${data.id}/revoke`]) {
        const { text } = await browser.get(path)
        assert.ok(!text.includes(secret) && text.includes(`May ${scope}`))
      }
    }
  })

  test('include all scopes with *; a revoked key has no Revoke link', async () => {
    const page = await browser.open('/app/keys/new')
    const { page: made } = await browser.submit(page, '/app/keys', { name: 'All', 'links:read': 'true' })
    const [secret = ''] = /wm_\w{49}/.exec(made.text) ?? []
    const { data } = (await place.send('GET', '/me', { key: secret })).body
    assert.deepEqual([data.scopes, data.expires_at], [['*'], null])
    const path = `/app/keys/${data.id}/revoke`
    assert.ok((await browser.open('/app/keys')).links.includes(path))
    const list = await after(await browser.submit(await browser.open(path), path))
    assert.ok(!list.links.includes(path))
    assert.match(list.text, /Revoked/)
    assert.equal((await browser.post('/app/keys/99999/revoke')).status, 404)
    await app.createKey({ account: place.account, expiresAt: new Date(Date.now() - 1_000) })
    assert.match((await browser.open('/app/keys')).text, /Expired/)
  })
})

describe('lists', () => {
  test('a search of links without a match suggests the nearest alias', async () => {
    const own = await newPlace(app)
    const browser = await signedIn(app, own.key)
    const { id } = await own.link({ alias: 'webinar' })
    const page = await browser.open('/app/links?search=webnar')
    assert.match(page.text, /Did you mean go\d+\.example(?::\d+)?\/webinar\?/)
    assert.ok(page.links.includes(`/app/links/${id}`))
    for (const query of ['search=nothing+like+it', 'search=webnar&status=expired', 'search=webnar&page=2']) {
      assert.doesNotMatch((await browser.open(`/app/links?${query}`)).text, /Did you mean/, query)
    }
    assert.match((await browser.open('/app/links?search=webnar&status=active')).text, /Did you mean/)
  })

  test('filter by the end of links and by idle links, and keep the page size', async () => {
    const own = await newPlace(app)
    const browser = await signedIn(app, own.key)
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

  test('search, filter, sort and paginate like the API', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Sales' })
    for (let at = 0; at < 27; at++) {
      await own.link({ alias: `a${100 + at}`, title: at % 2 ? 'Odd' : null, ...(at % 3 ? {} : { space_id: space.id }) })
    }
    const other = await signedIn(app, own.key)
    const queries = `page=2 search=odd search=odd&page=1 space_id=${space.id} space_id=0 status=active status=expired
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
    for (const query of ['page=0', 'sort=up', 'zzz=1', 'search=a&search=b', 'status=lost', 'per_page=7']) {
      const { status, page } = await other.get(`/app/links?${query}`)
      assert.equal(status, 422, query)
      assert.ok(page.text.includes('The URL of this page has an invalid value.'), query)
    }
  })
})

describe('figures', () => {
  test('equal the API, on pages and in the CSV file', async () => {
    const own = await furnish(app)
    const browser = await signedIn(app, own.key)
    const [link] = own.links
    const stats = async (query: string) => (await own.send('GET', `/stats?${query}`)).body
    for (const [path, subject] of [
      ['/app', ''],
      [`/app/links/${link.id}`, `&link_id=${link.id}`],
      [`/app/domains/${own.domain.id}`, `&domain_id=${own.domain.id}`],
      [`/app/spaces/${own.space.id}`, `&space_id=${own.space.id}`],
    ] as const) {
      const { meta } = await stats(`name=clicks${subject}`)
      const { root } = await browser.open(path)
      const numbersIn = (name: string, type: string) =>
        allOf(root, name, { class: type }).flatMap((list) =>
          allOf(list, 'dd').map((each) => Number.parseInt(textOf(each), 10)),
        )
      const allTime = path === `/app/links/${link.id}` ? [meta.clicks] : []
      assert.deepEqual(numbersIn('dl', 'figures'), [meta.clicks, meta.unique_clicks, ...allTime], path)
      const [bots, , previews] = numbersIn('details', 'uncounted')
      assert.deepEqual([bots, previews], [meta.bots, meta.previews], path)
    }
    const { data } = await stats(`name=clicks&link_id=${link.id}`)
    const file = await browser.get(`/app/links/${link.id}/clicks.csv`)
    assert.match(String(file.headers['content-disposition']), /^attachment; filename="[\w-]+-clicks\.csv"$/)
    const lines = data.map(({ start_at, ...counts }: Json) =>
      [start_at.slice(0, 10), ...Object.values(counts), 'UTC', start_at].join(','),
    )
    const head = 'Day,Clicks,Unique visitors,Bots,Previews,Time zone,Start (UTC)'
    assert.equal(file.text, `${[head, ...lines].join('\r\n')}\r\n`)
    const { text } = await browser.open(`/app/links/${link.id}`)
    for (const words of ['Germany', 'www.google.com', 'Chrome', 'German']) assert.ok(text.includes(words), words)
    for (const query of ['period=1y', 'from=2026-02-30', 'from=2026-02-02&to=2026-02-01', 'from=1960-01-01']) {
      const ofGroups = [`/app/domains/${own.domain.id}`, `/app/spaces/${own.space.id}`]
      for (const path of ['/app', `/app/links/${link.id}`, `/app/links/${link.id}/clicks.csv`, ...ofGroups]) {
        assert.equal((await browser.get(`${path}?${query}`)).status, 422, `${path}?${query}`)
      }
    }
  })

  test('compare up to five selected links', async () => {
    const own = await furnish(app)
    const browser = await signedIn(app, own.key)
    const [clicked, other] = own.links
    const selected = (links: readonly Json[]) => Object.fromEntries(links.map(({ id }) => [`row-${id}`, 'on']))
    const compare = async (links: readonly Json[]) =>
      browser.follow(await browser.post('/app/links/selected', { ...selected(links), what: 'compare', space_id: '' }))
    const two = await compare([clicked, other])
    assert.equal(two.page.heading, 'Compare 2 links')
    const [total] = allOf(two.page.root, 'tfoot')
    assert.deepEqual(total && allOf(total, 'td').map(textOf), ['1', '0'])
    const week = two.page.links.find((link) => link.includes('period=7d'))
    assert.equal(week, `/app/links/compare?ids=${clicked.id},${other.id}&period=7d`)
    assert.ok((await browser.open(`${week}&compare=year`)).links.includes(`${week}&compare=none`))
    assert.equal((await compare(own.links)).page.heading, 'Compare 5 links')
    const six = await compare([...own.links, await own.link()])
    assert.deepEqual([six.status, six.page.heading], [422, 'Compare links'])
    assert.match(six.page.text, /You selected 6 links\. Select at most 5/)
    for (const query of ['ids=x', 'ids=1,,2', 'ids=1&ids=2', `ids=${clicked.id}&compare=month`]) {
      assert.equal((await browser.get(`/app/links/compare?${query}`)).status, 422, query)
    }
    assert.match((await browser.open('/app/links/compare?ids=99999')).text, /These links no longer exist/)
    assert.match((await browser.open('/app/links/compare')).text, /Select links to compare/)
  })

  test('returns the same QR code as the API, as an image or a file', async () => {
    const link = await place.link()
    for (const query of ['', '?format=svg', '?format=png&size=256']) {
      const [of, same] = [
        await browser.get(`/app/links/${link.id}/qr${query}`),
        await place.send('GET', `/links/${link.id}/qr${query}`),
      ]
      assert.deepEqual([of.status, of.headers['content-type'], of.text], [200, same.headers['content-type'], same.text])
      assert.match(String(of.headers['content-disposition']), /^inline/)
    }
    const file = await browser.get(`/app/links/${link.id}/qr?download=1`)
    assert.equal(file.headers['content-disposition'], `attachment; filename="${link.alias}.svg"`)
    const { status, page } = await browser.get(`/app/links/${link.id}/qr?size=0`)
    assert.equal(status, 422)
    assert.match(page.text, /size/)
  })
})

describe('breakdowns', async () => {
  const own = await newPlace(app)
  const browser = await signedIn(app, own.key)
  const space = await own.stored('/spaces', { name: 'Summer' })
  const leaving = await own.stored('/domains', { name: `leaving.${own.domain.name}` })
  const links = [
    await own.link({ title: '=Summer sale', space_id: space.id }),
    await own.link({ domain_id: leaving.id }),
    await own.link(),
  ]
  const today = Math.floor(Date.now() / 86_400_000)
  const countries = ['DE', 'ES', 'FR', 'GB', 'IT', 'NL', 'PL', 'PT', 'SE', 'US', 'AT', 'BE']
  for (const [at, country] of countries.entries()) {
    await addClicks(app.storage, links[0].id, today, manyPeople(20 - at, 'countries', country))
  }
  for (const [at, { id }] of links.entries()) {
    await addClicks(app.storage, id, today, manyPeople(50 - at, 'referrers', '-x.example'))
  }
  await app.actions.domains.removeForNow(own.account, leaving.id)
  assert.equal((await own.send('DELETE', `/links/${links[2].id}`)).status, 204)
  const rowsOf = (page: Page, name = 'tr') =>
    allOf(page.root, name).map((row) => textOf(row).replace(/\s+/g, ' ').trim())

  test('show eight values, and the others in one row', async () => {
    const rows = rowsOf(await browser.open(`/app/links/${links[0].id}`), 'li')
    const at = rows.findIndex((row) => row.includes('Unknown'))
    assert.match(rows[at] ?? '', /50 clicks, /)
    assert.match(rows[at + 8] ?? '', /Others 55 clicks, /)
  })

  test('are listed whole in pages, which can be sorted and searched', async () => {
    const listed = async (query: string) => rowsOf(await browser.open(`/app/countries?${query}`)).slice(1)
    assert.equal((await listed('')).length, 13)
    assert.equal((await listed('per_page=10&page=2')).length, 3)
    assert.deepEqual(
      (await listed('sort_by=value&sort=asc'))
        .slice(0, 3)
        .join()
        .match(/[A-Z][a-z]+/g),
      ['Austria', 'Belgium', 'France'],
    )
    assert.match((await listed('search=GERM')).join(), /^\S* ?Germany206\.2%$/)
    const none = await browser.open(`/app/spaces/${space.id}/countries?search=atlantis&period=7d`)
    assert.match(none.text, /No countries match “atlantis”\./)
    assert.match(none.text, /can’t show which browsers came from which country/)
    assert.match((await browser.open('/app/countries?page=9')).text, /This page is empty/)
    assert.match((await browser.open('/app/countries?from=2020-01-01&to=2020-01-02')).text, /No clicks in this period/)
  })

  test('of links name links, their titles, and links without a page', async () => {
    const page = await browser.open('/app/top-links')
    const [, first, second, third] = rowsOf(page)
    assert.match(first ?? '', /=Summer sale/)
    assert.match(second ?? '', new RegExp(`leaving\\.${own.domain.name}`))
    assert.match(third ?? '', /Deleted link4815%/)
    const hrefs = allOf(page.root, 'a', { class: 'short-url cover' }).map(({ attributes }) => attributes.get('href'))
    assert.deepEqual(hrefs, [`/app/links/${links[0].id}`])
    assert.equal(rowsOf(await browser.open('/app/top-links?search=SUMMER')).length, 2)
    assert.match((await browser.open(`/app/domains/${own.domain.id}/top-links?search=leaving`)).text, /No links match/)
  })

  test('are files with the labels of the page and no formula', async () => {
    const file = async (path: string) => (await browser.get(path)).text.split('\r\n')
    assert.deepEqual((await file(`/app/links/${links[0].id}/countries.csv`)).slice(0, 3), [
      'Country,Clicks,Share',
      'Unknown,50,22.32%',
      'Germany,20,8.93%',
    ])
    assert.deepEqual(await file(`/app/spaces/${space.id}/referrers.csv`), [
      'Referrer,Clicks,Share',
      'Direct or unknown,174,77.68%',
      "'-x.example,50,22.32%",
      '',
    ])
    const [head, first, ...others] = await file('/app/top-links.csv')
    assert.deepEqual([head, others.slice(1)], ['Link,Title,Clicks,Share', ['Deleted link,,48,14.95%', '']])
    assert.match(first ?? '', /,'=Summer sale,224,69/)
  })

  test('422 for an invalid period or query, 404 for an unknown breakdown or record', async () => {
    const path = `/app/domains/${own.domain.id}`
    for (const query of ['period=1y', 'from=2026-02-30', 'sort_by=id', 'page=0', 'after=1', 'zzz=1']) {
      assert.equal((await browser.get(`${path}/browsers?${query}`)).status, 422, query)
    }
    for (const file of ['clicks', 'browsers']) {
      assert.equal((await browser.get(`${path}/${file}.csv?period=1y`)).status, 422)
      assert.equal((await browser.get(`/app/domains/${place.domain.id}/${file}.csv`)).status, 404)
    }
    for (const unknown of [
      `${path}/cities`,
      '/app/cities.csv',
      `/app/links/${links[0].id}/top-links`,
      '/app/spaces/0/browsers',
    ]) {
      assert.equal((await browser.get(unknown)).status, 404, unknown)
    }
  })
})

test('selects keep a selected domain or space beyond their limit', async () => {
  const many = await newPlace(app)
  const own = await signedIn(app, many.key)
  for (let n = 0; n < maxChoices; n += 25) {
    const some = Array.from({ length: 25 }, (_, index) => [
      many.stored('/domains', { name: `a${n + index}.${many.domain.name}` }),
      many.stored('/spaces', { name: `a${n + index}` }),
    ])
    await Promise.all(some.flat())
  }
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
  const blank = await own.open(`/app/links/new?domain_id=${domain.id}`)
  assert.equal(blank.value('domain_id'), String(domain.id))
  const { page: refused } = await own.submit(blank, '/app/links', { url: 'nope', space_id: String(space.id) })
  assert.deepEqual([refused.value('domain_id'), refused.value('space_id')], [String(domain.id), String(space.id)])
})
