/** Notices and color schemes in cookies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../src/access/actor.ts'
import { startApp } from '../app.ts'
import { Browser, type Form, newOwner, signedIn, signedInMember } from '../dashboard.ts'
import { furnish } from '../dashboard-records.ts'
import { addClicks, dayWith } from '../days.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'
import { eventually } from '../processes.ts'

const app = await startApp()
const notice = 'waymark_notice'
const offer = 'waymark_undo'
const undo = '/app/history/undo'

test('shows a notice once, on the next successful page', async () => {
  const browser = await signedIn(app)
  const { headers } = await browser.post('/app/spaces', { name: 'Sales' })
  assert.ok(browser.cookies.has(notice))
  assert.equal((await browser.get('/app/nowhere')).status, 404)
  assert.equal((await browser.ask('HEAD', '/app', {})).status, 200)
  const first = await browser.open(String(headers.location))
  assert.match(first.said.join(), /^Created the space Sales\./)
  assert.ok(!browser.cookies.has(notice))
  browser.cookies.delete(offer)
  assert.deepEqual((await browser.open(String(headers.location))).said, [])
})

test('a page that refreshes itself shows no notice, and gets 304 while it is unchanged', async () => {
  const browser = await signedIn(app)
  await browser.post('/app/spaces', { name: 'Refreshed' })
  const headers = { 'x-refresh': '1' }
  const { status, headers: sent, page } = await browser.get('/app', { headers })
  const etag = String(sent.etag)
  assert.deepEqual([status, page.said], [200, []])
  const same = await browser.get('/app', { headers: { ...headers, 'if-none-match': etag } })
  assert.deepEqual([same.status, same.text], [304, ''])
  const own = await furnish(app)
  const busy = await signedIn(app, own.key)
  const path = `/app/links/${own.links[0].id}`
  const clicked = await busy.get(path, { headers })
  const isSame = async (path: string) =>
    (await busy.get(path, { headers: { ...headers, 'if-none-match': String(clicked.headers.etag) } })).status === 304
  assert.deepEqual([await isSame(path), await isSame(`${path}?period=7d`)], [true, false])
  const today = Math.floor(Date.now() / 86_400_000)
  await addClicks(app.storage, own.links[0].id, today, dayWith([{ hour: 0, kind: 'bots' }]))
  assert.equal(await isSame(path), false)
  const other = await browser.get('/app?period=7d', { headers: { ...headers, 'if-none-match': '"other"' } })
  assert.equal(other.status, 200)
  assert.equal((await browser.get('/app', { headers: { 'if-none-match': etag } })).status, 200)
  assert.equal((await browser.get('/app', { headers: { ...headers, 'if-none-match': 'x' } })).status, 400)
  assert.ok(!browser.cookies.has(notice))
})

test('shows warnings about a saved link next to its values, with the way to change them', async () => {
  const { browser, ...own } = await newOwner(app)
  const { id: other, short_url } = await own.link({ alias: 'summer' })
  const created = await browser.post('/app/links', { url: 'https://www.acme.con/x', domain_id: String(own.domain.id) })
  const path = String(created.headers.location)
  const page = await browser.after(created)
  assert.match(page.said.join(), /^Created \S+\. Create another Undo Dismiss$/)
  assert.deepEqual(page.cautions, [
    'Check the destination: www.acme.con ends in “.con”, which isn’t a known top-level domain. Edit',
  ])
  assert.ok(page.links.includes(`${path}/edit#field-url`))
  const save = async (fields: Form) => (await browser.save(`${path}/edit`, fields, path)).cautions
  assert.match((await save({ url: short_url })).join(), /^Check .*\/summer is one of your own short links\. Edit$/)
  const many = {
    url: 'https://acme.com',
    expiration_url: 'http://acme.con',
    title: 'MÃ¼nchen',
    notes: 'CafÃ©',
    tags: 'Ã¶',
  }
  assert.deepEqual(
    (await save(many)).map((sentence) => sentence.split(' ')[0]),
    ['“MÃ¼nchen”', 'Check', '“Ã¶”', '“CafÃ©”'],
  )
  const foreign = (await (await newPlace(app)).link({ alias: 'summer' })).short_url
  const fine = ['https://acme.com', 'http://localhost/', 'http://10.0.0.8/', 'http://wiki/', `${short_url}s`, foreign]
  for (const url of fine) {
    assert.deepEqual(await save({ url, expiration_url: '', title: '', notes: '', tags: '' }), [], url)
  }
  assert.equal((await own.send('GET', `/links/${other}`)).body.data.status, 'active')
})

test('shows warnings about rows of an import on its plan, and on its result with links to change them', async () => {
  const { browser, ...own } = await newOwner(app)
  const text = `short_url,url,title\n${own.domain.name}/a,https://acme.con/?a&amp;b,CafÃ©`
  const answer = await browser.post('/app/import', { text })
  const path = String(answer.headers.location)
  const warned = async () => textOf(allOf((await browser.open(path)).root, 'section', { id: 'rows' })[0] as never)
  const expected = /copied from HTML\. Write & instead of &amp;\..*"\.con", which.*probably means "Café"/
  assert.match(await warned(), expected)
  await own.send('POST', `${path.replace('/app/import', '/imports')}/apply`)
  await eventually(async () => {
    const [link] = (await own.send('GET', '/links')).body.data
    return link !== undefined && (await browser.open(path)).links.includes(`/app/links/${link.id}/edit`)
  })
  assert.match(await warned(), expected)
})

test('offers to create another link on the same domain, in the same space', async () => {
  const { browser, ...own } = await newOwner(app)
  const domain = await own.stored('/domains', { name: `second.${own.domain.name}` })
  const space = await own.stored('/spaces', { name: 'Sales' })
  const fields = { domain_id: String(domain.id), space_id: String(space.id) }
  const page = await browser.after(await browser.post('/app/links', { url: 'https://acme.com', ...fields }))
  const another = `/app/links/new?${new URLSearchParams(fields)}`
  assert.ok(page.links.includes(another), page.links.join())
  assert.partialDeepStrictEqual((await browser.open(another)).form('/app/links'), { url: '', ...fields })
})

test('keeps an offer to undo a change on the following pages, next to other notices, until it is used', async () => {
  const { browser, ...own } = await newOwner(app)
  const [link, other] = [await own.link(), await own.link()]
  await browser.post(`/app/links/${link.id}/delete`)
  for (const path of ['/app/links', '/app', '/app/about', '/app/links/new']) {
    const { said, actions } = await browser.open(path)
    assert.match(said.join(), /^Deleted \S+\. Undo Dismiss$/)
    assert.ok(actions.includes(undo), path)
  }
  const selected = { what: 'delete', [`row-${other.id}`]: 'on' }
  const question = await browser.post('/app/links/selected', selected)
  assert.deepEqual([question.page.heading, question.page.said], ['Delete 1 link?', []])
  const key = (await app.issueKey({ account: own.account })).key.id
  await browser.post(`/app/keys/${key}/revoke`)
  const both = await browser.open('/app/spaces')
  assert.match(both.said.join(), /^Revoked the API key .*\.,Deleted \S+\. Undo Dismiss$/)
  const back = await browser.submit(both, undo)
  assert.equal(back.headers.location, '/app/spaces')
  assert.ok(!browser.cookies.has(offer))
  assert.match((await browser.after(back)).said.join(), /^Change undone\. Restored \S+\.$/)
  assert.deepEqual((await browser.open('/app')).said, [])
})

test('keeps an offer when a link is saved without a change, or enabled while it is enabled', async () => {
  const { browser, ...own } = await newOwner(app)
  const [edited, other] = [await own.link({ alias: 'summer' }), await own.link({ alias: 'winter' })]
  const pathOf = ({ id }: { id: number }) => `/app/links/${id}`
  const save = (path: string, fields = {}) => browser.save(`${path}/edit`, fields, path)
  const post = async (path: string, fields = {}) => browser.after(await browser.post(path, fields))
  await save(pathOf(edited), { title: 'New' })
  const unmoved = { what: 'move', [`row-${other.id}`]: 'on', to: 'space-0' }
  for (const change of [
    () => save(pathOf(edited)),
    () => post(`${pathOf(other)}/enable`),
    () => post('/app/links/selected', unmoved),
  ]) {
    const { said, actions } = await change()
    assert.match(said.join(), /^Nothing was changed\.,Set the title of \S+\/summer\. Undo Dismiss$/)
    assert.ok(actions.includes(undo))
  }
})

test('offers to undo the last change next to the notice that nothing was changed', async () => {
  const { browser, ...own } = await newOwner(app)
  const pairs = await Promise.all(
    [false, true].map((archived) => Promise.all([1, 2].map(() => own.link({ archived })))),
  )
  const archive = async (links: readonly { id: number }[]) => {
    const rows = Object.fromEntries(links.map(({ id }) => [`row-${id}`, 'on']))
    return (await browser.after(await browser.post('/app/links/selected', { what: 'archive', ...rows }))).said.join()
  }
  const text = 'Archived 2 links. Archived links keep working. Undo Dismiss'
  assert.equal(await archive(pairs[0] ?? []), text)
  assert.equal(await archive(pairs[1] ?? []), `Nothing was changed.,${text}`)
})

test('ends an offer when it is dismissed, or the change is undone elsewhere', async () => {
  const own = await newPlace(app)
  const browser = await signedIn(app, own.key)
  const link = await own.link()
  const remove = () => browser.post(`/app/links/${link.id}/delete`)
  await remove()
  const dismissed = await browser.submit(await browser.open('/app/links?search=x'), '/app/dismiss')
  assert.equal(dismissed.headers.location, '/app/links?search=x')
  assert.deepEqual((await browser.after(dismissed)).said, [])
  const [{ id, batch_id }] = (await own.send('GET', '/events?type=link.deleted')).body.data
  browser.cookies.set(offer, batch_id)
  assert.match((await browser.open('/app')).said.join(), /Undo/)
  await own.send('POST', `/events/${id}/undo`)
  assert.deepEqual((await browser.open('/app')).said, [])
  assert.ok(!browser.cookies.has(offer))
})

test('shows a warning if nothing was changed', async () => {
  const browser = await signedIn(app)
  const classes = async (value: string) => {
    browser.cookies.set(notice, value)
    const { root } = await browser.open('/app/about')
    return allOf(root, 'div', { role: 'status' }).map(({ attributes }) => attributes.get('class'))
  }
  assert.deepEqual(await classes('x.profile-saved.0'), ['notice done'])
  for (const value of ['x', '.links-stayed.0', '.domain-not-reached.0', 'x.stayed.1'])
    assert.deepEqual(await classes(value), ['notice warning'])
})

test('a forged cookie cannot add text to a page', async () => {
  const browser = await signedIn(app)
  const plain = await browser.open('/app/about')
  const forged = `. .x x. x.y x.y.1 .profile-saved .profile-saved. .profile-saved.x .profile-saved.-1 x.profile-saved.1.2
    x.toString.1 x.__proto__.1 .constructor.0 <script>alert(1)</script> x.<b>.1 .profile-saved.1e9 "x.profile-saved.1"
    %73.profile-saved.1 x.PROFILE-SAVED.1 ${'x'.repeat(65)}`
  for (const value of ['', ...forged.split(/\s+/)]) {
    browser.cookies.set(notice, value)
    browser.cookies.set(offer, value)
    const page = await browser.open('/app/about')
    assert.deepEqual([page.said, page.text], [plain.said, plain.text], value)
    assert.ok(!browser.cookies.has(notice) && !browser.cookies.has(offer))
  }
  browser.cookies.set(notice, `x.sessions-ended.${'9'.repeat(16)}`)
  assert.match((await browser.open('/app/about')).said.join(), /^0 sessions ended\.$/)
})

test('a cookie cannot show a change of another account', async () => {
  const [own, other] = [await newPlace(app), await newPlace(app)]
  const browser = await signedIn(app, own.key)
  const removed = await other.link({ alias: 'others-removed' })
  await app.actions.links.remove(systemActor(other.account), removed.id, {}, null)
  const [event] = (await other.send('GET', '/events?type=link.deleted')).body.data
  for (const [cookie, said] of [
    [offer, []],
    [notice, ['Nothing was changed.']],
  ] as const) {
    browser.cookies.set(cookie, event.batch_id)
    const page = await browser.open('/app/about')
    assert.deepEqual(page.said, said)
    assert.doesNotMatch(page.text, /others-/)
  }
})

test('a cookie cannot show a change of someone else in the account', async () => {
  const own = await newPlace(app)
  const browser = await signedInMember(app, { account: own.account, role: 'viewer' })
  const { id } = await own.link({ alias: 'others-link' })
  await own.send('DELETE', `/links/${id}`)
  const [{ batch_id }] = (await own.send('GET', '/events?type=link.deleted')).body.data
  for (const [cookie, value] of [
    [offer, batch_id],
    [notice, batch_id],
    [notice, `${batch_id}.profile-saved.0`],
  ]) {
    browser.cookies.set(cookie, value)
    const page = await browser.open('/app/about')
    assert.deepEqual(page.said, [])
    assert.ok(!browser.cookies.has(cookie))
  }
})

test('keeps the color scheme, on the sign-in page too, and ignores unknown values', async () => {
  const browser = new Browser(app)
  const schemeOf = async () => (await browser.open('/app/sign-in')).root.attributes.get('data-scheme')
  assert.equal(await schemeOf(), undefined)
  for (const [sent, kept] of [
    ['dark', 'dark'],
    ['light', 'light'],
    ['system', undefined],
    ['dark"><b>', undefined],
    ['', undefined],
  ] as const) {
    const { headers } = await browser.post('/app/scheme', { scheme: sent, next: '/app/links?page=2' })
    assert.equal(headers.location, '/app/links?page=2')
    assert.equal(await schemeOf(), kept)
  }
  browser.cookies.set('waymark_scheme', '"><script>')
  assert.equal(await schemeOf(), undefined)
  assert.equal((await browser.post('/app/scheme', { scheme: 'dark', next: '//evil.example' })).headers.location, '/app')
  assert.equal((await browser.post('/app/scheme', {}, { form: 'scheme=%zz' })).status, 400)
})

test('names the links that end soon or ended recently, until dismissed; a later end shows the notice again', async () => {
  const [own, other] = [await newPlace(app), await newPlace(app)]
  const browser = await signedIn(app, own.key)
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const endsIn = async (days: number, alias: string) =>
    (await own.link({ alias, active_period_end_at: inDays(days) })).id as number
  const noticeOf = async (path = '/app') => {
    const { root } = await browser.open(path)
    const [section] = allOf(root, 'section').filter(({ attributes }) =>
      /\bending\b/.test(attributes.get('class') ?? ''),
    )
    return section && textOf(section).replaceAll(/go\d+\.example(:\d+)?/g, '')
  }
  await other.link({ active_period_end_at: inDays(1) })
  await own.link({ alias: 'later', active_period_end_at: inDays(8) })
  assert.equal(await noticeOf(), undefined)
  const first = await endsIn(1.1, 'first')
  assert.equal(await noticeOf(), '1 link ends within 7 days: /first in 1 day. Dismiss')
  for (const day of [5.1, 3.1, 4.1]) await endsIn(day, `in-${Math.floor(day)}`)
  for (const day of [2.1, 6.1]) await endsIn(-day, `over-${Math.floor(day)}`)
  assert.equal(
    await noticeOf('/app?period=7d'),
    '4 links end within 7 days: /first in 1 day, /in-3 in 3 days, /in-4 in 4 days, and 1 more.' +
      '2 links ended in the last 7 days: /over-2 2 days ago, /over-6 6 days ago. Dismiss',
  )
  const page = await browser.open('/app?period=7d')
  assert.ok([`/app/links/${first}`, '/app/links?status=ending'].every((href) => page.links.includes(href)))
  const dismissed = await browser.submit(page, '/app/dismiss-ending')
  assert.equal(dismissed.headers.location, '/app?period=7d')
  assert.equal(await noticeOf(), undefined)
  await endsIn(2.1, 'new')
  assert.equal(await noticeOf(), '1 link ends within 7 days: /new in 2 days. Dismiss')
  // A time in the future would hide later links.
  await browser.post('/app/dismiss-ending', { shown_at: '9'.repeat(15) })
  await endsIn(2.2, 'newest')
  assert.equal(await noticeOf(), '1 link ends within 7 days: /newest in 2 days. Dismiss')
  for (const value of [`${other.account}.${Date.now()}`, `${'9'.repeat(15)}.${'9'.repeat(15)}`, 'x']) {
    browser.cookies.set('waymark_endings', value)
    assert.match((await noticeOf()) ?? '', /^6 links/, value)
  }
  await browser.post('/app/dismiss-ending', { shown_at: 'x' })
  assert.match((await noticeOf()) ?? '', /^6 links/)
})
