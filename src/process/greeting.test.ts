import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { version } from '../version.ts'
import { dashboardUrl, greet, greeting } from './greeting.ts'

const api = { port: 3000, url: 'http://0.0.0.0:3000', localUrl: 'http://127.0.0.1:3000' }
const redirect = { port: 3080, url: 'http://0.0.0.0:3080', localUrl: 'http://127.0.0.1:3080' }
const listening = { api, redirect }
const banner = `Waymark ${version} is listening on http://0.0.0.0:3000 (documentation: /docs)\nShort links are served on http://0.0.0.0:3080, for the domains that you store\n`

const first = { secret: 'wm_secret', signInUrl: 'http://localhost:3000/app/sign-in#wml_token' }

test('the first start prints a sign-in link, the key and curl commands', () => {
  const text = greeting(listening, first)
  const dashboard = `Open the dashboard: ${first.signInUrl}  (works once, for 30 minutes)`
  assert.ok(text.startsWith(`${banner}\n${dashboard}\n\nThis API key is shown once; keep it safe:\n\n  wm_secret\n`))
  const commands = text.split('\n').filter((line) => line.startsWith('  curl '))
  assert.deepEqual(commands, [
    '  curl -H "Authorization: Bearer wm_secret" http://127.0.0.1:3000/api/v1/domains -d name=localhost',
    '  curl -H "Authorization: Bearer wm_secret" http://127.0.0.1:3000/api/v1/links -d alias=docs -d url=http://localhost:3000/docs',
    '  curl -i http://localhost:3080/docs',
  ])
})

test('a first start with BOOTSTRAP_KEY prints only a sign-in link', () => {
  const text = greeting(listening, { ...first, secret: null })
  assert.equal(text, `${banner}\nOpen the dashboard: ${first.signInUrl}  (works once, for 30 minutes)\n`)
})

test('prints nothing about short links if the redirect server is off', () => {
  const text = greeting({ api, redirect: undefined }, first)
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

const signIn = 'Get a link that opens the dashboard: npx waymark login-link\n'

test('later starts explain how to sign in and how to issue a key', () => {
  const line = 'Lost your API key? Issue another: npx waymark keys create --name mine\n'
  assert.equal(greeting(listening, 'existing'), banner + signIn + line)
})

test('a start without an active key explains how to issue one', () => {
  const line = 'No API key is active. Issue one: npx waymark keys create --name mine\n'
  assert.equal(greeting(listening, 'none'), banner + signIn + line)
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
