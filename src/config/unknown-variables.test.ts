import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const ignoredIn = (env: Record<string, string>) => readConfig(env).ignored

test('a variable that is misspelt is named, with the one that was meant', () => {
  for (const [name, meant] of [
    ['CLICKS_RETENTON', 'CLICKS_RETENTION'],
    ['clicks_sink', 'CLICKS_SINK'],
    ['CLICK_SPOOL', 'CLICKS_SPOOL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['TRUST_PROXIES', undefined],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['SHORT_URI', 'SHORT_URL'],
  ] as const) {
    const sentence = `${name} is no variable of Waymark, and is ignored. Did you mean ${meant}?`
    assert.deepEqual(ignoredIn({ [name]: '' }), meant === undefined ? [] : [sentence])
  }
})

test('a variable that is named as those of clicks are is named, though none is near', () => {
  assert.deepEqual(ignoredIn({ CLICKS_DESTINATION: 'x' }), [
    'CLICKS_DESTINATION is no variable of Waymark, and is ignored. docs/configuration.md lists all of them.',
  ])
})

test('variables of others, and all that are read, are no strangers', () => {
  const others = ['PATH', 'HOSTS', 'PORTS', 'POST', 'PGHOST', 'DATABASE_NAME', 'APP_HOST', 'WAYMARK_HOST', 'NODE_ENV']
  assert.deepEqual(ignoredIn(Object.fromEntries(others.map((name) => [name, 'x']))), [])
  assert.deepEqual(ignoredIn({ CLICKS_SPOOL: 'x', CLICKS_SINK_FILE: '', OPS_HOST: 'localhost' }), [])
})
