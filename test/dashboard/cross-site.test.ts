/** Forms posted from another site are rejected, on every POST route. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp, type TestApp } from '../app.ts'
import { Browser, signedIn } from '../dashboard.ts'

type Headers = Readonly<Record<string, string>>

const publicAddress = 'https://links.example.com'
const usual = await startApp()
const behindProxy = await startApp({ baseUrl: publicAddress })
const own = `http://localhost:${usual.port}`
const routes = usual.router.declared.filter(
  ({ method, template }) => method === 'POST' && /^\/app(?:\/|$)/.test(template),
)

const foreign: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': '' },
  { 'sec-fetch-site': 'same-origin, cross-site' },
  { 'sec-fetch-site': 'cross-site', origin: own },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: '' },
  { origin: 'http://localhost.evil.example' },
  { origin: 'http://localhost:1' },
  { origin: 'file://localhost' },
  { origin: `${own}.evil.example` },
  { referer: `${own}/app` },
]

/** Sends a form with only these headers and the cookie. */
const post = (browser: Browser, path: string, headers: Headers, form: Headers | string = { name: 'Evil' }) =>
  browser.ask('POST', path, { form, headers })

async function assertRejected(browser: Browser, path: string, headers: Headers, form?: string): Promise<void> {
  const { status, headers: answered, page } = await post(browser, path, headers, form)
  assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`)
  assert.equal(answered['set-cookie'], undefined)
  assert.match(page.text, /wasn’t sent from the dashboard/)
}

const spacesOf = async (app: TestApp) => (await app.send('GET', '/api/v1/spaces')).body.meta.total

describe('returns 403', () => {
  test('for every form from another site or without an origin, with or without a session, of any size', async () => {
    const [browser, proxied] = [await signedIn(usual), await signedIn(behindProxy)]
    assert.ok(routes.length > 30)
    for (const { template } of routes) {
      const path = template.replace(':id', '1')
      for (const headers of foreign.slice(0, 2)) await assertRejected(browser, path, headers)
      const large = `name=${'x'.repeat(100_000)}`
      await assertRejected(new Browser(usual), path, { 'sec-fetch-site': 'cross-site' }, large)
      await assertRejected(proxied, path, { origin: 'https://evil.example' })
    }
    assert.equal((await browser.get('/app')).status, 200)
  })

  test('and changes nothing, for every other origin', async () => {
    const browser = await signedIn(usual)
    for (const headers of foreign) await assertRejected(browser, '/app/spaces', headers)
    const proxied = await signedIn(behindProxy)
    for (const origin of [`${publicAddress}.evil.example`, 'https://evil.example', `${publicAddress}:444`])
      await assertRejected(proxied, '/app/spaces', { origin })
    assert.deepEqual([await spacesOf(usual), await spacesOf(behindProxy)], [0, 0])
  })
})

test('stores a form from the origin of the host or of the public URL, or with Sec-Fetch-Site: same-origin', async () => {
  const host = 'links.example.com'
  for (const [app, headers] of [
    [usual, { origin: own }],
    [usual, { host, origin: `http://${host}` }],
    [usual, { host: `${host}:443`, origin: `https://${host}` }],
    [usual, { host, origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }],
    [behindProxy, { origin: publicAddress }],
  ] as const) {
    const before = await spacesOf(app)
    const form = { name: 'Good', page_account: String(app.account) }
    const { status } = await post(await signedIn(app), '/app/spaces', headers, form)
    assert.equal(status, 303, JSON.stringify(headers))
    assert.equal(await spacesOf(app), before + 1)
  }
})
