/** Statistics: figures, comparisons, breakdowns and their files. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { newOwner, type Page, signedIn } from '../dashboard.ts'
import { furnish } from '../dashboard-records.ts'
import { addClicks, dayWith, manyPeople } from '../days.ts'
import { allOf, elementsIn, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()
const place = await newPlace(app)

describe('figures', () => {
  test('equal the API, on pages and in the CSV file', async () => {
    const own = await furnish(app)
    const browser = await signedIn(app, own.key)
    const [link] = own.links
    const stats = async (query: string) => (await own.send('GET', `/stats?${query}`)).body
    await own.send('PATCH', '/links/bulk', { json: { ids: own.links.map(({ id }) => id), add_tags: ['Counted'] } })
    const [tag] = (await own.send('GET', '/tags?search=counted')).body.data
    for (const [path, subject] of [
      ['/app', ''],
      [`/app/links/${link.id}`, `&link_id=${link.id}`],
      [`/app/domains/${own.domain.id}`, `&domain_id=${own.domain.id}`],
      [`/app/spaces/${own.space.id}`, `&space_id=${own.space.id}`],
      [`/app/tags/${tag.id}`, `&tag_id=${tag.id}`],
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
    const head = '\ufeffDay,Clicks,Unique visitors,Bots,Previews,Time zone,Start (UTC)'
    assert.equal(file.text, `${[head, ...lines].join('\r\n')}\r\n`)
    const { text } = await browser.open(`/app/links/${link.id}`)
    for (const words of ['Germany', 'www.google.com', 'Chrome', 'German']) assert.ok(text.includes(words), words)
    for (const { attributes } of elementsIn((await browser.open(`/app/tags/${tag.id}`)).root)) {
      assert.ok(!attributes.has('data-refresh') && !attributes.has('data-part'))
    }
    const ofTag = await browser.open(`/app/tags/${tag.id}/referrers?period=7d`)
    assert.match(ofTag.text, /Clicks on links with the tag Counted by referrer\..*www\.google\.com/)
  })

  test('name the uncounted bots and previews', async () => {
    const own = await newOwner(app)
    const { id } = await own.link()
    const today = Math.floor(Date.now() / 86_400_000)
    for (const [kind, words] of [
      ['people', 'No bots or previews'],
      ['bots', '1 bot not counted'],
      ['previews', '1 bot and 1 preview not counted'],
    ] as const) {
      await addClicks(app.storage, id, today, dayWith([{ hour: 0, kind }]))
      const { root } = await own.browser.open(`/app/links/${id}`)
      assert.deepEqual(
        allOf(root, 'details', { class: 'uncounted' }).map((each) => allOf(each, 'summary').map(textOf)),
        [[words]],
      )
    }
  })

  test('begin their chart with the link, the space, the domain, the tag and the account', async () => {
    const own = await newPlace(app)
    const browser = await signedIn(app, own.key)
    const space = await own.stored('/spaces', { name: 'New' })
    const { id } = await own.link({ space_id: space.id, tags: ['New'] })
    const [tag] = (await own.send('GET', '/tags')).body.data
    await addClicks(app.storage, id, Math.floor(Date.now() / 86_400_000), manyPeople(3, 'devices', 'mobile'))
    const subjects = ['', `/links/${id}`, `/spaces/${space.id}`, `/domains/${own.domain.id}`, `/tags/${tag.id}`]
    for (const path of [...subjects, `/links/compare?ids=${id}`]) {
      const { root } = await browser.open(`/app${path}`)
      const chart = allOf(root, 'table').find((table) => textOf(table).startsWith('Hour (UTC)'))
      assert.ok(chart && allOf(chart, 'tr').length <= 26, path)
    }
  })

  test('compare up to five selected links', async () => {
    const own = await furnish(app)
    const browser = await signedIn(app, own.key)
    const [clicked, other] = own.links
    const selected = (links: readonly Json[]) => Object.fromEntries(links.map(({ id }) => [`row-${id}`, 'on']))
    const compare = async (links: readonly Json[]) => {
      const answer = await browser.post('/app/links/selected', { ...selected(links), what: 'compare', to: '' })
      return answer.status === 303 ? browser.follow(answer) : answer
    }
    const two = await compare([clicked, other])
    assert.equal(two.page.heading, 'Compare 2 links')
    const [total] = allOf(two.page.root, 'tfoot')
    assert.deepEqual(total && allOf(total, 'td').map(textOf), ['1', '0'])
    const week = two.page.links.find((link) => link.includes('period=7d'))
    assert.equal(week, `/app/links/compare?ids=${clicked.id},${other.id}&period=7d`)
    const file = await browser.get(`/app/links/compare/clicks.csv?ids=${clicked.id},${other.id}&period=7d`)
    assert.match(String(file.headers['content-disposition']), /filename="comparison\.csv"/)
    const [head, ...rows] = file.text.trimEnd().split('\r\n')
    const names = [clicked, other].map(({ short_url }) => short_url.replace('http://', ''))
    assert.equal(head, `\ufeffDay,${names},Time zone,Start (UTC)`)
    assert.deepEqual([rows.length, rows.at(-1)?.replace(/^[^,]+,|,UTC.*/g, '')], [7, '1,0'])
    assert.ok((await browser.open(`${week}&compare=year`)).links.includes(`${week}&compare=none`))
    assert.equal((await compare(own.links)).page.heading, 'Compare 5 links')
    const six = await compare([...own.links, await own.link()])
    assert.deepEqual([six.status, six.page.heading], [422, 'Compare links'])
    const all = own.links.map(({ id }) => id).join(',')
    assert.equal((await browser.get(`/app/links/compare?ids=${all},99999`)).status, 422)
    assert.match(six.page.text, /You selected 6 links\. Select at most 5/)
    for (const query of ['ids=x', 'ids=1,,2', 'ids=1&ids=2', `ids=${clicked.id}&compare=month`]) {
      assert.equal((await browser.get(`/app/links/compare?${query}`)).status, 422, query)
      assert.equal((await browser.get(`/app/links/compare/clicks.csv?${query}`)).status, 422, query)
    }
    assert.match((await browser.open('/app/links/compare?ids=99999')).text, /These links no longer exist/)
    assert.match((await browser.open('/app/links/compare')).text, /Select links to compare/)
  })
})

describe('breakdowns', async () => {
  const { browser, ...own } = await newOwner(app)
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
  const gone = [`/domains/${leaving.id}?links=delete`, `/links/${links[2].id}`]
  for (const path of gone) assert.equal((await own.send('DELETE', path)).status, 204)
  const rowsOf = (page: Page, name = 'tr') =>
    allOf(page.root, name).map((row) => textOf(row).replace(/\s+/g, ' ').trim())

  test('compare periods in the file as in the table', async () => {
    const { id } = await own.link()
    await addClicks(app.storage, id, today, manyPeople(3, 'devices', 'tv'))
    await addClicks(app.storage, id, today - 7, manyPeople(2, 'devices', 'tv'))
    const { text } = await browser.get(`/app/links/${id}/clicks.csv?period=7d`)
    const [head, ...rows] = text.trimEnd().split('\r\n')
    assert.match(head ?? '', /^\ufeffDay,Clicks,Unique visitors,Bots,Previews,Clicks in the previous period,Time zone,/)
    // Pages compare a running day up to the current hour.
    const { root } = await browser.open(`/app/links/${id}?period=7d`)
    const table = allOf(root, 'table').find((each) => textOf(each).startsWith('Day'))
    assert.ok(table)
    const shown = allOf(table, 'tr')
      .slice(1, -1)
      .map((row) => allOf(row, 'td').map(textOf).join())
    assert.deepEqual(
      rows.map((row) => row.split(',').slice(1, 6).join()),
      shown,
    )
    const none = await browser.get(`/app/links/${id}/clicks.csv?period=7d&compare=none`)
    assert.match(none.text, /^\ufeffDay,Clicks,Unique visitors,Bots,Previews,Time zone,/)
    assert.equal((await own.send('DELETE', `/links/${id}/clicks`)).status, 204)
  })

  test('show eight values, and the others in one row', async () => {
    const rows = rowsOf(await browser.open(`/app/links/${links[0].id}`), 'li')
    const at = rows.findIndex((row) => row.includes('Unknown'))
    assert.match(rows[at] ?? '', /50 clicks, /)
    assert.match(rows[at + 8] ?? '', /Others 55 clicks, /)
    // One more value takes as much room as "Others".
    const { id } = await own.link()
    for (let n = 0; n < 9; n++) await addClicks(app.storage, id, today, manyPeople(1, 'countries', countries[n] ?? ''))
    const page = await browser.open(`/app/links/${id}`)
    assert.equal(rowsOf(page, 'li').filter((row) => /^(?!Others).*1 click, 11%/.test(row)).length, 9)
    assert.equal((await own.send('DELETE', `/links/${id}/clicks`)).status, 204)
  })

  test('of a link have its rules first, if it has any or they decided clicks, with a page and a file', async () => {
    const own = await newPlace(app)
    const browser = await signedIn(app, own.key)
    const { id } = await own.link()
    const path = `/app/links/${id}`
    const isShown = async () => (await browser.open(path)).links.some((href) => href.startsWith(`${path}/rules?`))
    await addClicks(app.storage, id, today, manyPeople(1, 'devices', 'tv'))
    assert.equal(await isShown(), false)
    const rules = [{ name: 'Test', urls: [1, 3].map((weight) => ({ url: `https://acme.com/${weight}`, weight })) }]
    assert.equal((await own.send('PATCH', `/links/${id}`, { json: { rules } })).status, 200)
    assert.match(rowsOf(await browser.open(path), 'li').join(), /The link’s destination 1 click, 100%,/)
    await addClicks(app.storage, id, today, manyPeople(3, 'rules', 'Test 2'))
    assert.equal((await own.send('PATCH', `/links/${id}`, { json: { rules: [] } })).status, 200)
    assert.match(
      rowsOf(await browser.open(path), 'li').join(),
      /Test 2 3 clicks, 75%,The link’s destination 1 click, 25%,.*TV/,
    )
    assert.deepEqual(rowsOf(await browser.open(`${path}/rules`)).slice(1), ['Test 2375%', 'The link’s destination125%'])
    const { text } = await browser.get(`${path}/rules.csv`)
    assert.equal(text, '\ufeffRule,Clicks,Share\r\nTest 2,3,75%\r\nThe link’s destination,1,25%\r\n')
    await addClicks(app.storage, id, today, manyPeople(4, 'rules', 'other'))
    assert.equal(rowsOf(await browser.open(`${path}/rules`))[1], 'other450%')
    for (const other of ['/app', `/app/domains/${own.domain.id}`]) {
      assert.equal((await browser.get(`${other}/rules`)).status, 404)
    }
  })

  test('of the overview have spaces, links without one, and domains', async () => {
    const own = await newPlace(app)
    const other = await own.stored('/domains', { name: `other.${own.domain.name}` })
    const [space, empty] = [
      await own.stored('/spaces', { name: 'Busy' }),
      await own.stored('/spaces', { name: 'Idle' }),
    ]
    for (const [at, fields] of [{ space_id: space.id }, {}, { domain_id: other.id }].entries()) {
      await addClicks(app.storage, (await own.link(fields)).id, today, manyPeople(at + 1, 'devices', 'mobile'))
    }
    const page = await (await signedIn(app, own.key)).open('/app?period=7d')
    const rows = rowsOf(page, 'li').join()
    assert.match(rows, /No space 5 clicks, 83%,Busy 1 click, 17%,other\.\S+ 3 clicks, 50%,go\S+ 3 clicks, 50%/)
    const hrefs = allOf(page.root, 'a', { class: 'cover' }).map(({ attributes }) => attributes.get('href'))
    assert.ok(
      hrefs.includes(`/app/spaces/${space.id}?period=7d`) && hrefs.includes(`/app/domains/${other.id}?period=7d`),
    )
    assert.ok(!hrefs.includes(`/app/spaces/${empty.id}?period=7d`))
  })

  test('of the overview have the top spaces and domains among many, and pages with all of them in the same period', async () => {
    const own = await newPlace(app)
    for (let n = 1; n <= 33; n++) {
      const space = await own.stored('/spaces', { name: `Space ${n}` })
      const domain = await own.stored('/domains', { name: `d${n}.${own.domain.name}` })
      const { id } = await own.link({ space_id: space.id, domain_id: domain.id })
      await addClicks(app.storage, id, today - 40, manyPeople(n, 'devices', 'mobile'))
    }
    const browser = await signedIn(app, own.key)
    const page = await browser.open('/app?period=90d')
    const rows = rowsOf(page, 'li').join()
    const top = (name: string) => `${name}33 33 clicks, 5\\.9%,.*${name}26 26 clicks, 4\\.6%,Others 325 clicks, 58%`
    assert.match(rows, new RegExp(`${top('Space ')}.*${top('d').replaceAll(' ', '\\S* ')}`))
    for (const [what, name] of [
      ['spaces', 'Space 7'],
      ['domains', `d7.${own.domain.name}`],
    ]) {
      const href = `/app/top-${what}?period=90d`
      assert.ok(page.links.includes(href), href)
      assert.equal(rowsOf(await browser.open(`${href}&per_page=50`)).length, 34)
      const [, ...found] = rowsOf(await browser.open(`${href}&search=${encodeURIComponent(String(name))}`))
      assert.deepEqual(found, [`${name}71.2%`])
      const file = await browser.get(`/app/top-${what}.csv?period=90d`)
      assert.ok(file.text.includes(`\r\n${name},7,1.25%\r\n`), file.text)
    }
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

  test('of links name links and their titles, and show deleted links', async () => {
    const page = await browser.open('/app/top-links')
    const [, first, second, third] = rowsOf(page)
    assert.match(first ?? '', /=Summer sale/)
    assert.match(second ?? '', /Deleted link4915%/)
    assert.match(third ?? '', /Deleted link4815%/)
    const hrefs = allOf(page.root, 'a', { class: 'short-url cover' }).map(({ attributes }) => attributes.get('href'))
    assert.deepEqual(hrefs, [`/app/links/${links[0].id}`])
    assert.equal(rowsOf(await browser.open('/app/top-links?search=SUMMER')).length, 2)
    assert.match((await browser.open(`/app/domains/${own.domain.id}/top-links?search=leaving`)).text, /No links match/)
  })

  test('of referrers open the links visited from one', async () => {
    const page = await browser.open(`/app/domains/${own.domain.id}?period=7d`)
    const href = `/app/domains/${own.domain.id}/referrers/-x.example/links?period=7d`
    assert.ok(allOf(page.root, 'a').some(({ attributes }) => attributes.get('href') === href))
    const [, first, others] = rowsOf(await browser.open(href))
    assert.match(first ?? '', /=Summer sale5051%$/)
    assert.match(others ?? '', /^Others4849%$/)
    const file = (await browser.get(href.replace('links?', 'links.csv?'))).text.split('\r\n')
    assert.deepEqual([file[0], file[2]], ['\ufeffLink,Title,Clicks,Share', 'Others,,48,48.98%'])
    const none = await browser.open(`/app/spaces/${space.id}/referrers/nowhere.example/links`)
    assert.match(none.text, /No clicks in this period/)
    const direct = await browser.open(`/app/domains/${own.domain.id}/referrers/-/links?period=7d`)
    assert.match(direct.text, /Links visited directly or from unknown pages/)
    assert.equal(rowsOf(direct).length, 2)
    for (const host of ['other', 'a%2Fb', 'A', "'"]) {
      assert.equal((await browser.get(`/app/referrers/${host}/links`)).status, 404, host)
    }
  })

  test('are files with the page’s labels and no formula', async () => {
    const file = async (path: string) => (await browser.get(path)).text.split('\r\n')
    assert.deepEqual((await file(`/app/links/${links[0].id}/countries.csv`)).slice(0, 3), [
      '\ufeffCountry,Clicks,Share',
      'Unknown,50,22.32%',
      'Germany,20,8.93%',
    ])
    assert.deepEqual(await file(`/app/spaces/${space.id}/referrers.csv`), [
      '\ufeffReferrer,Clicks,Share',
      'Direct or unknown,174,77.68%',
      "'-x.example,50,22.32%",
      '',
    ])
    const [head, first, ...others] = await file('/app/top-links.csv')
    assert.deepEqual([head, others.slice(1)], ['\ufeffLink,Title,Clicks,Share', ['Deleted link,,48,14.95%', '']])
    assert.match(first ?? '', /,'=Summer sale,224,69/)
  })

  test('422 for an invalid period or query, 404 for an unknown breakdown or record', async () => {
    const [path, link] = [`/app/domains/${own.domain.id}`, `/app/links/${links[0].id}`]
    for (const query of ['period=1y', 'from=2026-02-30', 'from=2026-02-02&to=2026-02-01', 'from=1960-01-01']) {
      const pages = ['/app', link, path, `/app/spaces/${space.id}`, `${path}/browsers`]
      for (const page of [...pages, `${link}/clicks.csv`, `${path}/browsers.csv`, '/app/referrers/t.co/links.csv'])
        assert.equal((await browser.get(`${page}?${query}`)).status, 422, `${page}?${query}`)
    }
    for (const query of ['sort_by=id', 'page=0', 'after=1', 'zzz=1'])
      assert.equal((await browser.get(`${path}/browsers?${query}`)).status, 422, query)
    const foreign = `/app/domains/${place.domain.id}`
    const ofOthers = [`${foreign}/clicks.csv`, `${foreign}/browsers.csv`, `${foreign}/referrers/t.co/links`]
    const unknown = [`${path}/cities`, '/app/cities.csv', `${link}/top-links`, '/app/spaces/0/browsers']
    for (const each of [...ofOthers, ...unknown]) assert.equal((await browser.get(each)).status, 404, each)
  })
})
