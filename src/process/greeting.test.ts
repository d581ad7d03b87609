import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { version } from '../version.ts'
import { greet, greeting, startupFields } from './greeting.ts'

const api = { port: 3000, url: 'http://localhost:3000', boundUrl: 'http://127.0.0.1:3000', isPublic: false }

const first = { secret: 'wm_secret', signInUrl: 'http://localhost:3000/app/sign-in#wml_token' }

const storage = { engine: 'sqlite', path: '/var/lib/waymark/waymark.db' } as const

const alone = { api, redirect: undefined, dashboard: 'http://localhost:3000/app', storage, access: 'none' } as const

test('prints where the data is stored', () => {
  assert.match(greeting(alone), /^Data is stored in \/var\/lib\/waymark\/waymark\.db$/m)
  const postgres = { engine: 'postgres', url: 'postgres://waymark:s3cret@db.internal/links', pool: 1 } as const
  assert.match(greeting({ ...alone, storage: postgres }), /^Data is stored in PostgreSQL at db\.internal\/links$/m)
})

test('logs which listeners are off, and the database without its user and password', () => {
  const url = 'postgres://waymark:s3cret@db.internal:5433/links?sslpassword=s3cret'
  const fields = startupFields({ api }, { engine: 'postgres', url, pool: 1 })
  assert.deepEqual(fields, {
    version,
    api: 'http://127.0.0.1:3000',
    redirect: null,
    ops: null,
    database: 'postgres://db.internal:5433/links',
  })
})

test('prints nothing about short links if the redirect server is off', () => {
  const text = greeting({ ...alone, access: first })
  assert.doesNotMatch(text, /Short links|http:\/\/localhost:3080/)
  assert.match(text, /^ {2}curl -H "Authorization: Bearer wm_secret" http:\/\/localhost:3000\/api\/v1\/domains$/m)
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
