/** Sign-in with OpenID Connect: who is admitted, and who is not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemActor } from '../../src/access/actor.ts'
import type { Role } from '../../src/access/roles.ts'
import { createInvitation } from '../../src/members/invitations.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp, type TestApp } from '../app.ts'
import type { Json } from '../client.ts'
import { Browser } from '../dashboard.ts'
import { loginToken, newMember } from '../members.ts'
import {
  arrive,
  baseUrl,
  expectProblem,
  type FakeProvider,
  oidcConfig,
  sameOrigin,
  signedInWith,
  startAt,
  startSignIn,
  type TestClaims,
} from '../oidc.ts'

const roles = new Map<string, Role>([
  ['links-admins', 'owner'],
  ['marketing', 'editor'],
  ['staff', 'viewer'],
])
const ana = { sub: 'ana-1', name: 'Ana', email: 'ana@acme.example', email_verified: true }

/** Opens an invitation in a browser, and returns the response to the return from the provider. */
async function join(
  app: TestApp,
  provider: FakeProvider,
  claims: TestClaims,
  invited: { email?: string; role?: Role },
) {
  const { email = null, role = 'editor' } = invited
  const { secret } = await createInvitation(app.storage, systemActor(app.account), { role, name: null, email })
  const browser = new Browser(app)
  browser.cookies.set('__Host-waymark_invitation', secret)
  return { browser, answer: await arrive(browser, provider, claims, '?join=1') }
}

async function membersOf({ storage, account }: TestApp) {
  const columns = query.selectFrom('members').select(['name', 'email', 'role', 'has_oidc_role'])
  return storage.execute(columns.where('account_id', '=', account).orderBy('id'))
}

async function eventsOf({ storage, account }: TestApp): Promise<string[]> {
  const columns = query.selectFrom('events').select(['record', 'action']).where('account_id', '=', account)
  const rows = await storage.execute(columns.orderBy('id'))
  return rows.map(({ record, action }) => `${record}.${action}`).filter((type) => /^(member|invitation)/.test(type))
}

/** Adds a member, connects them in a browser, and returns that browser. */
async function connected(app: TestApp, provider: FakeProvider, claims: TestClaims, role: Role = 'editor') {
  const browser = new Browser(app)
  await browser.post('/app/sign-in', { token: await loginToken(app.storage, app.account, { name: 'Ben', role }) })
  const answer = await arrive(browser, provider, claims, '?connect=1')
  assert.deepEqual([answer.status, answer.headers.location], [303, '/app/profile'])
  return browser
}

test('a person joins with an invitation, and signs in again with one redirect each way', async (t) => {
  const { app, provider } = await startSignIn(t)
  const { browser, answer } = await join(app, provider, ana, { email: 'ANA@acme.example' })
  assert.deepEqual([answer.status, answer.headers.location], [303, '/app'])
  assert.equal(browser.cookies.has('__Host-waymark_invitation'), false)
  await browser.open('/app')
  const again = new Browser(app)
  const signedIn = await arrive(again, provider, ana, '?next=%2Fapp%2Flinks%3Fsearch%3Da')
  assert.deepEqual([signedIn.status, signedIn.headers.location], [303, '/app/links?search=a'])
  assert.match((await again.get('/app/links')).text, /Ana/)
  assert.deepEqual(await membersOf(app), [{ name: 'Ana', email: 'ana@acme.example', role: 'editor', has_oidc_role: 0 }])
  assert.deepEqual(await eventsOf(app), ['invitation.created', 'member.joined', 'invitation.deleted'])
})

test('a session lasts for OIDC_SESSION, and has the sid of the provider', async (t) => {
  const { app, provider } = await startSignIn(t, { roles, sessionLifetimeMs: 60_000 })
  const browser = await signedInWith(app, provider, { ...ana, groups: 'staff', sid: 's1' })
  const columns = query.selectFrom('sessions').select(['method', 'oidc_sid', 'created_at', 'expires_at'])
  const [session] = await app.storage.execute(columns)
  assert.deepEqual([session?.method, session?.oidc_sid], ['oidc', 's1'])
  assert.equal(Date.parse(session?.expires_at ?? '') - Date.parse(session?.created_at ?? ''), 60_000)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  assert.match(String((await browser.get('/app')).headers.location), /^\/app\/sign-in/)
})

test('the sign-in page has a button with the name of the provider, and keeps the next page', async (t) => {
  const { app } = await startSignIn(t, { name: 'Acme & <co>' })
  const { text } = await new Browser(app).get('/app/sign-in?next=/app/tags')
  assert.ok(text.includes(`href="${baseUrl}/app/sign-in/oidc?next=%2Fapp%2Ftags"`))
  assert.ok(text.includes('Acme &amp; &lt;co&gt;'))
})

for (const [what, claims, code] of [
  ['an unverified email address', { ...ana, email_verified: false }, 'email_unverified'],
  ['an email address verified by a text', { ...ana, email_verified: 'true' }, 'email_unverified'],
  ['no email address', { sub: 'ana-1' }, 'email_unverified'],
  ['another verified email address', { ...ana, email: 'eve@acme.example' }, 'email_differs'],
] as const) {
  test(`an invitation for an email address admits no one with ${what}`, async (t) => {
    const { app, provider } = await startSignIn(t)
    const { browser, answer } = await join(app, provider, claims, { email: 'ana@acme.example' })
    const text = await expectProblem(browser, answer, code)
    if (code === 'email_unverified') assert.match(text, /“email_verified” isn’t true.*Authentik/)
    assert.deepEqual(await membersOf(app), [])
    // The invitation is still open.
    assert.equal((await arrive(browser, provider, ana, '?join=1')).headers.location, '/app')
  })
}

test('a session by OpenID Connect does not replace the address that an invitation is for', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = await signedInWith(app, provider, { ...ana, groups: ['staff'] })
  const account = await app.createAccount()
  const invite = async (email: string) => {
    const invited = { role: 'owner', name: null, email } as const
    await browser.post('/app/join', {
      token: (await createInvitation(app.storage, systemActor(account), invited)).secret,
    })
    const { status, text } = await browser.post('/app/join')
    assert.deepEqual([status, text.includes('/app/sign-in/oidc?join=1'), text.includes('Join as')], [200, true, false])
    return arrive(browser, provider, ana, '?join=1')
  }
  await expectProblem(browser, await invite('ceo@acme.example'), 'email_differs')
  assert.deepEqual(await membersOf({ ...app, account }), [])
  assert.equal((await invite('ana@acme.example')).headers.location, '/app')
  assert.deepEqual((await membersOf({ ...app, account })).length, 1)
  assert.match((await browser.open('/app/profile')).text, /Switch/)
})

test('an invitation admits one person, once', async (t) => {
  const { app, provider } = await startSignIn(t)
  const first = await join(app, provider, ana, {})
  assert.equal(first.answer.status, 303)
  const again = await join(app, provider, ana, {})
  await expectProblem(again.browser, again.answer, 'already_member')
  const without = new Browser(app)
  await expectProblem(without, await arrive(without, provider, { sub: 'ben-1' }, '?join=1'), 'invitation_over')
  assert.equal((await membersOf(app)).length, 1)
})

test('names are cleaned and bounded, and an unverified email address is not stored', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  for (const [sub, claims] of Object.entries({
    a: { name: ' Ana\u0000\n  ', email: 'x@acme.example' },
    b: { name: 'x'.repeat(256), preferred_username: 'ben' },
    c: { name: 7, email: 'cem@acme.example', email_verified: true },
    d: {},
  })) {
    await signedInWith(app, provider, { sub, groups: 'staff', ...claims })
  }
  assert.deepEqual(
    (await membersOf(app)).map(({ name, email }) => [name, email]),
    [
      ['Ana', null],
      ['ben', null],
      ['cem@acme.example', 'cem@acme.example'],
      ['Member', null],
    ],
  )
})

test('the same email address with another subject is another person', async (t) => {
  const { app, provider } = await startSignIn(t)
  await join(app, provider, ana, { email: 'ana@acme.example' })
  const browser = new Browser(app)
  const answer = await arrive(browser, provider, { ...ana, sub: 'ana-2' })
  assert.match(await expectProblem(browser, answer, 'no_access'), /invite you/)
  assert.equal(browser.cookies.has('__Host-waymark'), false)
})

test('the highest mapped role is set again at every sign-in', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  await newMember(app.storage, app.account, { name: 'Olga' })
  const roleWith = async (groups: unknown) => {
    await signedInWith(app, provider, { ...ana, groups })
    const [, { role, has_oidc_role } = {}] = await membersOf(app)
    return [role, has_oidc_role]
  }
  assert.deepEqual(await roleWith(['staff', 'marketing', 'unknown', 7]), ['editor', 1])
  assert.deepEqual(await roleWith('links-admins'), ['owner', 1])
  assert.deepEqual(await roleWith(['staff']), ['viewer', 1])
  assert.deepEqual(await eventsOf(app), ['member.joined', 'member.joined', 'member.updated', 'member.updated'])
})

test('without a mapped role, its members are rejected, and invited members keep theirs', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  await newMember(app.storage, app.account, { name: 'Olga' })
  await signedInWith(app, provider, { ...ana, groups: ['marketing'] })
  const ben = { sub: 'ben-1', name: 'Ben' }
  await join(app, provider, ben, { role: 'admin' })
  for (const groups of [undefined, [], ['unknown'], { marketing: true }, null]) {
    const browser = new Browser(app)
    await expectProblem(browser, await arrive(browser, provider, { ...ana, groups }), 'role_lost')
    await signedInWith(app, provider, { ...ben, groups })
  }
  const logged = app.logs.map(({ msg }) => String(msg))
  assert.ok(logged.includes('sign-in with OpenID Connect failed: the claim groups is missing'))
  assert.ok(logged.includes('sign-in with OpenID Connect failed: no value of the claim groups is in OIDC_ROLES'))
  assert.deepEqual(
    (await membersOf(app)).map(({ role }) => role),
    ['owner', 'editor', 'admin'],
  )
})

test('removing a person with sign-in by groups says that they can join again', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const owner = await signedInWith(app, provider, { ...ana, groups: ['links-admins'] })
  await signedInWith(app, provider, { sub: 'ben-1', name: 'Ben', groups: ['staff'] })
  assert.match((await owner.get('/app/people/2/remove')).text, /Remove Ben.*they join again at the next sign-in/s)
})

test('the last owner keeps their role: the next page, People and the log say so', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  await signedInWith(app, provider, { ...ana, groups: ['links-admins'] })
  const browser = await signedInWith(app, provider, { ...ana, groups: ['staff'] })
  assert.equal((await membersOf(app))[0]?.role, 'owner')
  assert.ok(app.logs.some(({ msg }) => /keeps the role owner, against OIDC_ROLES/.test(String(msg))))
  assert.match((await browser.open('/app')).said.join(), /^You stay an owner because the account has no other\./)
  for (const page of ['/app/people', '/app/people/1']) {
    assert.match((await browser.open(page)).text, /This member stays an owner because the account has no other\./)
  }
  await newMember(app.storage, app.account, { name: 'Olga', role: 'owner' })
  assert.doesNotMatch((await browser.open('/app/people')).text, /Stays an owner/)
})

test('a changed role says that the next sign-in sets it again, if it comes from groups', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const browser = await signedInWith(app, provider, { ...ana, groups: ['links-admins'] })
  await signedInWith(app, provider, { sub: 'ben-1', name: 'Ben', groups: ['staff'] })
  const eve = await newMember(app.storage, app.account, { name: 'Eve' })
  const change = async (id: number) => {
    const { body } = await app.send('PATCH', `/api/v1/members/${id}`, { key: app.key, json: { role: 'admin' } })
    return [body.data.role, body.meta?.warnings.map(({ field, code }: Json) => `${field} ${code}`)]
  }
  assert.deepEqual(
    [await change(2), await change(eve.id)],
    [
      ['admin', ['role role_from_group']],
      ['admin', undefined],
    ],
  )
  const sentence = 'The role comes from a group at the sign-in service. The next sign-in sets it again.'
  assert.deepEqual((await browser.open('/app/people/2')).cautions, [sentence])
  assert.deepEqual((await browser.open(`/app/people/${eve.id}`)).cautions, [])
})

test('people with a role join the account of OIDC_ACCOUNT', async (t) => {
  const { app, provider } = await startSignIn(t, { roles })
  const other = await app.createAccount()
  const browser = new Browser(app)
  const claims = { ...ana, groups: 'staff' }
  await expectProblem(browser, await arrive(browser, provider, claims), 'no_account')
  assert.ok(app.logs.some(({ msg }) => /failed: OIDC_ACCOUNT must be the ID/.test(String(msg))))
  const chosen = await startApp({ ...{ baseUrl, oidc: oidcConfig(provider.issuer, { roles, account: 2 }) } })
  assert.equal(await chosen.createAccount(), 2)
  assert.equal(other, 2)
  await signedInWith(chosen, provider, claims)
  assert.deepEqual([(await membersOf(chosen)).length, (await membersOf({ ...chosen, account: 2 })).length], [0, 1])
})

test('a person of several accounts is signed in to the account that they used last', async (t) => {
  const { app, provider } = await startSignIn(t)
  await join(app, provider, ana, {})
  const account = await app.createAccount()
  const second = await join({ ...app, account }, provider, ana, {})
  assert.match((await second.browser.get('/app/about')).text, new RegExp(`ID ${account}`))
  const browser = await signedInWith(app, provider, ana)
  assert.match((await browser.get('/app/about')).text, new RegExp(`ID ${account}`))
})

test('a signed-in member connects themselves, and signs in that way afterwards', async (t) => {
  const { app, provider } = await startSignIn(t)
  const before = new Browser(app)
  await before.post('/app/sign-in', { token: await loginToken(app.storage, app.account) })
  assert.match((await before.get('/app/profile')).text, /href="\/app\/sign-in\/oidc\?connect=1"/)
  const browser = await connected(app, provider, ana)
  const { text } = await browser.get('/app/profile')
  assert.match(text, /You can sign in with <bdi>Acme login<\/bdi>/)
  assert.doesNotMatch(text, /connect=1/)
  assert.match((await (await signedInWith(app, provider, ana)).get('/app')).text, /Ben/)
  assert.equal((await membersOf(app))[1]?.email, 'ana@acme.example')
  // Again with the same identity, and with another one.
  assert.equal((await arrive(browser, provider, ana, '?connect=1')).headers.location, '/app/profile')
  await expectProblem(browser, await arrive(browser, provider, { sub: 'x' }, '?connect=1'), 'already_connected')
})

test('an identity belongs to one person', async (t) => {
  const { app, provider } = await startSignIn(t)
  await connected(app, provider, ana)
  const other = new Browser(app)
  await other.post('/app/sign-in', { token: await loginToken(app.storage, app.account) })
  await expectProblem(other, await arrive(other, provider, ana, '?connect=1'), 'connected_elsewhere')
})

test('an identity at a former provider is replaced', async (t) => {
  const { app, provider } = await startSignIn(t)
  const browser = await connected(app, provider, ana)
  await app.storage.execute(query.updateTable('people').set({ oidc_issuer: 'https://old.example' }))
  assert.equal((await arrive(browser, provider, ana, '?connect=1')).headers.location, '/app/profile')
  await signedInWith(app, provider, ana)
})

test('connecting needs the session with which it started', async (t) => {
  const { app, provider } = await startSignIn(t)
  const browser = new Browser(app)
  await expectProblem(browser, await browser.get('/app/sign-in/oidc?connect=1', { headers: sameOrigin }), 'signed_out')
  const signIn = async () =>
    browser.post('/app/sign-in', { token: await loginToken(app.storage, app.account, { name: 'Ben' }) })
  await signIn()
  const location = await startAt(browser, '?connect=1')
  await signIn()
  await expectProblem(browser, await browser.get(provider.authorize(location, ana)), 'signed_out')
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`concurrent first sign-ins of one person store them once on ${engine}`, async (t) => {
    const { app, provider } = await startSignIn(t, { roles }, { engine })
    await Promise.all(Array.from({ length: 6 }, () => signedInWith(app, provider, { ...ana, groups: 'staff' })))
    assert.equal((await membersOf(app)).length, 1)
  })
}
