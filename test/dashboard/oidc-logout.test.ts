/** Logouts that a provider of OpenID Connect announces. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { startApp, type TestApp } from '../app.ts'
import { repeatWhileOverloaded, sendRequest } from '../client.ts'
import { Browser } from '../dashboard.ts'
import { loginToken } from '../members.ts'
import { baseUrl, oidcConfig, signedInWith, startSignIn } from '../oidc.ts'

const roles = new Map([['staff', 'viewer']] as const)
const ana = { sub: 'ana-1', name: 'Ana', groups: ['staff'] }
const ben = { sub: 'ben-1', name: 'Ben', groups: ['staff'] }
const event = 'http://schemas.openid.net/event/backchannel-logout'

/** Sends a logout request as a provider does: from another site, without a session. */
async function logOut({ port }: Pick<TestApp, 'port'>, logout_token: string) {
  const target = { agent: undefined, port, method: 'POST', path: '/app/oidc/logout' }
  const request = { key: null, headers: { origin: 'https://login.example.com' }, form: { logout_token } }
  const { status, text, headers } = await repeatWhileOverloaded(() => sendRequest(target, request))
  if (status < 413) assert.equal(headers['cache-control'], 'no-store')
  return { status, text }
}

async function isOpen(browser: Browser): Promise<boolean> {
  return (await browser.get('/app')).status === 200
}

test('ends the session with the sid, otherwise all sessions of the subject', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const open = (claims: object) => signedInWith(app, provider, { ...ana, ...claims })
  const [first, second, unnamed, other] = [
    await open({ sid: 's1' }),
    await open({ sid: 's2' }),
    await open({}),
    await signedInWith(app, provider, { ...ben, sid: 's3' }),
  ]
  const browsers = [first, second, unnamed, other]
  const state = () => Promise.all(browsers.map(isOpen))
  const end = async (claims: object) => {
    assert.deepEqual(await logOut(app, await provider.logoutToken(claims as never)), { status: 200, text: '' })
    return state()
  }
  assert.deepEqual(await end({ sid: 's1' }), [false, true, true, true])
  // A session without a sid may be the one.
  assert.deepEqual(await end({ sub: 'ana-1', sid: 's1' }), [false, true, false, true])
  assert.deepEqual(await end({ sub: 'someone' }), [false, true, false, true])
  assert.deepEqual(await end({ sub: 'ben-1', sid: 's2' }), [false, true, false, true])
  assert.deepEqual(await end({ sub: 'ana-1' }), [false, false, false, true])
})

test('ends only sessions that OpenID Connect has started', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = await signedInWith(app, provider, ana)
  const byLink = new Browser(app)
  await byLink.post('/app/sign-in', { token: await loginToken(app.storage, app.account) })
  await logOut(app, await provider.logoutToken({ sub: 'ana-1' }))
  assert.deepEqual([await isOpen(browser), await isOpen(byLink)], [false, true])
})

const now = Math.floor(Date.now() / 1_000)

const invalid: readonly [what: string, claims: Readonly<Record<string, unknown>>][] = [
  ['another issuer', { iss: 'https://other.example' }],
  ['another audience', { aud: 'another-client' }],
  ['no iat', { iat: undefined }],
  ['an old iat', { iat: now - 3_600, exp: undefined }],
  ['an iat in the future', { iat: now + 3_600 }],
  ['a past expiry', { exp: now - 60 }],
  ['no events', { events: undefined }],
  ['another event', { events: { 'https://other.example': {} } }],
  ['an event that is no object', { events: { [event]: 'x' } }],
  ['a nonce', { nonce: 'x' }],
  ['no jti', { jti: undefined }],
  ['a jti that is no text', { jti: 7 }],
  ['neither a subject nor a session', { sub: undefined }],
  ['a subject that is no text', { sub: { x: 1 } }],
]

test('rejects invalid logout tokens', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = await signedInWith(app, provider, ana)
  const rejects = async (token: string) =>
    assert.deepEqual(await logOut(app, token), { status: 400, text: '{"error":"invalid_request"}' })
  for (const [what, claims] of invalid) {
    await t.test(what, async () => rejects(await provider.logoutToken({ sub: 'ana-1', ...claims })))
  }
  const valid = await provider.logoutToken({ sub: 'ana-1' })
  const [head = '', body = ''] = valid.split('.')
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`
  for (const token of ['', 'x', 'a.b.c', none, `${head}.${body}.${'A'.repeat(86)}`]) await rejects(token)
  // An ID token is no logout token, and shared secrets sign none.
  const claims = {
    iss: provider.issuer,
    aud: 'waymark',
    sub: 'ana-1',
    jti: randomUUID(),
    events: { [event]: {} },
    iat: now,
  }
  await rejects(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.alloc(32)))
  assert.equal(await isOpen(browser), true)
  assert.equal((await logOut(app, 'x'.repeat(17 * 1024))).status, 413)
  assert.doesNotMatch(JSON.stringify(app.logs), /eyJ/)
})

test('accepts a logout token once, even if it arrives several times at the same time', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  await signedInWith(app, provider, ana)
  const token = await provider.logoutToken({ sub: 'ana-1' })
  const answers = await Promise.all(Array.from({ length: 5 }, () => logOut(app, token)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400])
  const again = await signedInWith(app, provider, ana)
  assert.equal((await logOut(app, token)).status, 400)
  assert.equal(await isOpen(again), true)
})

test('takes effect on another process of the database', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const second = await startApp({ baseUrl, oidc: oidcConfig(provider.issuer, { roles }), storage: () => app.storage })
  const browser = await signedInWith(app, provider, ana)
  const there = new Browser(second)
  for (const [name, value] of browser.cookies) there.cookies.set(name, value)
  assert.equal(await isOpen(there), true)
  await logOut(app, await provider.logoutToken({ sub: 'ana-1' }))
  assert.equal(await isOpen(there), false)
  // Either process rejects what the other has accepted.
  const token = await provider.logoutToken({ sub: 'ana-1' })
  assert.deepEqual([(await logOut(second, token)).status, (await logOut(app, token)).status], [200, 400])
})
