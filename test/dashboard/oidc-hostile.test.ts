/** Sign-in with OpenID Connect against hostile providers, sites and browsers. */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { generateKeyPair } from 'jose'
import { problems } from '../../src/sign-in/oidc/problems.ts'
import type { TestApp } from '../app.ts'
import { stopClock } from '../clock.ts'
import { Browser } from '../dashboard.ts'
import { loginToken } from '../members.ts'
import {
  arrive,
  baseUrl,
  clientSecret,
  expectProblem,
  type FakeProvider,
  newClient,
  startAt,
  startProvider,
  startSignIn,
} from '../oidc.ts'

const roles = new Map([['staff', 'viewer']] as const)
const ana = { sub: 'ana-1', name: 'Ana', groups: ['staff'] }
const sessionCookie = '__Host-waymark'
const { privateKey: strangersKey } = await generateKeyPair('ES256')

/** Throws unless the claims are rejected with this problem, and no one is signed in. */
async function rejects(app: TestApp, provider: FakeProvider, code: string, claims: object = {}): Promise<void> {
  const browser = new Browser(app)
  const text = await expectProblem(browser, await arrive(browser, provider, { ...ana, ...claims }), code)
  assert.doesNotMatch(text, /provider text|<b>|fake/)
  assert.equal(browser.cookies.has(sessionCookie), false)
}

const past = Math.floor(Date.now() / 1_000) - 3_600

const tokens: readonly [what: string, change: FakeProvider['change']][] = [
  ['another issuer', ({ claims }) => Object.assign(claims, { iss: 'https://other.example' })],
  ['the issuer with a slash', ({ claims }) => Object.assign(claims, { iss: `${claims.iss}/` })],
  ['another audience', ({ claims }) => Object.assign(claims, { aud: 'another-client' })],
  ['several audiences', ({ claims }) => Object.assign(claims, { aud: ['waymark', 'x'], azp: 'x' })],
  ['another nonce', ({ claims }) => Object.assign(claims, { nonce: 'replayed' })],
  ['no nonce', ({ claims }) => Object.assign(claims, { nonce: undefined })],
  ['no subject', ({ claims }) => Object.assign(claims, { sub: undefined })],
  ['no expiry', ({ claims }) => Object.assign(claims, { exp: undefined })],
  ['a past expiry', ({ claims }) => Object.assign(claims, { iat: past, exp: past + 60 })],
  ['the algorithm none', ({ header }) => Object.assign(header, { alg: 'none' })],
  ['an unknown key', ({ header }) => Object.assign(header, { kid: 'unknown' })],
]

test('rejects invalid ID tokens', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  for (const [what, change] of tokens) {
    await t.test(what, async () => {
      provider.change = change
      await rejects(app, provider, 'rejected')
    })
  }
  await t.test('a signature of another key', async () => {
    provider.change = () => {}
    const { key } = provider
    provider.key = strangersKey
    await rejects(app, provider, 'rejected')
    provider.key = key
  })
  const browser = new Browser(app)
  assert.equal((await arrive(browser, provider, ana)).headers.location, '/app')
  const reasons = app.logs.map(({ msg }) => String(msg)).filter((msg) => msg.startsWith('sign-in with OpenID'))
  assert.equal(reasons.length, tokens.length + 1)
  assert.ok(
    reasons.some((msg) => msg.includes('"nonce"')),
    reasons.join('\n'),
  )
})

test('rejects invalid userinfo responses', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  provider.userinfo = { sub: 'someone-else', groups: ['staff'] }
  await rejects(app, provider, 'rejected', { groups: undefined })
  provider.userinfo = null
})

test('reads claims that only the userinfo endpoint has', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  provider.userinfo = { sub: 'ana-1', groups: ['staff'], sid: 'fake' }
  const browser = new Browser(app)
  assert.equal((await arrive(browser, provider, { ...ana, groups: undefined })).headers.location, '/app')
})

test('the userinfo endpoint verifies only the email address that it names', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const emailOf = async (sub: string, email: string) => {
    provider.userinfo = { sub, email: 'ana@acme.com', email_verified: true }
    const browser = new Browser(app)
    assert.equal((await arrive(browser, provider, { ...ana, sub, email })).headers.location, '/app')
    const { body } = await app.send('GET', '/api/v1/members?per_page=10')
    return body.data[0].email
  }
  assert.equal(await emailOf('ana-1', 'ceo@acme.com'), null)
  assert.equal(await emailOf('ana-2', 'ana@acme.com'), 'ana@acme.com')
})

test('forged returns of one network do not keep others waiting', async (t) => {
  const provider = await startProvider(t)
  const client = newClient(provider)
  const held: ServerResponse[] = []
  const answered = new EventEmitter()
  provider.answers.set('/token', (_, response) => {
    held.push(response)
    answered.emit('request')
  })
  const secrets = { state: 'state', nonce: 'nonce', verifier: 'v'.repeat(43) }
  const finish = (network: string) => {
    const query = new URLSearchParams({ code: 'forged', state: 'state', iss: provider.issuer })
    return client.finish(String(query), secrets, network).catch((error) => error.code ?? 'failed')
  }
  const forged = Array.from({ length: 150 }, () => finish('192.0.2.1'))
  while (held.length < 12) await once(answered, 'request')
  const other = finish('192.0.2.2')
  await once(answered, 'request')
  assert.equal(held.length, 13)
  provider.answers.delete('/token')
  for (const response of held) response.writeHead(400).end()
  const results = await Promise.all([...forged, other])
  assert.equal(results.filter((code) => code === 'overloaded').length, 150 - 12 - 128)
})

/** Starts a server of another host, and returns its URL and the requests that it gets. */
async function otherHost(t: TestContext) {
  const requests: string[] = []
  const server = createServer(({ url }, response) => {
    requests.push(String(url))
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, requests }
}

const metadataPath = '/.well-known/openid-configuration'

test('rejects hostile responses, with limits of size and no redirects', async (t) => {
  const other = await otherHost(t)
  const { app, provider } = await startSignIn(t, { roles })
  const json = { 'content-type': 'application/json' }
  const answers: Readonly<Record<string, Parameters<FakeProvider['answers']['set']>[1]>> = {
    'more than 1 MiB': (_, response) => response.writeHead(200, json).end(`{"x":"${'x'.repeat(1_100_000)}"}`),
    'a redirect to another host': (_, response) => response.writeHead(302, { location: other.url }).end(),
    'an outage': (_, response) => response.writeHead(503).end('<b>provider text</b>'),
    'a closed connection': (_, response) => response.destroy(),
  }
  const browser = new Browser(app)
  for (const [what, answer] of Object.entries({
    ...answers,
    'no JSON': (_: unknown, response) => response.writeHead(200, json).end('<b>provider text</b>'),
    'another issuer': (_: unknown, response) =>
      response.writeHead(200, json).end(JSON.stringify({ issuer: 'https://fake.example' })),
    'the issuer with a slash': (_: unknown, response) =>
      response.writeHead(200, json).end(JSON.stringify({ issuer: `${provider.issuer}/` })),
  } satisfies typeof answers)) {
    await t.test(`metadata: ${what}`, async () => {
      provider.answers.set(metadataPath, answer)
      await expectProblem(browser, await browser.get('/app/sign-in/oidc'), 'unavailable')
      assert.equal(browser.cookies.size, 0)
    })
  }
  provider.answers.clear()
  for (const path of ['/token', '/keys']) {
    for (const [what, answer] of Object.entries(answers)) {
      await t.test(`${path}: ${what}`, async () => {
        provider.answers.set(path, answer)
        await rejects(app, provider, 'unavailable')
        provider.answers.clear()
      })
    }
  }
  assert.deepEqual(other.requests, [])
})

test('a provider that does not respond in time is unavailable', async (t) => {
  const provider = await startProvider(t)
  provider.answers.set(metadataPath, () => {})
  await assert.rejects(newClient(provider, 20).start(), { message: 'no response in time' })
  // The response begins, and does not end.
  provider.answers.set(metadataPath, (_, response) => void response.writeHead(200).write('{'))
  await assert.rejects(newClient(provider, 20).start(), { message: 'no response in time' })
})

test('reads the metadata once an hour, and again after a failure', async (t) => {
  const provider = await startProvider(t)
  const client = newClient(provider)
  const reads = () => provider.requests.filter((path) => path === metadataPath).length
  provider.answers.set(metadataPath, (_, response) => response.writeHead(503).end())
  await Promise.allSettled([client.start(), client.start()])
  assert.equal(reads(), 1)
  provider.answers.clear()
  await Promise.all([client.start(), client.start()])
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  t.mock.timers.tick(59 * 60_000)
  await client.start()
  assert.equal(reads(), 2)
  t.mock.timers.tick(2 * 60_000)
  await client.start()
  assert.equal(reads(), 3)
})

test('accepts a new key of the provider', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = new Browser(app)
  assert.equal((await arrive(browser, provider, ana)).headers.location, '/app')
  await provider.rotate()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 31_000 })
  assert.equal((await arrive(browser, provider, ana)).headers.location, '/app')
})

test('an error of the provider is shown in our own words', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = new Browser(app)
  const settings = ['unauthorized_client', 'invalid_scope', 'unsupported_response_type', 'invalid_request']
  for (const [error, iss, code] of [
    ['access_denied', provider.issuer, 'denied'],
    ['temporarily_unavailable', provider.issuer, 'rejected'],
    ...settings.map((error) => [error, provider.issuer, 'misconfigured'] as const),
    ['<script>alert(1)</script>', provider.issuer, 'rejected'],
    // The provider must say who it is.
    ['access_denied', '', 'rejected'],
  ] as const) {
    const state = new URL(await startAt(browser)).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error, error_description: '<b>provider text</b>', state, iss })
    const text = await expectProblem(browser, await browser.get(`/app/oidc/callback?${query}`), code)
    assert.doesNotMatch(text, /provider text|alert/)
  }
  assert.doesNotMatch(JSON.stringify(app.logs), /provider text|alert\(1\)/)
  const messages = app.logs.map(({ msg }) => String(msg))
  for (const error of settings) assert.equal(messages.filter((message) => message.endsWith(` (${error})`)).length, 1)
})

/** Responses of the token endpoint, and the problem that they mean. */
const refusals: readonly [status: number, error: string | null, code: string, hasChallenge?: true][] = [
  [401, 'invalid_client', 'secret_rejected'],
  [401, 'invalid_client', 'secret_rejected', true],
  [400, 'invalid_client', 'secret_rejected'],
  // As Keycloak and Auth0 reject a secret.
  [401, 'unauthorized_client', 'secret_rejected'],
  [401, 'access_denied', 'secret_rejected'],
  [401, null, 'secret_rejected'],
  [400, 'unauthorized_client', 'misconfigured'],
  [400, 'redirect_uri_mismatch', 'misconfigured'],
  [400, 'constructor', 'rejected'],
  [400, 'invalid_grant', 'rejected', true],
  [401, 'invalid_grant', 'rejected', true],
]

test('separates failed token requests that only the operator can fix', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  for (const [status, error, code, hasChallenge] of refusals) {
    provider.answers.set('/token', (_, response) => {
      const challenge = hasChallenge && { 'www-authenticate': 'Basic realm="<b>provider text</b>"' }
      const body =
        error === null ? '<b>provider text</b>' : JSON.stringify({ error, error_description: 'provider text' })
      response.writeHead(status, { 'content-type': error ? 'application/json' : 'text/html', ...challenge }).end(body)
    })
    await rejects(app, provider, code)
  }
  const logs = JSON.stringify(app.logs)
  assert.match(logs, /Register https:\/\/links\.example\.com\/app\/oidc\/callback there \(redirect_uri_mismatch\)/)
  assert.doesNotMatch(logs, /provider text/)
})

test('a response is used once, and only by the browser that asked for it', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const attacker = new Browser(app)
  const forged = provider.authorize(await startAt(attacker), ana)
  // Login CSRF: the victim's browser opens the attacker's response, without and with a sign-in of its own.
  const victim = new Browser(app)
  await expectProblem(victim, await victim.get(forged), 'stale')
  await startAt(victim)
  await expectProblem(victim, await victim.get(forged), 'stale')
  assert.equal((await attacker.get(forged)).headers.location, '/app')
  await expectProblem(attacker, await attacker.get(forged), 'stale')
  // Another issuer's response.
  const mixed = provider.authorize(await startAt(victim), ana).replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fother.example')
  await expectProblem(victim, await victim.get(mixed), 'rejected')
  for (const cookie of ['x', '', 'W10', Buffer.from('{"state":1}').toString('base64url')]) {
    victim.cookies.set('__Host-waymark_oidc', cookie)
    await expectProblem(victim, await victim.get('/app/oidc/callback?code=x&state=x'), 'stale')
  }
  assert.equal(victim.cookies.has(sessionCookie), false)
})

test('opens only dashboard pages afterwards', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const texts = [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/app/../x',
    'javascript:alert(1)',
    '/application',
    '/app/%0d%0aset-cookie:x',
  ]
  for (const next of texts) {
    const browser = new Browser(app)
    const { headers } = await arrive(browser, provider, ana, `?next=${encodeURIComponent(next)}`)
    const location = new URL(String(headers.location), 'https://own.example')
    assert.ok(
      location.origin === 'https://own.example' && /^\/app(\/|$)/.test(location.pathname),
      `${next}: ${location}`,
    )
    assert.equal(
      headers['set-cookie']?.some((cookie) => cookie.startsWith('x')),
      false,
    )
  }
})

test('a sign-in has a new secret, and ends the browser’s previous session', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = new Browser(app)
  const fixed = `wms_${'A'.repeat(43)}`
  browser.cookies.set(sessionCookie, fixed)
  await arrive(browser, provider, ana)
  const first = browser.cookies.get(sessionCookie)
  assert.notEqual(first, fixed)
  await arrive(browser, provider, ana)
  assert.notEqual(browser.cookies.get(sessionCookie), first)
  const old = new Browser(app)
  old.cookies.set(sessionCookie, String(first))
  assert.match(String((await old.get('/app')).headers.location), /^\/app\/sign-in/)
})

test('codes, tokens and secrets are in no log, no URL that follows and no page', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const seen: string[] = []
  const browser = new Browser(app)
  const secrets: string[] = ['the-access-token', clientSecret]
  for (const claims of [ana, { ...ana, groups: [] }, { ...ana, aud: 'x' }]) {
    const callback = provider.authorize(await startAt(browser), claims)
    const { code, state } = Object.fromEntries(new URLSearchParams(callback.split('?')[1]))
    secrets.push(String(code), String(state), browser.cookies.get('__Host-waymark_oidc') ?? '')
    const answer = await browser.get(callback)
    const page = await browser.get(String(answer.headers.location))
    seen.push(String(answer.headers.location), answer.text, page.text, String(answer.headers['referrer-policy']))
    secrets.push(browser.cookies.get(sessionCookie) ?? 'none')
  }
  const all = JSON.stringify([seen, app.logs])
  for (const secret of secrets) assert.ok(!all.includes(secret), secret)
  assert.ok(!all.includes('eyJ'))
})

test('only a dashboard page starts a sign-in that changes a person', async (t) => {
  const { app } = await startSignIn(t)
  const browser = new Browser(app)
  await browser.post('/app/sign-in', { token: await loginToken(app.storage, app.account) })
  const start = async (path: string, headers: Record<string, string>) => (await browser.get(path, { headers })).status
  for (const path of ['/app/sign-in/oidc?connect=1', '/app/sign-in/oidc?join=1']) {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, {}, { referer: 'https://evil.example/' }])
      await expectProblem(browser, await browser.get(path, { headers }), 'foreign')
    assert.equal(await start(path, { 'sec-fetch-site': 'same-origin' }), 302)
    for (const origin of [app.origin, baseUrl])
      assert.equal(await start(path, { referer: `${origin}/app/profile` }), 302)
  }
})

test('failed attempts are limited, and requests without a session store nothing', async (t) => {
  stopClock(t)
  const { app } = await startSignIn(t)
  const browser = new Browser(app)
  for (let attempt = 0; attempt < 300; attempt++) await browser.get('/app/oidc/callback?code=x&state=x')
  assert.equal((await browser.get('/app/oidc/callback?code=x&state=x')).status, 429)
  assert.equal((await browser.get('/app/sign-in/oidc')).status, 302)
})

test('every problem has a page, and other codes have none', async (t) => {
  const { app } = await startSignIn(t)
  const browser = new Browser(app)
  for (const [code, { title }] of Object.entries(problems)) {
    const { text } = await browser.get(`/app/oidc/problem?code=${code}`)
    assert.ok(text.includes(`<h1>${title}</h1>`), code)
  }
  for (const code of ['', 'x', '__proto__', 'constructor'])
    assert.equal((await browser.get(`/app/oidc/problem?code=${code}`)).status, 404, code)
})

test('without a provider, its pages return 404', async () => {
  const { startApp } = await import('../app.ts')
  const app = await startApp()
  const browser = new Browser(app)
  const page = await browser.open('/app/sign-in')
  assert.ok(page)
  for (const path of ['/app/oidc/callback', '/app/oidc/problem?code=denied']) {
    assert.match(String((await browser.get(path)).headers.location), /\/app\/sign-in\?next=/)
  }
})
