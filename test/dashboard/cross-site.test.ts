/** Forms posted from another site change nothing, on every POST route. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { findAccount } from '../../src/accounts/store.ts'
import { listKeys } from '../../src/keys/store.ts'
import { newEdit } from '../../src/links/link-edits.ts'
import { findQrStyle, storeQrStyle } from '../../src/qr/store.ts'
import { plainStyle } from '../../src/qr/style.ts'
import { insertLoginToken, listSessions } from '../../src/sessions/store.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp, type TestApp } from '../app.ts'
import type { Json } from '../client.ts'
import { Browser, type Form, signedIn } from '../dashboard.ts'
import { type Furnished, furnish } from '../dashboard-records.ts'

type Headers = Readonly<Record<string, string>>

const publicAddress = 'https://links.example.com'

const usual = await startApp()
const behindProxy = await startApp({ baseUrl: publicAddress })

/** Returns an account, its browser, and a valid form for each route. */
async function target(app = usual) {
  const own = await furnish(app)
  const browser = await signedIn(app, own.key)
  await signedIn(app, own.key)
  const removed = await own.link()
  await app.actions.links.removeForNow(own.account, removed.id, null)
  const archived = await own.link({ archived: true })
  const [tag, otherTag] = [await own.stored('/tags', { name: 'Print' }), await own.stored('/tags', { name: 'Press' })]
  const { edit } = await app.actions.tags.changeForNow(own.account, otherTag.id, { color: 5 }, null, newEdit())
  const forms: Readonly<Record<string, Form>> = {
    ...(await formsFor(app, own)),
    '/app/tags/:id/merge': { into: otherTag.name },
    '/app/tags/undo': { edit: String(edit) },
  }
  const removedDomain = await own.stored('/domains', { name: `removed.${own.domain.name}` })
  await app.actions.domains.removeForNow(own.account, removedDomain.id)
  await storeQrStyle(app.storage, own.account, own.domain.id, { ...plainStyle, margin: 1 })
  const pathOf = await pathsFor(app, own, { links: removed.id, domains: removedDomain.id }, { archived, tag })
  const routes = app.router.declared.filter(
    ({ method, template }) => method === 'POST' && /^\/app(?:\/|$)/.test(template),
  )
  const posts = routes.map(({ template }) => [template, pathOf(template), forms[template] ?? {}] as const)
  return { app, own, browser, posts }
}

/** Returns a function that fills in the id of the record to change. */
async function pathsFor(app: TestApp, { account, domain, space, links }: Furnished, removed: Json, more: Json) {
  const [key] = await listKeys(app.storage, account)
  const [session] = await listSessions(app.storage, account)
  const ids: Json = { domains: domain.id, spaces: space.id, keys: key?.id, sessions: session?.id, links: links[0].id }
  const linkFor: Json = { enable: links[1].id, unarchive: more.archived.id }
  return (template: string) => {
    const [, , resource = '', , action] = template.split('/')
    const own = resource === 'tags' ? more.tag.id : (linkFor[action ?? ''] ?? ids[resource])
    const id = action === 'restore' ? removed[resource] : own
    return template.replace(':id', String(id))
  }
}

const packed = deflateRawSync('#,url\n2,https://evil.example/').toString('base64url')

/** Returns the fields of forms that need some, by route. */
async function formsFor(app: TestApp, { account, domain, links: [link, edited], key }: Furnished) {
  const { edit } = await app.actions.links.changeForNow(account, edited.id, { title: 'Edited' }, null)
  const forms: Readonly<Record<string, Form>> = {
    '/app/sign-in': { api_key: key, token: await insertLoginToken(app.storage, account) },
    '/app/scheme': { scheme: 'dark' },
    '/app/links': { url: 'https://evil.example/', domain_id: String(domain.id) },
    '/app/links/:id': { url: 'https://evil.example/' },
    '/app/links/import': { rows: packed, what: 'create', skipped: '' },
    '/app/links/undo': { edit: String(edit) },
    '/app/links/selected': { what: 'disable', [`row-${link.id}`]: 'on' },
    '/app/domains': { name: 'evil.example.com' },
    '/app/domains/:id/delete': { name: domain.name },
    '/app/domains/:id': { homepage_url: 'https://evil.example/' },
    '/app/domains/:id/qr': { dark: '#000000', background: '#ffffff', margin: '2' },
    '/app/tags': { name: 'Evil' },
    '/app/tags/:id': { name: 'Evil twin' },
    '/app/spaces': { name: 'Evil' },
    '/app/spaces/:id': { name: 'Evil' },
    '/app/sessions': { name: 'Evil' },
    '/app/keys': { name: 'Evil', expires: 'never', '*': 'true' },
    '/app/account': { name: 'Evil', time_zone: 'Asia/Tokyo' },
  }
  return forms
}

/** Returns all records of the account. */
async function stateOf(app: TestApp, { account, domain, send }: Furnished): Promise<unknown> {
  const lists = ['links?archived=any&', 'domains?', 'spaces?', 'tags?'].map(
    async (list) => (await send('GET', `/${list}per_page=100`)).body,
  )
  const keys = (await listKeys(app.storage, account)).map(({ id, revoked_at }) => [id, revoked_at])
  const sessions = (await listSessions(app.storage, account)).map(({ id }) => id)
  const tokens = query.selectFrom('login_tokens').select('created_at').where('account_id', '=', account)
  const links = await app.storage.execute(tokens)
  const style = await findQrStyle(app.storage, account, domain.id)
  return [await Promise.all(lists), keys, sessions, links, style, await findAccount(app.storage, account)]
}

/** Sends a form with only these headers and the cookie. */
function postAs(browser: Browser, path: string, form: Form, headers: Headers) {
  return browser.ask('POST', path, { form, headers })
}

const sameHost = 'http://localhost'
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
  { origin: 'http://localhost.evil.example' },
  { origin: 'http://localhost:1' },
  { origin: 'file://localhost' },
  { referer: `${sameHost}/app` },
]

describe('returns 403 and changes nothing', () => {
  test('for every form from another site or without an origin', async () => {
    const { app, own, browser, posts } = await target()
    const origin = `${sameHost}:${app.port}`
    const before = await stateOf(app, own)
    const told = foreign.concat({ 'sec-fetch-site': 'cross-site', origin }, { origin: `${origin}.evil.example` })
    for (const [index, [, path, form]] of posts.entries()) {
      // All routes share the check.
      for (const headers of index === 0 ? told : told.slice(0, 2)) {
        const { status, headers: answered, page } = await postAs(browser, path, form, headers)
        assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`)
        assert.equal(answered['set-cookie'], undefined)
        assert.match(page.text, /wasn’t sent from the dashboard/)
      }
    }
    assert.deepEqual(await stateOf(app, own), before)
  })

  test('behind a public URL, for the origin of another host', async () => {
    const { app, own, browser, posts } = await target(behindProxy)
    const before = await stateOf(app, own)
    const origins = ['https://links.example.com.evil.example', 'https://evil.example', 'https://links.example.com:444']
    for (const [, path, form] of posts) {
      for (const origin of origins) {
        assert.equal((await postAs(browser, path, form, { origin })).status, 403, path)
      }
    }
    assert.deepEqual(await stateOf(app, own), before)
  })

  test('with or without a session, for a form of any size', async () => {
    const { app, posts } = await target()
    const request = { form: `name=${'x'.repeat(100_000)}`, headers: { 'sec-fetch-site': 'cross-site' } }
    for (const [, path] of posts) {
      assert.equal((await new Browser(app).ask('POST', path, request)).status, 403)
    }
  })
})

describe('done', () => {
  test('every form of our own pages', async () => {
    let present = await target()
    const harmless = ['/app/sign-in', '/app/scheme', '/app/dismiss', '/app/dismiss-ending']
    // After these, the account may lack what another form needs.
    const isRemoving = /sign|selected|undo|delete|restore|reset|merge|revoke|sessions/
    for (const [index, [template]] of present.posts.entries()) {
      // It queries the DNS. domains.test.ts tests it.
      if (template === '/app/domains/:id/check') continue
      const { app, own, browser, posts } = present
      const before = await stateOf(app, own)
      const [, path = '', form = {}] = posts[index] ?? []
      const { status } = await browser.post(path, { ...form, ...(await versionFor(browser, path)) })
      assert.ok([201, 303].includes(status), `${path} → ${status}`)
      if (!harmless.includes(template)) assert.notDeepEqual(await stateOf(app, own), before, template)
      if (isRemoving.test(template)) present = await target()
    }
  })

  test('the origin of the host or of the public URL, without Sec-Fetch-Site', async () => {
    const { app, own, browser } = await target()
    await signsOutAs(browser, { origin: `${sameHost}:${app.port}` })
    const proxied = await target(behindProxy)
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

/** Returns the version field of a record's form; nothing for other forms. */
async function versionFor(browser: Browser, path: string): Promise<Form> {
  if (!/\/\d+$/.test(path)) return {}
  const { version } = (await browser.open(`${path}/edit`)).form(path)
  return version === undefined ? {} : { version }
}

async function signsOutAs(browser: Browser, headers: Headers): Promise<void> {
  assert.equal((await postAs(browser, '/app/sign-out', {}, headers)).status, 303, JSON.stringify(headers))
  assert.equal((await browser.get('/app')).status, 303)
}
