/** Forms act only in the account whose page has shown them. `test/roles.test.ts` sends every form from another account. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { insertPerson } from '../../src/members/store.ts'
import { startApp } from '../app.ts'
import { Browser, type Form, signedInMember } from '../dashboard.ts'
import { newPlace, type Place } from '../links-api.ts'
import { loginToken, newMember } from '../members.ts'

const app = await startApp()

/** Every change has an event, which is compared. */
async function stateOf({ send }: Place): Promise<unknown> {
  return [(await send('GET', '/events')).body.data, (await send('GET', '/me')).body.data.account]
}

for (const [title, path, action, values] of [
  ['an invitation of an owner', '/app/people/invite', '/app/people', { name: 'Olga', role: 'owner' }],
  ['a key for everything', '/app/keys/new', '/app/keys', { name: 'Key', task: 'everything', expires: 'never' }],
  ['the name of the account', '/app/account', '/app/account', { name: 'Renamed' }],
] as readonly [string, string, string, Form][]) {
  test(`${title} is stored only by a form that names the account of the session`, async () => {
    const [here, there] = [await newPlace(app), await newPlace(app)]
    const person = await app.storage.write((tx) => insertPerson(tx, null))
    const browser = new Browser(app)
    await browser.post('/app/sign-in', { token: await loginToken(app.storage, here.account, { person }) })
    await newMember(app.storage, there.account, { person })
    await browser.post('/app/switch', { account: String(there.account) })
    const before = await Promise.all([here, there].map(stateOf))
    const headers = { 'sec-fetch-site': 'same-origin' }
    const inAccount = ({ account }: Place): Form => ({ ...values, page_account: String(account) })
    for (const form of [
      values,
      { ...values, page_account: '' },
      inAccount(here),
      { ...values, switch_to: String(here.account) },
    ]) {
      const { status, page } = await browser.ask('POST', action, { form, headers })
      assert.deepEqual([status, page.value('name')], [409, values.name])
    }
    // The session ends while its form arrives.
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const type = 'application/x-www-form-urlencoded'
    const options = { host: '127.0.0.1', port: app.port, method: 'POST', path: action }
    const sent = request({
      ...options,
      headers: { ...headers, host: `localhost:${app.port}`, cookie, 'content-type': type },
    })
    const answered = once(sent, 'response')
    sent.write(`page_account=${there.account}&`)
    await browser.open('/app/about')
    await browser.ask('POST', '/app/sign-out', { form: {}, headers })
    sent.end(new URLSearchParams({ ...values, switch_to: String(here.account) }).toString())
    const [response] = await answered
    response.resume()
    assert.deepEqual([response.statusCode, response.headers.location], [303, '/app/sign-in'])
    assert.deepEqual(await Promise.all([here, there].map(stateOf)), before)

    const owner = await signedInMember(app, { account: there.account })
    const { status } = await owner.submit(await owner.open(path), action, values)
    assert.ok(status === 201 || status === 303, String(status))
    assert.notDeepEqual(await stateOf(there), before[1])
  })
}
