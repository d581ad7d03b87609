/** Sign-in with OpenID Connect against hostile providers, sites and browsers. */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { generateKeyPair } from 'jose'
import { type Problem, problems } from '../../src/sign-in/oidc/problems.ts'
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
import { listenOn } from '../servers.ts'

const roles = new Map([['staff', 'viewer']] as const)
const ana = { sub: 'ana-1', name: 'Ana', groups: ['staff'] }
const sessionCookie = '__Host-waymark'
const { privateKey: otherKey } = await generateKeyPair('ES256')

type Answer = Parameters<FakeProvider['answers']['set']>[1]

/** What a provider sends instead of the usual, and the problem that the page shows. */
interface Sent {
  readonly shows: Problem
  readonly answer?: readonly [path: string, answer: Answer]
  readonly change?: FakeProvider['change']
  readonly key?: FakeProvider['key']
  readonly claims?: object
  /** The parameters of the return instead of a code. */
  readonly returns?: Readonly<Record<string, string>>
  readonly logs?: RegExp
}

const metadataPath = '/.well-known/openid-configuration'
const json = { 'content-type': 'application/json' }
const past = Math.floor(Date.now() / 1_000) - 3_600

const answers = (path: string, answer: Answer): Sent => ({ shows: 'unavailable', answer: [path, answer] })
const token = (change: FakeProvider['change']): Sent => ({ shows: 'rejected', change })
const claims = (changes: object) => token(({ claims }) => Object.assign(claims, changes))
const header = (changes: object) => token(({ header }) => Object.assign(header, changes))
const issued = (issuer: string) => answers(metadataPath, (_, response) => response.end(JSON.stringify({ issuer })))

/** A response of the token endpoint. */
function refusal(status: number, error: string | null, shows: Problem, hasChallenge = false): Sent {
  const challenge = hasChallenge && { 'www-authenticate': 'Basic realm="<b>provider text</b>"' }
  const body = error === null ? '<b>provider text</b>' : JSON.stringify({ error, error_description: 'provider text' })
  const type = error === null ? 'text/html' : 'application/json'
  const answer: Answer = (_, response) => response.writeHead(status, { 'content-type': type, ...challenge }).end(body)
  return { ...answers('/token', answer), shows }
}

const returned = (error: string, shows: Problem, iss?: string): Sent => ({
  shows,
  returns: { error, error_description: '<b>provider text</b>', ...(iss !== undefined && { iss }) },
  ...(shows === 'misconfigured' && { logs: new RegExp(` \\(${error}\\)$`) }),
})

/** Responses that no endpoint may send. `elsewhere` is the URL of another host. */
const unusable = (path: string, elsewhere: string): Readonly<Record<string, Sent>> => ({
  [`${path}: more than 1 MiB`]: answers(path, (_, response) => response.end(`{"x":"${'x'.repeat(1_100_000)}"}`)),
  [`${path}: a redirect to another host`]: answers(path, (_, response) =>
    response.writeHead(302, { location: elsewhere }).end(),
  ),
  [`${path}: an outage`]: answers(path, (_, response) => response.writeHead(503).end('<b>provider text</b>')),
  [`${path}: a closed connection`]: answers(path, (_, response) => response.destroy()),
})

/** The metadata come first, because they are read once an hour. */
const sent = (elsewhere: string, issuer: string): Readonly<Record<string, Sent>> => ({
  ...unusable(metadataPath, elsewhere),
  'metadata: no JSON': answers(metadataPath, (_, response) =>
    response.writeHead(200, json).end('<b>provider text</b>'),
  ),
  'metadata: another issuer': issued('https://fake.example'),
  'metadata: the issuer with a slash': issued(`${issuer}/`),
  ...unusable('/token', elsewhere),
  ...unusable('/keys', elsewhere),

  'ID token: another issuer': claims({ iss: 'https://other.example' }),
  'ID token: the issuer with a slash': token(({ claims }) => Object.assign(claims, { iss: `${claims.iss}/` })),
  'ID token: another audience': claims({ aud: 'another-client' }),
  'ID token: several audiences': claims({ aud: ['waymark', 'x'], azp: 'x' }),
  'ID token: another nonce': { ...claims({ nonce: 'replayed' }), logs: /"nonce"/ },
  'ID token: no nonce': claims({ nonce: undefined }),
  'ID token: no subject': claims({ sub: undefined }),
  'ID token: no expiry': claims({ exp: undefined }),
  'ID token: a past expiry': claims({ iat: past, exp: past + 60 }),
  'ID token: the algorithm none': header({ alg: 'none' }),
  'ID token: an unknown key': header({ kid: 'unknown' }),
  'ID token: a signature of another key': { shows: 'rejected', key: otherKey },

  'return: denied': returned('access_denied', 'denied'),
  'return: unavailable': returned('temporarily_unavailable', 'rejected'),
  'return: an unauthorized client': returned('unauthorized_client', 'misconfigured'),
  'return: an invalid scope': returned('invalid_scope', 'misconfigured'),
  'return: an unsupported type': returned('unsupported_response_type', 'misconfigured'),
  'return: an invalid request': returned('invalid_request', 'misconfigured'),
  'return: an unknown error': returned('<script>alert(1)</script>', 'rejected'),
  // The provider must say who it is.
  'return: no issuer': returned('access_denied', 'rejected', ''),

  'token request: an invalid client': refusal(401, 'invalid_client', 'secret_rejected'),
  'token request: an invalid client, with a challenge': refusal(401, 'invalid_client', 'secret_rejected', true),
  'token request: an invalid client, with 400': refusal(400, 'invalid_client', 'secret_rejected'),
  'token request: a rejected secret, by Keycloak': refusal(401, 'unauthorized_client', 'secret_rejected'),
  'token request: a rejected secret, by Auth0': refusal(401, 'access_denied', 'secret_rejected'),
  'token request: 401 without JSON': refusal(401, null, 'secret_rejected'),
  'token request: an unauthorized client': refusal(400, 'unauthorized_client', 'misconfigured'),
  'token request: another callback': {
    ...refusal(400, 'redirect_uri_mismatch', 'misconfigured'),
    logs: /Register https:\/\/links\.example\.com\/app\/oidc\/callback there \(redirect_uri_mismatch\)/,
  },
  'token request: an unknown error': refusal(400, 'constructor', 'rejected'),
  'token request: an invalid code': refusal(400, 'invalid_grant', 'rejected', true),
  'token request: an invalid code, with 401': refusal(401, 'invalid_grant', 'rejected', true),

  'no mapped group': { shows: 'no_access', claims: { groups: [] } },
  'groups that Entra left out': {
    shows: 'groups_omitted',
    claims: { groups: undefined, _claim_names: { groups: 'src1' } },
  },
})

test('shows a problem in our own words for whatever the provider sends', async (t) => {
  const other = await otherHost(t)
  const { app, provider } = await startSignIn(t, { roles })
  const usual = { change: provider.change, key: provider.key }
  const attempt = async (browser: Browser, { claims, returns }: Sent) => {
    const started = await browser.get('/app/sign-in/oidc')
    if (started.status !== 302) return started
    const location = String(started.headers.location)
    const state = new URL(location).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ iss: provider.issuer, ...returns, state })
    return browser.get(returns ? `/app/oidc/callback?${query}` : provider.authorize(location, { ...ana, ...claims }))
  }
  for (const [what, each] of Object.entries(sent(other.url, provider.issuer))) {
    const { shows, answer, logs, change = usual.change, key = usual.key } = each
    await t.test(`${shows}: ${what}`, async () => {
      provider.answers.clear()
      if (answer) provider.answers.set(...answer)
      Object.assign(provider, { change, key })
      const logged = app.logs.length
      const browser = new Browser(app)
      const text = await expectProblem(browser, await attempt(browser, each), shows)
      assert.doesNotMatch(text, /provider text|<b>|fake|alert/)
      assert.equal(browser.cookies.has(sessionCookie), false)
      const messages = app.logs.slice(logged).map(({ msg }) => String(msg))
      assert.ok(!logs || messages.some((message) => logs.test(message)), messages.join('\n'))
      assert.doesNotMatch(messages.join(), /provider text|alert\(1\)/)
    })
  }
  assert.deepEqual(other.requests, [])
  provider.answers.clear()
  Object.assign(provider, usual)
  assert.equal((await arrive(new Browser(app), provider, ana)).headers.location, '/app')
})

test('rejects claims of someone else from the userinfo endpoint', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  provider.userinfo = { sub: 'someone-else', groups: ['staff'] }
  const browser = new Browser(app)
  await expectProblem(browser, await arrive(browser, provider, { ...ana, groups: undefined }), 'rejected')
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
  const port = await listenOn(t, server)
  return { url: `http://localhost:${port}`, requests }
}

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
