import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { version } from '../version.ts'
import { greet, greeting } from './greeting.ts'

const listening = { port: 3000, url: 'http://0.0.0.0:3000', localUrl: 'http://127.0.0.1:3000' }
const banner = `Waymark ${version} is listening on http://0.0.0.0:3000 (documentation: /docs)\n`

test('a first start shows the key, and a curl line that this machine can run', () => {
  const text = greeting(listening, { secret: 'wm_secret' })
  assert.ok(text.startsWith(`${banner}\nThis API key is shown once; keep it safe:\n\n  wm_secret\n`))
  assert.match(text, /^ {2}curl -H "Authorization: Bearer wm_secret" http:\/\/127\.0\.0\.1:3000\/api\/v1\/domains$/m)
})

test('a later start says how to issue a key', () => {
  const line = 'Lost your API key? Issue another: npx waymark keys create --name mine\n'
  assert.equal(greeting(listening, 'kept'), banner + line)
})

test('a start without a good key says so, and how to issue one', () => {
  const line = 'No API key is good. Issue one: npx waymark keys create --name mine\n'
  assert.equal(greeting(listening, 'none'), banner + line)
})

test('a standard output that cannot be written is told on the other one, with what is lost', async () => {
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) })
  const err = new PassThrough()
  greet('Hello\n', full, err)
  const [told] = await once(err, 'data')
  assert.equal(
    String(told),
    'Standard output cannot be written: the disk is full. The first API key, if one was made, is lost.\n',
  )
})
