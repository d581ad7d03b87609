/** Invitations: their form and link, and joining with and without a session. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp, type TestApp } from '../app.ts'
import { stopClock } from '../clock.ts'
import { Browser, signedIn, signedInMember } from '../dashboard.ts'

const app = await startApp({ baseUrl: 'http://links.example.com' })
const join = '/app/join'

/** Invites someone in the dashboard, and returns the link's secret. */
async function invite(form: Readonly<Record<string, string>> = {}, to: TestApp = app): Promise<string> {
  const owner = await signedInMember(to, { name: 'Ana' })
  const { page } = await owner.submit(await owner.open('/app/people/invite'), '/app/people', {
    role: 'viewer',
    ...form,
  })
  const [token] = /wmi_[\w-]{43}/.exec(page.text) ?? assert.fail(page.text)
  return token
}

const opened = async (token: string, browser = new Browser(app)) => {
  const answer = await browser.post(join, { token })
  return { browser, page: await browser.after(answer) }
}

test('an invitation is shown once, with a text to send, and can be revoked', async () => {
  const owner = await signedInMember(app, { name: 'Ána' })
  const form = await owner.open('/app/people/invite')
  for (const role of ['Viewer', 'Editor', 'Admin', 'Owner']) assert.match(form.text, new RegExp(`${role} \\S`))
  const created = await owner.submit(form, '/app/people', { role: 'admin', name: 'Ben', email: 'ben@acme.com' })
  assert.deepEqual([created.status, created.page.heading], [201, 'Invitation for Ben'])
  assert.match(created.page.text, /http:\/\/links\.example\.com\/app\/join#wmi_[\w-]{43}/)
  assert.match(created.page.text, /Hello Ben, you’re invited to “Acme” on Waymark as admin\./)
  const list = await owner.open('/app/people')
  assert.match(list.text, /Open invitations.*Benben@acme\.comAdminÁnain 6 days/)
  assert.doesNotMatch(list.text, /wmi_/)
  const [revoke = ''] = list.actions.filter((action) => /revoke$/.test(action))
  assert.match((await owner.after(await owner.post(revoke))).said.join(), /^Revoked the invitation /)
  assert.equal((await owner.post(revoke)).status, 404)
  const [token = ''] = /wmi_[\w-]{43}/.exec(created.page.text) ?? []
  assert.equal((await new Browser(app).post(join, { token })).status, 422)
})

test('returns 422 with errors next to the fields of an invitation', async () => {
  const owner = await signedInMember(app)
  for (const [field, value, message] of [
    ['role', 'root', /one of the listed options/],
    ['name', 'x'.repeat(256), /at most 255 characters/],
    ['email', 'a\u0000b', /control characters/],
  ] as const) {
    const { status, page } = await owner.post('/app/people', { role: 'viewer', [field]: value })
    assert.equal(status, 422)
    assert.match(page.errorOf(field), message)
  }
  assert.equal((await owner.post('/app/people', { name: 'Ben' })).status, 422)
})

describe('a new person', () => {
  test('sees who invites them to what, and joins once', async () => {
    const token = await invite({ name: 'Ben', role: 'editor' })
    const { browser, page } = await opened(`http://links.example.com/app/join#${token} `)
    assert.match(page.text, /Ana invites you to the account Acme as editor\. Creates, changes and deletes links/)
    assert.equal(page.value('name'), 'Ben')
    const other = await opened(token)
    const empty = await browser.post(join, { name: ' ' })
    assert.equal(empty.status, 422)
    assert.match(empty.page.errorOf('name'), /Fill in “Your name”/)
    const welcome = await browser.after(await browser.submit(page, join, { name: 'Ben B.' }))
    assert.match(welcome.said.join(), /Welcome/)
    assert.match((await browser.open('/app/people')).text, /Ben B\. \(you\).*Editor/)
    const history = await browser.open('/app/history?record=member')
    assert.match(history.text, /Ben B\. joined the account and used the invitation Ben /)
    assert.equal(browser.cookies.has('waymark_invitation'), false)
    const late = await other.browser.post(join, { name: 'Eve' })
    assert.equal(late.status, 422)
    assert.match(late.page.errorOf('token'), /has expired, or it was used or withdrawn/)
  })

  test('gets the same response for every link that admits no one, which counts as a failed attempt', async (t) => {
    stopClock(t)
    const token = await invite()
    const used = await opened(token)
    await used.browser.post(join, { name: 'Ben' })
    const expired = await invite()
    t.mock.timers.setTime(Date.now() + 8 * 86_400_000)
    const texts = new Set<string>()
    let left = ''
    for (const secret of [token, expired, `wmi_${'A'.repeat(43)}`, 'x', '']) {
      const { status, page, text, headers } = await new Browser(app).post(join, { token: secret })
      assert.equal(status, 422)
      assert.ok(secret.length < 40 || !text.includes(secret))
      texts.add(page.text)
      assert.ok(left === '' || Number(headers['x-ratelimit-remaining']) === Number(left) - 1)
      left = String(headers['x-ratelimit-remaining'])
    }
    assert.equal(texts.size, 1)
    const guess = new Browser(app)
    guess.cookies.set('waymark_invitation', `wmi_${'B'.repeat(43)}`)
    assert.equal((await guess.get(join)).status, 422)
    assert.equal(guess.cookies.has('waymark_invitation'), false)
  })

  test('ends the browser’s key session', async () => {
    const browser = await signedIn(app)
    const before = browser.cookies.get('waymark') ?? ''
    const { page } = await opened(await invite(), browser)
    await browser.submit(page, join, { name: 'Ben' })
    const thief = new Browser(app)
    thief.cookies.set('waymark', before)
    assert.equal((await thief.get('/app')).status, 303)
    assert.match((await browser.open('/app/profile')).value('name'), /^Ben$/)
  })
})

test('a person who has signed in joins with their own identity, once, and switches between the accounts', async () => {
  const account = await app.createAccount()
  const cleo = await signedInMember(app, { account, name: 'Cleo', role: 'viewer' })
  const { page } = await opened(await invite({ role: 'admin' }), cleo)
  assert.match(page.text, /Join as Cleo/)
  const welcome = await cleo.after(await cleo.submit(page, join))
  assert.match(welcome.text, /Cleo in Acme.*Switch to Another/)
  assert.match((await cleo.open('/app/people')).text, /Cleo \(you\).*Admin/)
  const again = await opened(await invite(), cleo)
  assert.match(again.page.text, /already a member of Acme\. Someone else can still use/)
  const refused = await cleo.post(join)
  assert.equal(refused.status, 409)
  assert.match(refused.page.text, /already a member/)

  const there = await cleo.after(await cleo.post('/app/switch', { account: String(account) }))
  assert.match(there.text, /Cleo in Another.*Switch to Acme/)
  assert.match((await cleo.open('/app/profile')).text, /AcmeSwitch.*AnotherThis account/)
  for (const id of [await app.createAccount(), 999_999, 0, 'x']) {
    assert.equal((await cleo.post('/app/switch', { account: String(id) })).status, 404)
  }
})

test('offers a passkey on localhost, and only the link without scripts', async () => {
  const local = await startApp()
  const token = await invite({}, local)
  const browser = new Browser(local)
  const page = await browser.after(await browser.post(join, { token }))
  assert.match(page.text, /your fingerprint.*Join/)
  const options = await browser.ask('GET', '/app/join/passkey-options', {})
  assert.equal(JSON.parse(options.text).rp.id, 'localhost')
  assert.equal((await new Browser(local).get('/app/join/passkey-options')).status, 404)
  const refused = await browser.post(join, { name: 'Ben', credential: '{}' })
  assert.equal(refused.status, 422)
  assert.match(refused.page.text, /passkey couldn’t be verified/)
  assert.equal((await browser.submit(page, join, { name: 'Ben' })).headers.location, '/app')
})

test('never logs the secret of an invitation', async () => {
  const own = await startApp()
  const token = await invite({}, own)
  const browser = new Browser(own)
  await browser.follow(await browser.post(join, { token }))
  await browser.get(`/app/join?token=${token}`)
  assert.ok(!JSON.stringify(own.logs).includes(token))
})
