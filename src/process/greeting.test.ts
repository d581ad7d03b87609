import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { byName } from '../config/listeners.ts'
import { greet, greeting } from './greeting.ts'

const api = { port: 3000, url: 'http://0.0.0.0:3000', localUrl: 'http://127.0.0.1:3000' }

const first = { secret: 'wm_secret', signInUrl: 'http://localhost:3000/app/sign-in#wml_token' }

const sqlite = { engine: 'sqlite', path: '/var/lib/waymark/waymark.db' } as const

test('prints where the data is stored', () => {
  assert.match(greeting(api, undefined, sqlite, 'none'), /^Data is stored in \/var\/lib\/waymark\/waymark\.db$/m)
  const postgres = { engine: 'postgres', url: 'postgres://waymark:s3cret@db.internal/links', pool: 1 } as const
  assert.match(greeting(api, undefined, postgres, 'none'), /^Data is stored in PostgreSQL at db\.internal\/links$/m)
})

test('prints nothing about short links if the redirect server is off', () => {
  const text = greeting(api, undefined, sqlite, first)
  assert.doesNotMatch(text, /Short links|http:\/\/localhost:3080/)
  assert.match(text, /^ {2}curl -H "Authorization: Bearer wm_secret" http:\/\/127\.0\.0\.1:3000\/api\/v1\/domains$/m)
})

test('the dashboard URL has localhost instead of loopback addresses', () => {
  for (const [localUrl, url] of [
    ['http://127.0.0.1:3000', 'http://localhost:3000'],
    ['http://[::1]:3000', 'http://localhost:3000'],
    ['http://192.0.2.1:3000', 'http://192.0.2.1:3000'],
    ['http://127.0.0.10:3000', 'http://127.0.0.10:3000'],
  ] as const) {
    assert.equal(byName(localUrl), url)
  }
})

test('prints to stdout at a terminal, otherwise to stderr', () => {
  for (const isTTY of [true, false]) {
    const stdout = Object.assign(new PassThrough(), { isTTY })
    const stderr = new PassThrough()
    greet('Hello\n', { error: assert.fail }, { stdout, stderr })
    assert.deepEqual([stdout.read(), stderr.read()].map(String), isTTY ? ['Hello\n', 'null'] : ['null', 'Hello\n'])
  }
})

test('logs an error if the text cannot be printed', async () => {
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) })
  const errors: unknown[][] = []
  greet('Hello\n', { error: (...logged: unknown[]) => errors.push(logged) }, { stdout: new PassThrough(), stderr })
  await assert.rejects(finished(stderr))
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]?.[1]), /the first API key, if any, is lost$/)
})
