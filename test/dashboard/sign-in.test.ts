/** Sign-in with links and keys, sign-out and sessions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { insertLoginToken, type MemberId } from '../../src/sessions/store.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp } from '../app.ts'
import type { Answer } from '../client.ts'
import { stopClock } from '../clock.ts'
import { Browser, signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { loginToken, newMember } from '../members.ts'

const app = await startApp()
const browser = () => new Browser(app)
const token = async (lifetimeMs?: number) => {
  const member = await newMember(app.storage, app.account)
  return insertLoginToken(app.storage, member, { ...(lifetimeMs && { lifetimeMs }) })
}
const signIn = '/app/sign-in'

/** Returns the cookies of a response by name. */
function cookiesOf({ headers }: Answer): Record<string, string> {
  return Object.fromEntries((headers['set-cookie'] ?? []).map((text) => text.split(/=(.*)/s).slice(0, 2)))
}

async function isOpen(of: Browser): Promise<boolean> {
  const { status } = await of.get('/app')
  assert.ok(status === 200 || status === 303)
  return status === 200
}

/** Returns a browser in which a member has signed in. */
async function signedInAs(member: MemberId): Promise<Browser> {
  const own = browser()
  const { status } = await own.post(signIn, { token: await insertLoginToken(app.storage, member) })
  assert.equal(status, 303)
  return own
}

const personOf = ({ id }: MemberId) => query.selectFrom('members').select('person_id').where('id', '=', id)

/** Returns the current session's row. */
async function ownSession(of: Browser): Promise<string> {
  const rows = allOf((await of.open('/app/profile')).root, 'tr').map(textOf)
  return rows.find((row) => row.includes('(this browser)')) ?? ''
}

describe('with a sign-in link', () => {
  test('redirects to the first page, once', async () => {
    const secret = await token()
    const [first, second] = [browser(), browser()]
    const link = ` http://127.0.0.1:3000/app/sign-in#${secret}\t`
    const { status, headers } = await first.post(signIn, { token: link })
    assert.deepEqual([status, headers.location], [303, '/app'])
    assert.ok(await isOpen(first))
    assert.match(await ownSession(first), /Unknown browser/)
    const again = await second.post(signIn, { token: secret })
    assert.equal(again.status, 422)
    assert.match(again.page.errorOf('token'), /was already used or has expired/)
    assert.ok(!(await isOpen(second)))
    const known = await first.post(signIn, { token: secret })
    assert.deepEqual([known.status, known.headers.location], [303, '/app'])
    assert.match((await first.open('/app')).said.join(), /already signed in/)
  })

  test('asks a signed-in browser first, because a link from someone else must not switch the account', async () => {
    const wayOf = async (of: Browser) => {
      const { root } = await of.open(signIn)
      const forms = allOf(root, 'form').flatMap(({ attributes }) => attributes.get('data-sign-in') ?? [])
      return { forms, isTold: textOf(root).includes('You’re already signed in to Acme') }
    }
    assert.deepEqual(await wayOf(browser()), { forms: ['now'], isTold: false })
    assert.deepEqual(await wayOf(await signedIn(app)), { forms: ['ask'], isTold: true })
  })

  test('returns 422 for an expired, unknown or malformed token, without repeating it', async () => {
    for (const secret of [await token(-1), `wml_${'A'.repeat(43)}`, '<script>', app.key]) {
      const { status, page, text } = await browser().post(signIn, { token: secret, next: '/app/links?page=2' })
      assert.equal(status, 422, secret)
      assert.deepEqual(page.refused, ['token'])
      assert.equal(page.value('token'), '')
      assert.ok(!text.includes(secret))
      assert.equal(page.form(signIn).next, '/app/links?page=2')
    }
  })
})

describe('with an API key', () => {
  test("returns 422 with the API's message for an invalid key", async () => {
    const revoked = await app.issueKey()
    await app.revokeKey(revoked.key)
    const expired = await app.createKey({ expiresAt: new Date(Date.now() - 1_000) })
    const unknown = await (await startApp()).createKey()
    for (const key of [revoked.secret, expired, unknown, 'wm_malformed', 'ü', `${app.key}x`]) {
      const { page, status, text } = await new Browser(app).post(signIn, { api_key: key })
      const said = await app.send('GET', '/api/v1/me', { key: Buffer.from(key).toString('latin1') })
      assert.deepEqual([status, said.status], [422, 401])
      assert.ok(page.errorOf('api_key').includes(said.body.detail), page.errorOf('api_key'))
      assert.deepEqual(page.refused, ['api_key'])
      assert.equal(page.value('api_key'), '')
      assert.ok(!text.includes(key) || key === 'ü')
    }
  })

  test('returns 422 for a missing key, and for a key without the scope *', async () => {
    const all = ['domains:read', 'domains:write', 'spaces:read', 'spaces:write', 'links:read', 'links:write'] as const
    const own = browser()
    const { status, page } = await own.post(signIn, { api_key: await app.createKey({ scopes: all }) })
    assert.equal(status, 422)
    assert.match(page.errorOf('api_key'), /\* scope/)
    for (const form of [{}, { api_key: '' }, { api_key: '  ', token: '' }]) {
      assert.match((await own.post(signIn, form)).page.errorOf('api_key'), /Paste an API key/)
    }
    const twice = await own.post(signIn, {}, { form: `api_key=${app.key}&api_key=${app.key}` })
    assert.equal(twice.status, 422)
    assert.equal(own.cookies.size, 0)
    assert.equal((await own.post(signIn, { api_key: ` ${app.key}\n` })).status, 303)
    assert.ok(await isOpen(own))
  })
})

describe('forms without a session', () => {
  test('return 413 for more than 4 KiB', async () => {
    for (const [path, status] of [
      [signIn, 422],
      ['/app/scheme', 303],
    ] as const) {
      const statusOf = async (length: number) =>
        (await browser().post(path, {}, { form: 'x='.padEnd(length, 'x') })).status
      assert.deepEqual([await statusOf(4_097), await statusOf(4_096)], [413, status])
    }
  })

  test('redirect to the overview instead of a path that does not fit', async () => {
    const long = (length: number) => `/app/links/new?url=${'%2F'.repeat((length - '/app/links/new?url='.length) / 3)}`
    for (const [next, location] of [
      [long(1_200), long(1_200)],
      [long(1_203), '/app'],
    ] as const) {
      const own = browser()
      const { page } = await own.get(`${signIn}?next=${encodeURIComponent(next)}`)
      const sent = await own.post(signIn, { ...page.form(signIn), token: '', api_key: app.key })
      assert.deepEqual([sent.status, sent.headers.location], [303, location])
      const { page: about } = await own.get(next.replace('/app/links/new', '/app/about'))
      assert.equal((await own.submit(about, '/app/scheme', { scheme: 'dark' })).status, 303)
    }
  })
})

describe('the session cookie', () => {
  test('is HttpOnly and SameSite, and has a prefix and Secure over HTTPS', async () => {
    const https = { 'x-forwarded-proto': 'https' }
    const rows = [
      [{}, https, 'waymark', ''],
      [{ baseUrl: 'https://links.example.com' }, {}, '__Host-waymark', '; Secure'],
      [{ baseUrl: 'http://links.example.com' }, {}, 'waymark', ''],
      [{ trustProxy: 1 }, https, '__Host-waymark', '; Secure'],
      [{ trustProxy: 1 }, {}, 'waymark', ''],
    ] as const
    for (const [options, headers, name, secure] of rows) {
      const app = await startApp(options)
      const own = new Browser(app)
      own.headers = headers
      const cookies = cookiesOf(await own.post(signIn, { api_key: app.key }))
      assert.deepEqual(Object.keys(cookies), [name])
      assert.match(String(cookies[name]), /^wms_[\w-]{43}; /)
      const attributes = String(cookies[name]).replace(/^[^;]*/, '')
      assert.equal(attributes, `; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000${secure}`)
      assert.ok(await isOpen(own))
      const wrong = new Browser(app)
      wrong.headers = headers
      wrong.cookies.set(name === 'waymark' ? '__Host-waymark' : 'waymark', own.cookies.get(name) ?? '')
      assert.ok(!(await isOpen(wrong)))
      const out = await own.post('/app/sign-out')
      assert.equal(cookiesOf(out)[name], `; Path=/; HttpOnly; SameSite=Lax; Max-Age=0${secure}`)
    }
  })

  test('is new at each sign-in, and the previous session ends', async () => {
    const planted = `wms_${'A'.repeat(43)}`
    const own = browser()
    own.cookies.set('waymark', planted)
    await own.signIn(app.key)
    const first = own.cookies.get('waymark')
    assert.notEqual(first, planted)
    const thief = browser()
    thief.cookies.set('waymark', planted)
    assert.ok(!(await isOpen(thief)))
    await own.signIn(app.key)
    assert.notEqual(own.cookies.get('waymark'), first)
    thief.cookies.set('waymark', String(first))
    assert.ok(!(await isOpen(thief)))
    assert.ok(await isOpen(own))
  })

  test('is ignored if white space is part of its name', async () => {
    const own = await signedIn(app)
    const secret = own.cookies.get('waymark') ?? ''
    const statusWith = async (cookie: string) =>
      (await app.send('GET', '/app', { key: null, headers: { cookie } })).status
    assert.equal(await statusWith(`a=b; waymark=${secret}`), 200)
    assert.equal(await statusWith(`a=b;waymark=${secret}`), 200)
    for (const blank of ['\u00a0', '\u0085', '\t', '  '])
      assert.equal(await statusWith(`a=b; ${blank}waymark=${secret}`), 303)
  })
})

describe('a session ends immediately', () => {
  test('after signing out', async () => {
    const own = await signedIn(app)
    const kept = own.cookies.get('waymark') ?? ''
    const { status, headers } = await own.post('/app/sign-out')
    assert.deepEqual([status, headers.location, own.cookies.size], [303, signIn, 0])
    own.cookies.set('waymark', kept)
    assert.ok(!(await isOpen(own)))
    assert.equal((await own.post('/app/spaces', { name: 'Late' })).status, 303)
    assert.deepEqual((await app.send('GET', '/api/v1/spaces')).body.data, [])
  })

  test('when another browser ends it or all other sessions', async () => {
    const member = await newMember(app.storage, app.account)
    const [own, second, third] = [await signedInAs(member), await signedInAs(member), await signedInAs(member)]
    const stranger = await signedInAs(await newMember(app.storage, app.account))
    const page = await own.open('/app/profile')
    const ends = page.actions.filter((action) => /sessions\/\d+\/end$/.test(action))
    assert.equal(ends.length, 3)
    // Later sessions have higher ids.
    const [, secondEnd = ''] = ends.toSorted()
    assert.equal((await stranger.post(secondEnd)).status, 404)
    const after = await own.after(await own.submit(page, secondEnd))
    assert.match(after.said.join(), /^1 session ended\./)
    assert.deepEqual([await isOpen(own), await isOpen(second), await isOpen(third)], [true, false, true])
    await signedInAs(member)
    const last = await own.save('/app/profile', {}, '/app/profile/sessions/end-others')
    assert.match(last.said.join(), /2 sessions ended\./)
    assert.deepEqual([await isOpen(own), await isOpen(third), await isOpen(stranger)], [true, false, true])
    assert.equal((await own.post(secondEnd)).status, 404)
    const [self = ''] = (await own.open('/app/profile')).actions.filter((action) => /\d+\/end$/.test(action))
    const gone = await own.post(self)
    assert.deepEqual([gone.headers.location, own.cookies.size], [signIn, 0])
  })

  test('when all the person’s sessions end, in all accounts', async () => {
    const member = await newMember(app.storage, app.account)
    const [{ person_id: person } = { person_id: 0 }] = await app.storage.execute(personOf(member))
    const elsewhere = await newMember(app.storage, await app.createAccount(), { person })
    const [own, other, stranger] = [await signedInAs(member), await signedInAs(elsewhere), await signedIn(app)]
    const gone = await own.submit(await own.open('/app/profile'), '/app/profile/sessions/end-all')
    assert.deepEqual([gone.status, gone.headers.location, own.cookies.size], [303, signIn, 0])
    assert.deepEqual([await isOpen(own), await isOpen(other), await isOpen(stranger)], [false, false, true])
  })

  test('when its key is revoked', async () => {
    const { key, secret } = await app.issueKey()
    const [own, other] = [await signedIn(app, secret), await signedInAs(await newMember(app.storage, app.account))]
    assert.match((await other.save(`/app/keys/${key.id}/revoke`)).said.join(), /^Revoked the API key /)
    assert.deepEqual([await isOpen(own), await isOpen(other)], [false, true])
  })

  test('after 30 days, or when its key expires', async (t) => {
    stopClock(t)
    const days = 86_400_000
    const expiring = await app.createKey({ expiresAt: new Date(Date.now() + 7 * days) })
    const [own, short] = [await signedIn(app), await signedIn(app, expiring)]
    t.mock.timers.setTime(Date.now() + 7 * days)
    assert.deepEqual([await isOpen(own), await isOpen(short)], [true, false])
    t.mock.timers.setTime(Date.now() + 23 * days - 1)
    assert.ok(await isOpen(own))
    t.mock.timers.setTime(Date.now() + 1)
    assert.ok(!(await isOpen(own)))
  })
})

test('returns 429 with Retry-After after 300 failed attempts in a minute; a valid key still works', async (t) => {
  stopClock(t)
  const app = await startApp()
  const own = new Browser(app)
  const fail = () => own.post(signIn, { api_key: 'wm_wrong' })
  await signedIn(app)
  const { status, headers } = await fail()
  assert.deepEqual([status, headers['x-ratelimit-remaining']], [422, '299'], 'a successful attempt does not count')
  for (let left = 299; left > 0; left--) assert.equal((await fail()).status, 422)
  const refused = await fail()
  assert.equal(refused.status, 429)
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d?$/)
  assert.match(refused.page.text, /Try again in a minute/)
  assert.equal((await own.get(signIn)).status, 200)
  assert.equal((await own.post(signIn, { api_key: app.key })).status, 303)
})

test('never logs secrets', async () => {
  const app = await startApp()
  const link = await loginToken(app.storage, app.account)
  const own = new Browser(app)
  await own.post(signIn, { token: link })
  await own.signIn(app.key)
  await own.get(`/app/links?search=${app.key}`)
  await own.get('/app/links', { headers: { 'x-request-id': own.cookies.get('waymark') ?? '' } })
  const logged = JSON.stringify(app.logs)
  for (const secret of [link, app.key, own.cookies.get('waymark') ?? '']) assert.ok(!logged.includes(secret))
  assert.ok(app.logs.some(({ session }) => typeof session === 'number'))
})

test('redirects other names of this machine to localhost, where the session may be, and keeps the port', async () => {
  const path = '/app/links?search=a'
  const next = `/app/sign-in?next=${encodeURIComponent(path)}`
  const [local, elsewhere] = [
    await startApp({ baseUrl: 'http://localhost:3000' }),
    await startApp({ baseUrl: 'https://links.example.com' }),
  ]
  for (const [to, host, origin] of [
    [app, `127.0.0.1:${app.port}`, `http://localhost:${app.port}`],
    [app, `[::1]:${app.port}`, `http://localhost:${app.port}`],
    [local, '127.0.0.1:8080', 'http://localhost:8080'],
    [local, '[::1]:8081', 'http://localhost:8081'],
    [local, 'localhost:8080', ''],
    [elsewhere, `127.0.0.1:${elsewhere.port}`, ''],
  ] as const) {
    const { status, headers } = await new Browser(to).get(path, { headers: { host } })
    assert.deepEqual([status, headers.location], [303, origin + next], host)
  }
  assert.equal((await (await signedIn(app)).get(next)).headers.location, path)
})
