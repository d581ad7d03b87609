/** Properties of all pages: redirects without a session, links and header fields. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Failure, overloaded } from '../../src/errors.ts'
import { Overload } from '../../src/http/overload.ts'
import { startApp } from '../app.ts'
import { stopClock } from '../clock.ts'
import { crawl } from '../crawl.ts'
import { Browser, signedIn, signedInMember } from '../dashboard.ts'
import { furnish } from '../dashboard-records.ts'
import { failing } from '../failing-storage.ts'
import { allOf, elementsIn, textOf } from '../html-page.ts'
import { loginToken } from '../members.ts'

const app = await startApp()
const open = [
  ...['/app/sign-in', '/app/sign-in/passkey/options', '/app/join', '/app/join/passkey-options'],
  '/app/static/:version/:name',
]
const declared = app.router.declared.filter(({ template }) => /^\/app(?:\/|$)/.test(template))
const pages = declared.filter(({ method, template }) => method === 'GET' && !open.includes(template))
const forms = declared.filter(({ method }) => method === 'POST')

function pathOf(template: string, id: number): string {
  return template.replace(':id', String(id)).replace('*', 'nowhere')
}

test('returns 429 with Retry-After above the session limit, without affecting other sessions', async (t) => {
  stopClock(t)
  const limited = await startApp({ rateLimit: 5 })
  const [busy, calm] = [await signedIn(limited), await signedIn(limited)]
  for (let left = 5; left > 0; left--) await busy.open('/app/spaces')
  const { status, headers, page } = await busy.get('/app/spaces')
  assert.deepEqual([status, Number(headers['retry-after']) > 0], [429, true])
  assert.match(textOf(page.root), /more requests in this minute than the server allows\. Try again in a minute\./)
  assert.equal((await busy.post('/app/spaces', { name: 'Late', color: '1' })).status, 429)
  assert.equal((await busy.post('/app/sign-out')).headers.location, '/app/sign-in')
  assert.doesNotMatch(textOf((await calm.open('/app/spaces')).root), /Late/)
})

describe('without a session', () => {
  test('redirects every page to the sign-in page, and back with the query after signing in', async () => {
    for (const [index, { template }] of pages.entries()) {
      const path = `${pathOf(template, 1)}${index === 0 ? '' : '?search=a%26b&x=%C3%BC'}`
      const browser = new Browser(app)
      const away = await browser.get(path)
      assert.deepEqual([away.status, away.headers.location], [303, `/app/sign-in?next=${encodeURIComponent(path)}`])
      if (index > 1) continue
      const { page } = await browser.follow(away)
      const back = await browser.submit(page, '/app/sign-in', { api_key: app.key, token: undefined })
      assert.deepEqual([back.status, back.headers.location], [303, path])
    }
  })

  test('redirects every form to the sign-in page and changes nothing', async () => {
    const before = await app.send('GET', '/api/v1/spaces')
    for (const { template } of forms.filter(({ template }) => !/sign-in|scheme$|join$/.test(template))) {
      const { status, headers } = await new Browser(app).post(pathOf(template, 1), { name: 'Intruder' })
      assert.deepEqual([status, headers.location], [303, '/app/sign-in'], template)
    }
    assert.deepEqual((await app.send('GET', '/api/v1/spaces')).body, before.body)
  })

  test('rejects a forged session or a key as a session', async () => {
    const browser = new Browser(app)
    for (const secret of ['', 'x', `wms_${'A'.repeat(43)}`, app.key, `wml_${'A'.repeat(43)}`]) {
      browser.cookies.set('waymark', secret)
      assert.equal((await browser.get('/app/links')).status, 303)
      assert.equal((await browser.get('/app/links', { key: app.key })).status, 303)
      browser.cookies.set('waymark', secret)
      assert.equal((await browser.post('/app/spaces', { name: 'x' }, { key: app.key })).status, 303)
    }
  })
})

describe('with a session', () => {
  test('every link opens a page, once for each set of parameters, and every form has a route', async () => {
    const { account } = await furnish(app)
    const browser = await signedInMember(app, { account })
    const found = await crawl(app, browser, { kindOf: (path) => path.replace(/(?<=^\/app\/\w+\/)\d+(?=\/)/, 'n') })
    assert.ok(found.pages.size > 60, `${found.pages.size} pages`)
    for (const { action } of found.forms) {
      const { pathname } = new URL(action, app.origin)
      const isRoute = forms.some(({ template }) => new RegExp(`^${template.replace(/:\w+/g, '\\d+')}$`).test(pathname))
      assert.ok(isRoute, `${pathname} has no route`)
    }
  })

  test('the navigation has content first, then settings, then a menu with the person’s or the key’s name', async () => {
    const browser = await signedIn(app)
    const navigationOf = async () => {
      const [rail] = allOf((await browser.open('/app/tags')).root, 'nav')
      assert.ok(rail)
      const [places, continued, others, menu] = allOf(rail, 'ul').map((list) => allOf(list, 'li').map(textOf))
      return { places, continued, others, menu, button: textOf(allOf(rail, 'button').at(1) ?? rail) }
    }
    const lists = {
      places: ['Overview', 'Links', 'Tags', 'Spaces'],
      continued: ['Domains'],
      others: ['History', 'People', 'Account', 'Docs', 'About'],
      menu: ['Profile', 'Keyboard shortcuts', 'Theme', 'Sign out'],
    }
    assert.deepEqual(await navigationOf(), { ...lists, button: 'test: menu' })
    const { storage, account } = app
    await browser.post('/app/sign-in', { token: await loginToken(storage, account, { name: 'Ána' }) })
    const others = ['History', 'People', 'API keys', 'Account', 'Docs', 'About']
    assert.deepEqual(await navigationOf(), { ...lists, others, button: 'Ána: menu' })
  })

  test('every file of a page is available, without a session too', async () => {
    const { root } = await new Browser(app).open('/app/sign-in')
    const files = elementsIn(root).flatMap(({ name, attributes }) =>
      name === 'a' || name === 'use' ? [] : [attributes.get('href') ?? attributes.get('src') ?? []].flat(),
    )
    assert.ok(files.some((file) => file.endsWith('.css')) && files.some((file) => file.endsWith('.js')))
    for (const file of files) {
      const { status, headers } = await new Browser(app).get(file)
      assert.equal(status, 200, file)
      const isOurs = file.startsWith('/app/static/')
      const keeping = isOurs ? 'public, max-age=31536000, immutable' : 'no-cache'
      assert.equal(headers['cache-control'], keeping, file)
      if (!isOurs) continue
      const ofAnother = await new Browser(app).get(file.replace(/\w+(?=\/[^/]+$)/, 'another'))
      assert.deepEqual([ofAnother.status, ofAnother.headers['cache-control']], [200, 'no-cache'])
      assert.match(String(headers['content-type']), /^(?:text\/css|text\/javascript|image\/svg\+xml)/)
    }
  })

  test('HEAD returns the same headers as GET, without a body', async () => {
    const browser = await signedIn(app)
    for (const path of ['/app', '/app/links', '/app/links/new', '/app/links.csv', '/app/links/99999']) {
      const [head, get] = [await browser.ask('HEAD', path, {}), await browser.get(path)]
      assert.deepEqual([head.status, head.text], [get.status, ''], path)
    }
  })
})

describe('returns a page with', () => {
  test('404 for an unknown page or file', async () => {
    const browser = await signedIn(app)
    const paths = ['1/nowhere', '0', 'x', '9'.repeat(40)].map((end) => `/app/links/${end}`)
    for (const path of [...paths, '/app/static/nowhere.css', '/app/static/x/nowhere.css'])
      assert.equal((await browser.get(path)).status, 404, path)
    assert.equal((await browser.post('/app/links/99999/delete')).status, 404)
  })

  test('303 to the page without the final slash of the path, even without a session', async () => {
    for (const [path, page] of [
      ['/app/', '/app'],
      ['/app/links/?search=a/', '/app/links?search=a/'],
      ['/app/links/1//', '/app/links/1'],
      ['/app/links/1/clicks.csv/', '/app/links/1/clicks.csv'],
      ['/app/join/', '/app/join'],
      ['/app//other.example/', '/app//other.example'],
    ] as const) {
      const { status, headers } = await new Browser(app).get(path)
      assert.deepEqual([status, headers.location], [303, page], path)
    }
  })

  test('422 that names an unknown or invalid parameter of the URL with its value', async () => {
    const browser = await signedIn(app)
    const [unknown, invalid] = ['This page doesn’t know the parameter', 'The URL of this page has an invalid value:']
    for (const [path, words] of [
      ['/app/links?page=0', `${invalid} page=0. The page must be an integer of 1 or more.`],
      ['/app/history?page=abc', `${invalid} page=abc. The page must be an integer of 1 or more.`],
      ['/app/links?sort=up', `${invalid} sort=up. The sort must be one of desc, asc.`],
      ['/app/links?search=%00', `${invalid} search=%00. The search field must not contain control characters`],
      ['/app/links?search=a&search=b', `${invalid} search. The search field must be sent once`],
      ['/app/links?status=lost', `${invalid} status=lost. The status must be `],
      ['/app/history?actor_id=3', `${invalid} actor. The actor field is required together with actor_id=3.`],
      ['/app/links?zzz=1', `${unknown} zzz=1. Remove it from the URL.`],
      ['/app/history?search=x', `${unknown} search=x. Remove it from the URL.`],
      ['/app/links?=x', `${unknown} =x. Remove it from the URL.`],
    ] as const) {
      const { status, page } = await browser.get(path)
      assert.equal(status, 422, path)
      assert.ok(page.text.includes(words), page.text)
    }
  })

  test('404 inside the frame, with a link to the list', async () => {
    const browser = await signedInMember(app)
    for (const [path, list, words] of [
      ['/app/links/99999', '/app/links', 'There is no such link. It may have been deleted.'],
      ['/app/domains/99999/delete', '/app/domains', 'There is no such domain. It may have been deleted.'],
      ['/app/spaces/99999?next=/app/links', '/app/spaces', 'There is no such space. It may have been deleted.'],
      ['/app/keys/99999/revoke', '/app/keys', 'There is no such key. It may have been deleted.'],
      ['/app/links/1/nowhere', '/app/links', 'Page not found'],
      ['/app/nowhere', '/app', 'Page not found'],
    ] as const) {
      const { status, page } = await browser.get(path)
      const [main] = allOf(page.root, 'main')
      assert.ok(main && page.links.includes('/app/profile'), path)
      const links = allOf(main, 'a').flatMap(({ attributes }) => attributes.get('href') ?? [])
      assert.deepEqual([status, links, page.text.split(words).length], [404, [list], 2], path)
    }
    const next = '/app/links?search=gone'
    assert.ok((await browser.post('/app/links/99999/disable', { next })).page.links.includes(next))
    assert.equal(app.logs.findLast(({ route }) => route === '/app/links/:id/disable')?.code, 'not_found')
  })

  test('405 with Allow; OPTIONS gets 204', async () => {
    const browser = await signedIn(app)
    for (const [method, path, allowed] of [
      ['POST', '/app/about', 'GET, HEAD, OPTIONS'],
      ['PATCH', '/app/links/1?x=1', 'GET, HEAD, POST, OPTIONS'],
      ['GET', '/app/scheme', 'POST, OPTIONS'],
      ['GET', '/app/none', null],
    ] as const) {
      const { status, headers, page } = await browser.ask(method, path, {})
      if (allowed === null) assert.equal(status, 404)
      else assert.deepEqual([status, headers.allow], [405, allowed], path)
      assert.ok(page.heading)
      assert.equal((await browser.ask('OPTIONS', path, {})).status, 204)
    }
  })

  test('400 for a malformed URL or form', async () => {
    const browser = await signedIn(app)
    for (const path of ['/app/%zz', '/app/links/%ff', '/app/links?search=%zz', '/app?a=%ff']) {
      assert.equal((await browser.get(path)).status, 400, path)
    }
    for (const form of ['name=%zz', 'name=%ff', Array.from({ length: 300 }, (_, at) => `f${at}=1`).join('&')]) {
      assert.equal((await browser.post('/app/spaces', {}, { form })).status, 400)
    }
    const { body } = await app.send('GET', '/api/v1/spaces')
    assert.deepEqual(body.data, [])
  })

  test('413 for a form of more than 160 KiB', async () => {
    const browser = await signedIn(app)
    const start = `page_account=${app.account}&name=`
    const form = (bytes: number) => start + 'x'.repeat(bytes - start.length)
    const { status, page } = await browser.post('/app/spaces', {}, { form: form(200 * 1024) })
    assert.equal(status, 413)
    assert.match(page.text, /160 KiB/)
    assert.equal((await browser.post('/app/spaces', {}, { form: form(160 * 1024 + 1) })).status, 413)
    const refused = await browser.post('/app/spaces', {}, { form: form(160 * 1024) })
    assert.equal(refused.status, 422)
    assert.equal(refused.page.value('name').length, 160 * 1024 - start.length)
  })

  test('503 with Retry-After during shutdown and under overload, without a session too', async (t) => {
    const stopping = await startApp()
    stopping.listener.isDraining = true
    for (const path of ['/app', '/app/nowhere', '/app/sign-in']) {
      const { status, headers, page } = await new Browser(stopping).get(path)
      assert.deepEqual([status, headers['retry-after'], headers.connection], [503, '1', 'close'])
      assert.match(page.text, /Try again/)
    }
    t.mock.method(Overload.prototype, 'refusal', () => overloaded('The server is overloaded.'))
    for (const [method, path] of [
      ['GET', '/app'],
      ['GET', '/app/sign-in'],
      ['POST', '/app/sign-in'],
      ['PUT', '/app/links'],
    ] as const) {
      const { status, headers, page } = await new Browser(app).ask(method, path, { seesOverload: true })
      assert.deepEqual([status, Number(headers['retry-after']) > 0, page.heading !== ''], [503, true, true], path)
    }
  })

  test('503 with Retry-After while the database is unavailable, without counting sign-in attempts', async () => {
    let fault: unknown
    const app = await startApp({ storage: failing(() => fault) })
    const browser = await signedIn(app)
    fault = new Failure('database_unavailable', 'The database does not answer.', { retryAfter: 1 })
    for (const path of ['/app', '/app/links', '/app/links/1/qr']) {
      const { status, headers, page } = await browser.get(path)
      assert.deepEqual([status, headers['retry-after']], [503, '1'])
      assert.match(page.text, /The database does not answer/)
    }
    for (let i = 0; i < 12; i++) {
      assert.equal((await browser.post('/app/sign-in', { token: `wml_${'A'.repeat(43)}` })).status, 503)
    }
    fault = undefined
    assert.equal((await browser.post('/app/sign-in', { api_key: app.key })).status, 303)
  })

  test('500 with only the request id, which the log explains', async () => {
    let fault: unknown
    const broken = await startApp({ expectsBugs: true, storage: failing(() => fault) })
    const browser = await signedIn(broken)
    fault = new TypeError('select secret from keys')
    for (const path of ['/app', '/app/links/1', '/app/keys']) {
      const { status, headers, page } = await browser.get(path)
      const id = String(headers['x-request-id'])
      assert.equal(status, 500)
      assert.ok(page.text.includes(id))
      assert.doesNotMatch(page.text, /select|TypeError|\.ts|node:/)
      assert.ok(broken.logs.some(({ request_id, level }) => request_id === id && level === 50))
    }
  })
})

test('a session grants no access to the API', async () => {
  const browser = await signedIn(app)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  for (const [method, path] of [
    ['GET', '/api/v1/links'],
    ['POST', '/api/v1/spaces'],
  ] as const) {
    assert.equal((await app.send(method, path, { key: null, headers })).status, 401, path)
  }
  const secret = browser.cookies.get('waymark') ?? ''
  assert.equal((await app.send('GET', '/api/v1/links', { key: secret })).status, 401)
})

test('other sites can use the API but cannot read pages', async () => {
  const origin = 'https://elsewhere.example'
  const browser = await signedIn(await startApp({ corsOrigins: [origin] }))
  for (const path of ['/app', '/app/nowhere', '/app/sign-in']) {
    for (const method of ['GET', 'OPTIONS', 'DELETE']) {
      const { headers } = await browser.ask(method, path, { headers: { origin } })
      assert.equal(headers['access-control-allow-origin'], undefined)
    }
  }
})
