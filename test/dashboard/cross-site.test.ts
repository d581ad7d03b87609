/** Forms posted from another site change nothing, on every POST route. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listKeys } from '../../src/keys/store.ts'
import { insertLoginToken, listSessions } from '../../src/sessions/store.ts'
import { type StartOptions, startApp, type TestApp } from '../app.ts'
import type { Json } from '../client.ts'
import { Browser, type Form, signedIn } from '../dashboard.ts'
import { type Furnished, furnish } from '../dashboard-records.ts'

type Headers = Readonly<Record<string, string>>

const publicAddress = 'https://links.example.com'

/** An account, its browser, and a valid form for each route. */
async function target(options: StartOptions = {}) {
  const app = await startApp(options)
  const own = await furnish(app)
  const browser = await signedIn(app, own.key)
  await signedIn(app, own.key)
  const removed = await own.link()
  await app.actions.links.removeForNow(own.account, removed.id, null)
  const forms = await formsFor(app, own, removed)
  const routes = app.router.declared.filter(
    ({ method, template }) => method === 'POST' && /^\/app(?:\/|$)/.test(template),
  )
  const posts = routes.map(({ template }): readonly [path: string, form: Form] => forms[template] ?? [template, {}])
  return { app, own, browser, posts, routes, forms }
}

type Forms = Readonly<Record<string, readonly [path: string, form: Form]>>

async function formsFor(app: TestApp, { account, domain, space, links, key }: Furnished, removed: Json) {
  const [link] = links
  const [owned] = await listKeys(app.storage, account)
  const [session] = await listSessions(app.storage, account)
  const row = { [`row-${link.id}`]: 'on' }
  return {
    '/app/sign-in': ['/app/sign-in', { api_key: key, token: await insertLoginToken(app.storage, account) }],
    '/app/scheme': ['/app/scheme', { scheme: 'dark' }],
    '/app/links': ['/app/links', { url: 'https://evil.example/', domain_id: String(domain.id) }],
    '/app/links/:id': [`/app/links/${link.id}`, { url: 'https://evil.example/' }],
    '/app/links/:id/enable': [`/app/links/${links[1].id}/enable`, {}],
    '/app/links/:id/disable': [`/app/links/${link.id}/disable`, {}],
    '/app/links/:id/restore': [`/app/links/${removed.id}/restore`, {}],
    '/app/links/:id/forget': [`/app/links/${link.id}/forget`, {}],
    '/app/links/:id/delete': [`/app/links/${link.id}/delete`, {}],
    '/app/links/selected': ['/app/links/selected', { what: 'disable', ...row }],
    '/app/domains': ['/app/domains', { name: 'evil.example.com' }],
    '/app/domains/:id': [`/app/domains/${domain.id}`, { homepage_url: 'https://evil.example/' }],
    '/app/domains/:id/delete': [`/app/domains/${domain.id}/delete`, {}],
    '/app/spaces': ['/app/spaces', { name: 'Evil' }],
    '/app/spaces/:id': [`/app/spaces/${space.id}`, { name: 'Evil' }],
    '/app/spaces/:id/delete': [`/app/spaces/${space.id}/delete`, {}],
    '/app/keys': ['/app/keys', { name: 'Evil', expires: 'never', '*': 'true' }],
    '/app/keys/:id/revoke': [`/app/keys/${owned?.id}/revoke`, {}],
    '/app/sessions/:id/end': [`/app/sessions/${session?.id}/end`, {}],
    '/app/sessions/end-others': ['/app/sessions/end-others', {}],
    '/app/sessions/end-all': ['/app/sessions/end-all', {}],
    '/app/sign-out': ['/app/sign-out', {}],
  } as const satisfies Forms as Forms
}

/** Returns all records of the account. */
async function stateOf(app: TestApp, { account, send }: Furnished): Promise<unknown> {
  const lists = ['links', 'domains', 'spaces'].map(async (name) => (await send('GET', `/${name}?per_page=100`)).body)
  const keys = (await listKeys(app.storage, account)).map(({ id, revoked_at }) => [id, revoked_at])
  const sessions = (await listSessions(app.storage, account)).map(({ id }) => id)
  return [await Promise.all(lists), keys, sessions]
}

/** Sends a form with only these headers and the cookie. */
function postAs(browser: Browser, [path, form]: readonly [string, Form], headers: Headers) {
  return browser.ask('POST', path, { form, headers })
}

const sameHost = 'http://127.0.0.1'
const foreign: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': '' },
  { 'sec-fetch-site': 'same-origin, cross-site' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: '' },
  { origin: 'http://127.0.0.1.evil.example' },
  { origin: 'http://127.0.0.1:1' },
  { origin: 'file://127.0.0.1' },
  { referer: `${sameHost}/app` },
]

describe('returns 403 and changes nothing', () => {
  test('for every form from another site or without an origin', async () => {
    const { app, own, browser, posts } = await target()
    const origin = `${sameHost}:${app.port}`
    const before = await stateOf(app, own)
    const told = foreign.concat({ 'sec-fetch-site': 'cross-site', origin }, { origin: `${origin}.evil.example` })
    for (const post of posts) {
      for (const headers of told) {
        const { status, headers: answered, page } = await postAs(browser, post, headers)
        assert.equal(status, 403, `${post[0]} ${JSON.stringify(headers)}`)
        assert.equal(answered['set-cookie'], undefined)
        assert.match(page.text, /did not come from a page of this dashboard/)
      }
    }
    assert.deepEqual(await stateOf(app, own), before)
  })

  test('behind a public URL, for the origin of another host', async () => {
    const { app, own, browser, posts } = await target({ baseUrl: publicAddress })
    const before = await stateOf(app, own)
    for (const post of posts) {
      for (const origin of [
        'https://links.example.com.evil.example',
        'https://evil.example',
        'https://links.example.com:444',
      ]) {
        assert.equal((await postAs(browser, post, { origin })).status, 403, post[0])
      }
    }
    assert.deepEqual(await stateOf(app, own), before)
  })

  test('with or without a session, for a form of any size', async () => {
    const { app, posts } = await target()
    for (const post of posts) {
      const { status } = await new Browser(app).ask('POST', post[0], {
        form: `name=${'x'.repeat(100_000)}`,
        headers: { 'sec-fetch-site': 'cross-site' },
      })
      assert.equal(status, 403)
    }
  })
})

describe('done', () => {
  test('every form of our own pages', async () => {
    const { routes, forms } = await target()
    assert.deepEqual(
      routes.map(({ template }) => template).filter((template) => forms[template] === undefined),
      [],
      'give each new route a form in formsFor',
    )
    const harmless = ['/app/sign-in', '/app/scheme']
    for (const { template } of routes) {
      const { app, own, browser, forms } = await target()
      const before = await stateOf(app, own)
      const [path, form] = forms[template] ?? ['', {}]
      const version = /\/\d+$/.test(path) ? (await browser.open(`${path}/edit`)).form(path).version : undefined
      const { status } = await browser.post(path, { ...form, ...(version && { version }) })
      assert.ok([201, 303].includes(status), `${path} → ${status}`)
      if (!harmless.includes(template)) assert.notDeepEqual(await stateOf(app, own), before, template)
    }
  })

  test('the origin of the host or of the public URL, without Sec-Fetch-Site', async () => {
    const { app, own, browser } = await target()
    await signsOutAs(browser, { origin: `${sameHost}:${app.port}` })
    const proxied = await target({ baseUrl: publicAddress })
    await signsOutAs(proxied.browser, { origin: publicAddress })
    for (const headers of [
      { host: 'links.example.com', origin: 'http://links.example.com' },
      { host: 'links.example.com:443', origin: 'https://links.example.com' },
      { host: 'links.example.com', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
    ]) {
      await signsOutAs(await signedIn(app, own.key), headers)
    }
  })
})

async function signsOutAs(browser: Browser, headers: Headers): Promise<void> {
  assert.equal((await postAs(browser, ['/app/sign-out', {}], headers)).status, 303, JSON.stringify(headers))
  assert.equal((await browser.get('/app')).status, 303)
}
