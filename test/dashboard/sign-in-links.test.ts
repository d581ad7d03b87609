/** Sign-in links that the dashboard creates, and the names of sessions and keys. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import { Browser, signedIn } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'

const app = await startApp()
const signIn = '/app/sign-in'

describe('a sign-in link for someone else', () => {
  test('is shown once, and its session and keys show the name', async () => {
    const app = await startApp()
    const own = await signedIn(app)
    const created = await own.submit(await own.open('/app/sessions/new'), '/app/sessions', { name: ' A\u0301na ' })
    assert.deepEqual([created.status, created.page.heading], [201, 'Sign-in link for Ána'])
    assert.match(created.page.text, /full access to this account/)
    const [link = ''] = /http:\/\/localhost:\d+\/app\/sign-in#wml_[\w-]{43}/.exec(created.page.text) ?? []
    const [copy] = allOf(created.page.root, 'button', { 'data-copy': link })
    assert.equal(copy && textOf(copy).startsWith('Copy link'), true)
    assert.match(created.page.text, /works only on this machine.*set BASE_URL/)
    const ana = new Browser(app)
    assert.equal((await ana.post(signIn, { token: link })).status, 303)
    assert.match(textOf((await ana.open('/app/sessions')).root), /Ána · Unknown browser \(this browser\)/)
    await ana.post('/app/keys', { name: 'CI', expires: 'never', '*': 'true' })
    assert.match((await own.open('/app/keys')).text, /CI.*Created by Ána/)
    assert.match((await own.open('/app/sessions')).text, /Ána · /)
  })

  test('names no machine if BASE_URL is public', async () => {
    const app = await startApp({ baseUrl: 'https://links.example.com' })
    const { page } = await (await signedIn(app)).post('/app/sessions', { name: '' })
    assert.match(page.text, /https:\/\/links\.example\.com\/app\/sign-in#wml_/)
    assert.doesNotMatch(page.text, /BASE_URL/)
  })

  test('returns 422 for long names and control characters', async () => {
    const own = await signedIn(app)
    for (const [name, message] of [
      ['x'.repeat(256), /at most 255 characters/],
      ['a\u0000b', /control characters/],
    ] as const) {
      const { status, page } = await own.post('/app/sessions', { name })
      assert.equal(status, 422)
      assert.match(page.errorOf('name'), message)
    }
  })

  test('stops working when the session that created it ends', async () => {
    const own = await signedIn(app)
    const { text } = await own.post('/app/sessions', { name: 'Ana' })
    const [secret = ''] = /wml_[\w-]{43}/.exec(text) ?? []
    await own.post('/app/sign-out')
    assert.equal((await new Browser(app).post(signIn, { token: secret })).status, 422)
  })
})
