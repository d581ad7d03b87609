import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer } from '../../test/client.ts'
import { stopClock } from '../../test/clock.ts'

const path = '/api/v1/spaces'

/** The numbers of the rate-limit headers. */
function limitsOf({ headers }: Answer) {
  const [, policy, q, w] = /^"(\w+)";q=(\d+);w=(\d+)$/.exec(String(headers['ratelimit-policy'])) ?? []
  const [, name, r, t] = /^"(\w+)";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? []
  assert.equal(name, policy)
  assert.equal(headers['x-ratelimit-limit'], q)
  assert.equal(headers['x-ratelimit-remaining'], r)
  return { policy, q: Number(q), w: Number(w), r: Number(r), t: Number(t), reset: Number(headers['x-ratelimit-reset']) }
}

test('200 with the remaining requests of the key in both kinds of headers', async (t) => {
  stopClock(t)
  const app = await startApp({ rateLimit: 10 })
  for (let left = 9; left >= 7; left--) {
    const now = Math.floor(Date.now() / 1000)
    const { policy, q, w, r, t, reset } = limitsOf(await app.send('GET', path))
    assert.deepEqual({ policy, q, w, r }, { policy: 'key', q: 10, w: 60, r: left })
    assert.ok(t >= 1 && t <= 60)
    assert.ok(reset >= now + t - 1 && reset <= now + t + 2, `reset ${reset} is not ${t} seconds after ${now}`)
  }
})

test('429 once the key has used up its requests, with Retry-After no smaller than t, but not for other keys', async (t) => {
  stopClock(t)
  const app = await startApp({ rateLimit: 3 })
  for (let index = 0; index < 3; index++) assert.equal((await app.send('GET', path)).status, 200)
  for (let index = 0; index < 3; index++) {
    const answer = await app.send('GET', path)
    assert.deepEqual([answer.status, answer.body.code], [429, 'rate_limited'])
    const { r, t } = limitsOf(answer)
    assert.equal(r, 0)
    assert.match(String(answer.headers['retry-after']), /^\d+$/)
    assert.ok(Number(answer.headers['retry-after']) >= t && t >= 1)
  }
  const other = await app.send('GET', path, { key: await app.createKey() })
  assert.deepEqual([other.status, limitsOf(other).r], [200, 2])
})

test('counts every response to a key, whatever its status', async (t) => {
  stopClock(t)
  const app = await startApp({ rateLimit: 5 })
  const key = await app.createKey({ scopes: ['spaces:read'] })
  const left: number[] = []
  left.push(limitsOf(await app.send('GET', `${path}/9`, { key })).r)
  left.push(limitsOf(await app.send('POST', path, { key })).r)
  left.push(limitsOf(await app.send('GET', `${path}?zzz=1`, { key })).r)
  left.push(limitsOf(await app.send('HEAD', path, { key })).r)
  assert.deepEqual(left, [4, 3, 2, 1])
})

test('429 after 300 failed authentications of an address, while valid keys still work', async (t) => {
  stopClock(t)
  const app = await startApp({ rateLimit: 1_000 })
  const failed = () => app.send('GET', path, { key: 'wm_wrong' })
  const first = await failed()
  assert.equal(first.status, 401)
  const { policy, q, w, r } = limitsOf(first)
  assert.deepEqual({ policy, q, w, r }, { policy: 'address', q: 300, w: 60, r: 299 })
  const rest = await Promise.all(Array.from({ length: 299 }, failed))
  assert.ok(rest.every(({ status }) => status === 401))
  const answer = await failed()
  assert.equal(answer.status, 429)
  assert.equal(answer.body.code, 'rate_limited')
  assert.ok(Number(answer.headers['retry-after']) >= limitsOf(answer).t)
  assert.equal((await app.send('GET', path, { key: null })).status, 429)
  assert.equal((await app.send('GET', path)).status, 200)
  assert.equal((await app.send('GET', '/health', { key: null })).status, 200)
  assert.equal((await app.send('GET', '/api/v1/nowhere', { key: null })).status, 404)
})

test('429 by the address that a trusted proxy forwards, or by the /64 of an IPv6 address', async (t) => {
  stopClock(t)
  const app = await startApp({ rateLimit: 1_000, trustProxy: 1 })
  const failed = (address: string) => app.send('GET', path, { key: null, headers: { 'x-forwarded-for': address } })
  const addresses = Array.from({ length: 301 }, (_, index) => `2001:db8:1:2::${index.toString(16)}`)
  const answers = await Promise.all(addresses.map(failed))
  assert.equal(answers.filter(({ status }) => status === 429).length, 1)
  assert.equal((await failed('2001:db8:1:2:ffff::1')).status, 429)
  assert.equal((await failed('2001:db8:1:3::1')).status, 401)
  assert.equal((await failed('192.0.2.1')).status, 401)
})

test('200 and 401 without a limit and without headers if limits are off', async () => {
  const app = await startApp({ rateLimit: 0 })
  const answers = await Promise.all([
    ...Array.from({ length: 320 }, () => app.send('GET', path, { key: null })),
    ...Array.from({ length: 20 }, () => app.send('GET', path)),
  ])
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 401])
  for (const { headers } of answers) assert.ok(!Object.keys(headers).some((name) => name.includes('ratelimit')))
})

test('adds the headers to all API responses from 2xx to 5xx', async () => {
  const app = await startApp()
  for (const [method, url] of [
    ['GET', '/api/v1/nowhere'],
    ['PUT', path],
    ['OPTIONS', path],
    ['GET', `${path}/%zz`],
    ['GET', `${path}?%zz`],
    ['GET', `${path}?${'a'.repeat(9_000)}`],
  ] as const) {
    assert.equal(limitsOf(await app.send(method, url)).w, 60, `${method} ${url}`)
  }
})
