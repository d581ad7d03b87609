/** The page of people, pages of members, the profile, and the settings of the account. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemActor } from '../../src/access/actor.ts'
import type { Role } from '../../src/access/roles.ts'
import { createKey } from '../../src/keys/store.ts'
import { changeMember } from '../../src/members/changes.ts'
import { createInvitation } from '../../src/members/invitations.ts'
import { insertPerson } from '../../src/members/store.ts'
import { insertLoginToken } from '../../src/sessions/store.ts'
import type { Storage } from '../../src/storage/port.ts'
import type { Query } from '../../src/storage/schema.ts'
import { startApp, type TestApp } from '../app.ts'
import { Browser, signedIn, signedInMember } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { newMember } from '../members.ts'

const people = '/app/people'

const newestEvent = async ({ send }: TestApp) => (await send('GET', '/api/v1/events')).body.data[0]

/** An app with the owner Ana, whose browser is `owner`, and with the member Ben. */
async function startTeam(role: Role = 'editor') {
  const app = await startApp()
  const owner = await signedInMember(app, { name: 'Ana', email: 'ana@acme.com' })
  const ben = await newMember(app.storage, app.account, { name: 'Ben', role })
  const signInBen = async () => {
    const browser = new Browser(app)
    await browser.post('/app/sign-in', { token: await insertLoginToken(app.storage, ben) })
    return browser
  }
  return { app, owner, ben, page: `${people}/${ben.id}`, signInBen }
}

const isOpen = async (browser: Browser) => (await browser.get('/app')).status === 200

test('lists members with role, ways to sign in and last use, and searches names and addresses', async () => {
  const { app, owner } = await startTeam()
  const rows = allOf((await owner.open(people)).root, 'tr').map(textOf)
  assert.match(String(rows[1]), /^\s*Ana \(you\)ana@acme\.comOwnerSign-in link onlyjust now$/)
  assert.match(String(rows[2]), /^\s*BenEditorSign-in link onlyNever$/)
  for (let n = 0; n < 26; n++)
    await newMember(app.storage, app.account, { name: `Member ${n + 10}`, email: `${n}@acme.com` })
  assert.match((await owner.open(people)).text, /1–25 of 28/)
  const found = await owner.open(`${people}?search=ANA%40`)
  assert.equal(allOf(found.root, 'tr').length, 2)
  assert.match((await owner.open(`${people}?search=nobody`)).text, /No member matches/)
})

test('only owners see controls, and only owners and admins see sessions and keys', async () => {
  const { owner, page, signInBen, app } = await startTeam('viewer')
  await signInBen()
  for (const [browser, hasControls, seesSessions] of [
    [owner, true, true],
    [await signedInMember(app, { name: 'Cleo', role: 'admin' }), false, true],
    [await signedInMember(app, { name: 'Dan', role: 'editor' }), false, false],
    [await signedIn(app), true, false],
  ] as const) {
    const [list, member] = [await browser.open(people), await browser.open(page)]
    assert.equal(list.links.includes(`${people}/invite`), hasControls)
    assert.equal(list.links.includes(page), hasControls || seesSessions)
    assert.equal(member.links.includes(`${page}/remove`), hasControls)
    assert.equal(member.actions.includes(page), hasControls)
    assert.equal(/Unknown browser/.test(member.text), seesSessions)
    assert.equal(member.actions.includes(`${page}/end-sessions`), hasControls && seesSessions)
  }
})

test('changes a role, and ends one session of a member or all', async () => {
  const { owner, page, signInBen, app } = await startTeam('viewer')
  const ben = await signInBen()
  assert.equal((await ben.get('/app/links/new')).status, 403)
  assert.match((await owner.save(page, { role: 'editor' })).said.join(), /^Changed the role of the member Ben\./)
  assert.equal((await ben.get('/app/links/new')).status, 200)
  const { actor, type, changes } = await newestEvent(app)
  assert.deepEqual([actor.name, type, changes], ['Ana', 'member.updated', { role: ['viewer', 'editor'] }])
  assert.equal((await owner.post(page, { role: 'root' })).status, 422)
  assert.equal((await owner.post(`${people}/99999`, { role: 'viewer' })).status, 404)

  const [second, third] = [await signInBen(), await signInBen()]
  const { session = '' } = (await owner.open(page)).form(`${page}/end-sessions`)
  assert.match(
    (await owner.after(await owner.post(`${page}/end-sessions`, { session }))).said.join(),
    /^1 session ended/,
  )
  assert.equal((await owner.post(`${page}/end-sessions`, { session })).status, 404)
  const open = await Promise.all([ben, second, third].map(isOpen))
  assert.equal(open.filter(Boolean).length, 2)
  assert.match((await owner.after(await owner.post(`${page}/end-sessions`))).said.join(), /2 sessions ended/)
  assert.deepEqual(await Promise.all([ben, second, third].map(isOpen)), [false, false, false])
})

describe('removing a member', () => {
  async function leaving({ app, ben, owner, page }: Awaited<ReturnType<typeof startTeam>>) {
    const actor = { ...systemActor(app.account), kind: 'member', id: ben.id, name: 'Ben' } as const
    await changeMember(app.storage, systemActor(app.account), ben.id, { role: 'owner' })
    const { key, secret } = await createKey(app.storage, actor, { name: 'CI', scopes: ['*'], lifetimeMs: null })
    const { secret: invitation } = await createInvitation(app.storage, actor, {
      role: 'viewer',
      name: 'Eve',
      email: null,
    })
    const link = await insertLoginToken(app.storage, ben)
    return { key, secret, invitation, link, question: await owner.open(`${page}/remove`) }
  }

  test('lists access that ends, and ends it', async () => {
    const team = await startTeam()
    const { owner, page, signInBen, app } = team
    const browser = await signInBen()
    const { secret, invitation, link, question } = await leaving(team)
    assert.match(question.text, /1 session, within seconds/)
    assert.match(question.text, /1 unused sign-in link/)
    assert.match(question.text, /1 invitation that they created: Eve/)
    assert.match(question.text, /1 API key that they created.*CI.*Never/)
    assert.match(question.text, /Remove BenCancel/)
    assert.match(
      (await owner.after(await owner.submit(question, `${page}/remove`))).said.join(),
      /^Removed the member /,
    )
    assert.equal(await isOpen(browser), false)
    assert.equal((await app.send('GET', '/api/v1/links', { key: secret })).status, 401)
    assert.equal((await new Browser(app).post('/app/join', { token: invitation })).status, 422)
    assert.equal((await new Browser(app).post('/app/sign-in', { token: link })).status, 422)
    assert.equal((await owner.get(page)).status, 404)
  })

  test('keeps the keys that programs use', async () => {
    const team = await startTeam()
    const { owner, page, app } = team
    const { secret, question } = await leaving(team)
    await owner.submit(question, `${page}/remove`, { keep_keys: 'true' })
    assert.equal((await app.send('GET', '/api/v1/links', { key: secret })).status, 200)
  })

  test('is not offered for the last owner, and returns 409', async () => {
    const { owner, app } = await startTeam()
    const own = (await owner.open(people)).links.find((link) => /people\/\d+$/.test(link)) ?? ''
    const page = await owner.open(own)
    assert.match(page.text, /the account’s only owner/)
    assert.deepEqual([page.actions.includes(own), page.links.includes(`${own}/remove`)], [false, false])
    assert.equal((await owner.get(`${own}/remove`)).status, 409)
    for (const path of [own, `${own}/remove`]) {
      const { status, page: refused } = await owner.post(path, { role: 'viewer' })
      assert.equal(status, 409, path)
      assert.match(refused.text, /This is the account’s only owner\. Make another member an owner first\./)
      assert.ok(refused.links.includes(people))
    }
    await newMember(app.storage, app.account, { role: 'owner' })
    const gone = await owner.post(`${own}/remove`)
    assert.deepEqual([gone.headers.location, owner.cookies.size], ['/app/sign-in', 0])
  })
})

describe('the profile', () => {
  test('changes the name and the time zone of forms', async () => {
    const { app, signInBen } = await startTeam('viewer')
    const ben = await signInBen()
    const after = await ben.save('/app/profile', { name: ' Be\u0301n ', time_zone: 'Asia/Kolkata' })
    assert.match(after.said.join(), /Profile saved/)
    assert.equal(after.value('name'), 'Bén')
    assert.match(after.text, /Bén: menu/)
    const { type, changes } = await newestEvent(app)
    assert.deepEqual([type, changes], ['member.updated', { name: ['Ben', 'Bén'] }])
    for (const [field, value] of [
      ['name', ''],
      ['name', 'x'.repeat(256)],
      ['time_zone', 'Mars/Olympus'],
    ] as const) {
      const { status, page } = await ben.post('/app/profile', { name: 'Ben', [field]: value })
      assert.deepEqual([status, page.refused], [422, [field]])
    }
    assert.equal((await ben.open('/app/profile')).value('time_zone'), 'Asia/Kolkata')
  })

  test('is only for people', async () => {
    const app = await startApp()
    const browser = await signedIn(app)
    assert.equal((await browser.open('/app/profile')).actions.includes('/app/profile'), false)
    for (const path of ['/app/profile', '/app/profile/time-zone', '/app/switch'])
      assert.equal((await browser.post(path, { name: 'x', account: '1', time_zone: 'UTC' })).status, 403, path)
  })
})

describe('times', () => {
  async function place(app: TestApp) {
    const editor = await signedInMember(app, { name: 'Ana' })
    await app.send('POST', '/api/v1/domains', { json: { name: 'go.acme.com' } })
    return editor
  }
  const stored = async (app: TestApp) => (await app.send('GET', '/api/v1/links')).body.data[0].active_period_end_at

  test('are in the zone that the browser reports once, otherwise in that of the account', async () => {
    const app = await startApp()
    const ana = await place(app)
    assert.match((await ana.open('/app/links/new')).text, /Stops working on \(UTC\)/)
    assert.match((await ana.get('/app')).text, /data-zone-unknown/)
    await ana.save('/app/account', { time_zone: 'Asia/Tokyo' })
    assert.match((await ana.open('/app/links/new')).text, /Stops working on \(Asia\/Tokyo\)/)
    for (const [sent, shown] of [
      ['nonsense', 'Asia/Tokyo'],
      ['America/New_York', 'America/New_York'],
      ['Europe/Berlin', 'America/New_York'],
    ] as const) {
      assert.equal((await ana.post('/app/profile/time-zone', { time_zone: sent })).status, 303)
      assert.ok((await ana.open('/app/links/new')).text.includes(`(${shown})`), sent)
    }
    assert.doesNotMatch((await ana.get('/app')).text, /data-zone-unknown/)
    assert.equal((await ana.open('/app/import')).value('time_zone'), 'Asia/Tokyo')
  })

  test('are stored in UTC, and an unedited time stays the same, even when clocks go back', async () => {
    const app = await startApp()
    const ana = await place(app)
    await ana.save('/app/profile', { time_zone: 'Europe/Berlin' })
    const page = await ana.open('/app/links/new')
    const typed = { url: 'https://acme.com', alias: 'a', active_period_end_at: '2090-07-02T09:30' }
    assert.equal((await ana.submit(page, '/app/links', typed)).status, 303)
    assert.equal(await stored(app), '2090-07-02T07:30:00.000Z')
    const edit = async (change: Record<string, string>) => {
      const form = await ana.open('/app/links/1/edit')
      assert.equal((await ana.submit(form, '/app/links/1', change)).status, 303)
      return form.value('active_period_end_at')
    }
    for (const [at, local] of [
      ['2090-10-29T00:30:00.000Z', '2090-10-29T02:30'],
      ['2090-10-29T01:30:00.000Z', '2090-10-29T02:30'],
      ['2090-03-04T05:06:07.890Z', '2090-03-04T06:06:07.89'],
      ['9999-12-31T23:59:00.000Z', '10000-01-01T00:59'],
    ] as const) {
      await app.send('PATCH', '/api/v1/links/1', { json: { active_period_end_at: at } })
      assert.equal(await edit({ title: at }), local)
      assert.equal(await stored(app), at)
    }
    await edit({ active_period_end_at: '2090-03-26T02:30' })
    assert.equal(await stored(app), '2090-03-26T01:30:00.000Z')
    assert.match((await ana.open('/app/links/1')).text, /Stops working onMar 26, 2090, 03:30 GMT\+2/)
  })

  test('keep the zone that the form has shown, and invalid ones stay as typed', async () => {
    const app = await startApp()
    const ana = await place(app)
    const page = await ana.open('/app/links/new')
    await ana.save('/app/profile', { time_zone: 'Asia/Tokyo' })
    const typed = { url: 'https://acme.com', alias: 'a', active_period_end_at: '2090-07-02T09:30' }
    assert.equal((await ana.submit(page, '/app/links', typed)).status, 303)
    assert.equal(await stored(app), '2090-07-02T09:30:00.000Z')
    for (const end of ['2090-02-30T10:00', '12026-11-22T10:00', 'tomorrow']) {
      const { status, page } = await ana.post('/app/links/1', { ...typed, active_period_end_at: end, zone: '<b>' })
      assert.equal(status, 422, end)
      assert.equal(page.value('active_period_end_at'), end)
      assert.equal(page.value('zone'), 'Asia/Tokyo')
    }
  })
})

test('an account can turn off sign-in with keys, which ends their sessions and says why', async () => {
  const { app, owner } = await startTeam()
  const byKey = await signedIn(app)
  assert.match((await byKey.open('/app/account')).text, /Sign-in with API keysKeys with the scope \* can sign in/)
  assert.equal((await byKey.post('/app/account', { name: 'x', time_zone: 'UTC' })).status, 403)
  await owner.save('/app/account', { key_sign_in: 'false' })
  assert.deepEqual((await newestEvent(app)).changes, { key_sign_in: [true, false] })
  assert.equal(await isOpen(byKey), false)
  const { status, page } = await new Browser(app).post('/app/sign-in', { api_key: app.key })
  assert.equal(status, 422)
  assert.match(page.errorOf('api_key'), /API keys can’t sign in to this account/)
  await owner.save('/app/account', { name: 'Acme 2' })
  assert.equal((await owner.open('/app/account')).value('key_sign_in'), 'false')
  await owner.save('/app/account', { key_sign_in: 'true' })
  assert.equal(await isOpen(byKey), false)
  assert.ok(await isOpen(await signedIn(app)))
})

test('a page reads the database once more for people with several accounts, and otherwise as often as for a key', async () => {
  const reads: string[] = []
  const counting = (real: Storage) =>
    new Proxy(real, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (name === 'execute')
          return (query: Query<unknown>) => {
            reads.push(query.compile().sql)
            return target.execute(query)
          }
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const app = await startApp({ storage: counting })
  // The fewest of several pages, because background work reads accounts too.
  const readsOf = async (browser: Browser) => {
    const counts: number[] = []
    for (let page = 0; page < 3; page++) {
      reads.length = 0
      await browser.open('/app/about')
      counts.push(reads.filter((sql) => /from "(?:sessions|members|people|accounts)"/.test(sql)).length)
    }
    return Math.min(...counts)
  }
  const byKey = await readsOf(await signedIn(app))
  assert.ok(byKey > 0)
  const person = await app.storage.write((tx) => insertPerson(tx, null))
  const ana = await signedInMember(app, { person })
  assert.equal(await readsOf(ana), byKey)
  await newMember(app.storage, await app.createAccount(), { person })
  assert.equal(await readsOf(ana), byKey + 1)
})
