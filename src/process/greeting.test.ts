import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { dashboardUrl, greet, greeting } from './greeting.ts'

const api = { port: 3000, url: 'http://0.0.0.0:3000', localUrl: 'http://127.0.0.1:3000' }

const first = { secret: 'wm_secret', signInUrl: 'http://localhost:3000/app/sign-in#wml_token' }

test('prints nothing about short links if the redirect server is off', () => {
  const text = greeting(api, undefined, first)
  assert.doesNotMatch(text, /Short links|http:\/\/localhost:3080/)
  assert.match(text, /^ {2}curl -H "Authorization: Bearer wm_secret" http:\/\/127\.0\.0\.1:3000\/api\/v1\/domains$/m)
})

test('the dashboard URL has localhost instead of loopback addresses', () => {
  for (const [localUrl, url] of [
    ['http://127.0.0.1:3000', 'http://localhost:3000'],
    ['http://[::1]:3000', 'http://localhost:3000'],
    ['http://192.0.2.1:3000', 'http://192.0.2.1:3000'],
  ] as const) {
    assert.equal(dashboardUrl({ ...api, localUrl }), url)
  }
})

test('reports on stderr that stdout cannot be written', async () => {
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) })
  const err = new PassThrough()
  greet('Hello\n', full, err)
  const [message] = await once(err, 'data')
  assert.equal(
    String(message),
    'Standard output cannot be written: the disk is full. The first API key, if any, is lost.\n',
  )
})
