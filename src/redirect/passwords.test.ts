import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startVisitors } from '../../test/visitors.ts'
import { createSemaphores } from '../app/semaphores.ts'
import { hashPassword } from '../links/password.ts'
import { Passwords } from './passwords.ts'

const url = 'https://acme.com/#top'
const secret = 'http://go.acme.com/secret'
const longAgo = '1970-01-01T00:00:00.000Z'
const redirect_password = await hashPassword('swordfish')

interface Secret {
  readonly forward_query?: boolean
  readonly active_period_end_at?: string
  readonly redirect_password?: null
}

async function serving(more: Secret = {}) {
  const links = ['secret', 'other'].map((alias) => ({ alias, url, redirect_password, ...more }))
  const listener = await startVisitors({ 'go.acme.com': { links } }, { trustProxy: 1 })
  const post = (password: string, { from = '192.0.2.1', path = 'secret', accept = 'text/html' } = {}) =>
    listener.visit(`http://go.acme.com/${path}`, {
      method: 'POST',
      form: { redirect_password: password },
      headers: { 'x-forwarded-for': from, accept },
    })
  return { ...listener, post }
}

test('returns 401 with a form, and 303 with the forwarded query for the right password', async () => {
  const { visit, post, clicks } = await serving({ forward_query: true })
  const asked = await visit(secret)
  assert.equal(asked.status, 401)
  assert.doesNotMatch(asked.text, /acme\.com\/#top|role="alert"/)
  const head = await visit(secret, { method: 'HEAD' })
  assert.deepEqual([head.status, head.text], [401, ''])
  const right = await post('swordfish', { path: 'secret?a=1' })
  assert.deepEqual([right.status, right.headers.location], [303, 'https://acme.com/?a=1#top'])
  assert.deepEqual(clicks, [1])
})

test('returns 401 with an error for a wrong password, as a page or a problem object', async () => {
  const { post, clicks } = await serving()
  for (const wrong of ['', 'Swordfish', 'x'.repeat(129), '💩'.repeat(128)]) {
    const { status, text } = await post(wrong)
    assert.equal(status, 401)
    assert.match(text, /role="alert">Wrong password/)
  }
  const { status, body } = await post('wrong', { accept: 'application/json' })
  assert.deepEqual([status, body.code, body.detail], [401, 'password_required', 'Wrong password.'])
  assert.deepEqual(clicks, [])
})

test('returns 410 for an expired link, and 405 for a POST to a link without a password', async () => {
  const { visit } = await serving({ active_period_end_at: longAgo })
  const form = { redirect_password: 'swordfish' }
  assert.equal((await visit(secret)).status, 410)
  assert.equal((await visit(secret, { method: 'POST', form })).status, 410)
  const open = await serving({ active_period_end_at: longAgo, redirect_password: null })
  assert.equal((await open.visit(secret, { method: 'POST', form })).status, 405)
})

/** Stops the clock of the test. Returns a function that advances it by some milliseconds. */
function stopClock(t: TestContext): (ms: number) => void {
  let now = 1_000_000
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => now)
  return (ms) => {
    now += ms
    t.mock.timers.tick(ms)
  }
}

test('returns 429 after ten wrong passwords per minute for one link from one network', async (t) => {
  const advance = stopClock(t)
  const { post, visit } = await serving()
  const many = await Promise.all(Array.from({ length: 12 }, (_, n) => post('wrong', { from: `2001:db8::${n + 1}` })))
  assert.deepEqual(many.map(({ status }) => status).sort(), [...Array(10).fill(401), 429, 429])
  const refused = await post('swordfish', { from: '2001:db8::99' })
  assert.equal(refused.status, 429)
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d?$/)
  assert.match(refused.text, /Too many wrong passwords/)
  assert.equal((await post('swordfish', { from: '2001:db8:0:1::1' })).status, 303)
  assert.equal((await post('swordfish', { from: '2001:db8::1', path: 'other' })).status, 303)
  assert.equal((await visit(secret)).status, 401)
  advance(60_000)
  assert.equal((await post('swordfish', { from: '2001:db8::99' })).status, 303)
})

/** A hash that takes a fraction of a millisecond. */
const quickHash = `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Returns whether a wrong password from this address is checked. */
const isChecked = async (passwords: Passwords, address: string) =>
  (await passwords.judge(1, address, 'wrong', quickHash)) === false

test('checks at most ten wrong passwords in any minute, whatever the pauses', async (t) => {
  const advance = stopClock(t)
  const passwords = new Passwords(createSemaphores())
  const times: number[] = []
  let now = 0
  for (let n = 1; n < 500; n += 1) {
    if (await isChecked(passwords, '192.0.2.1')) times.push(now)
    const pause = (n * 7_919) % 10_000
    advance(pause)
    now += pause
  }
  assert.ok(times.length > 300)
  for (const [at, time] of times.slice(10).entries()) assert.ok(time - (times[at] as number) >= 60_000)
})

test('checks new networks above the maximum without a limit, until older ones are dropped', async (t) => {
  const advance = stopClock(t)
  const passwords = new Passwords(createSemaphores(), 2)
  for (const address of ['192.0.2.1', '192.0.2.2']) assert.ok(await isChecked(passwords, address))
  for (let n = 0; n < 30; n++) assert.ok(await isChecked(passwords, '192.0.2.3'))
  assert.equal(await passwords.judge(1, '192.0.2.3', 'swordfish', redirect_password), true)
  for (let n = 0; n < 9; n++) assert.ok(await isChecked(passwords, '192.0.2.1'))
  assert.equal(await isChecked(passwords, '192.0.2.1'), false)
  advance(60_000)
  for (let n = 0; n < 10; n++) assert.ok(await isChecked(passwords, '192.0.2.3'))
  assert.equal(await isChecked(passwords, '192.0.2.3'), false)
})

test('never counts passwords that no link can have', async () => {
  const { post } = await serving()
  const impossible = ['', ' \u200b', 'x'.repeat(129)]
  for (let n = 0; n < 12; n++) assert.equal((await post(impossible[n % 3] as string)).status, 401)
  assert.equal((await post('swordfish')).status, 303)
  for (let n = 0; n < 10; n++) await post('wrong')
  assert.equal((await post('')).status, 401, 'after the limit, too')
  assert.equal((await post('swordfish')).status, 429)
})

test('returns 400, 413 or 415 for an unreadable form, a large form or another media type', async () => {
  const { visit } = await serving()
  const send = async (body: string, type = 'application/x-www-form-urlencoded') =>
    (await visit(secret, { method: 'POST', body, headers: { 'content-type': type } })).status
  assert.equal(await send('redirect_password=%zz'), 400)
  assert.equal(await send(`redirect_password=${'x'.repeat(5_000)}`), 413)
  assert.equal(await send('{"redirect_password":"swordfish"}', 'application/json'), 415)
  assert.equal(await send('redirect_password=swordfish', 'text/plain'), 415)
  assert.equal(await send('redirect_password=swordfish&redirect_password=swordfish'), 401)
  assert.equal(await send('password=swordfish'), 401)
  assert.equal(await send('redirect_password=swordfish', 'application/x-www-form-urlencoded; charset=UTF-8'), 303)
})

test('rejects a flood of guesses without delaying other visitors', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const links = [
    { alias: 'secret', url, redirect_password },
    { alias: 'a', url },
  ]
  const { visit } = await startVisitors({ 'go.acme.com': { links } }, { trustProxy: 1 })
  const send = (redirect_password: string, address: string) =>
    visit(secret, { method: 'POST', form: { redirect_password }, headers: { 'x-forwarded-for': address } })
  const ended: string[] = []
  const guesses = Array.from({ length: 60 }, async (_, n) => {
    const { status } = await send(`${n}`, '192.0.2.1')
    ended.push('guess')
    return status
  })
  // A visitor from elsewhere waits for one guess or two, not for all of them.
  const other = send('swordfish', '198.51.100.1').then(({ status }) => {
    ended.push('other')
    return status
  })
  assert.equal((await visit('http://go.acme.com/a')).status, 302)
  assert.equal(await other, 303)
  const counts = Map.groupBy(await Promise.all(guesses), (status) => status)
  assert.deepEqual([...counts.keys()].sort(), [401, 429, 503])
  assert.equal(counts.get(401)?.length, 10)
  assert.notEqual(ended.at(-1), 'other')
})

test('returns 303 for many concurrent right passwords from one IP address', async () => {
  const { visit } = await startVisitors({ 'go.acme.com': { links: [{ alias: 'secret', url, redirect_password }] } })
  const form = { redirect_password: ' swordfish ' }
  const answers = await Promise.all(Array.from({ length: 12 }, () => visit(secret, { method: 'POST', form })))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [303])
})
