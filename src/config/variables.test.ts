import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const warningsOf = (env: Record<string, string>) => readConfig(env).warnings

test('warns of a misspelled variable and suggests the right one', () => {
  for (const [name, meant] of [
    ['CLICKS_RETENTON', 'CLICKS_RETENTION'],
    ['clicks_sink', 'CLICKS_SINK'],
    ['CLICK_SPOOL', 'CLICKS_SPOOL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['TRUST_PROXIES', undefined],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['SHORT_URI', 'SHORT_URL'],
  ] as const) {
    const warning = `Ignoring unknown variable ${name}. Did you mean ${meant}?`
    assert.deepEqual(warningsOf({ [name]: '' }), meant === undefined ? [] : [warning])
  }
})

test('warns of any unknown variable that starts with CLICKS_', () => {
  assert.deepEqual(warningsOf({ CLICKS_DESTINATION: 'x' }), [
    'Ignoring unknown variable CLICKS_DESTINATION. docs/configuration.md lists all variables.',
  ])
})

test('does not warn of known variables or of variables of other programs', () => {
  const others = ['PATH', 'HOSTS', 'PORTS', 'POST', 'PGHOST', 'DATABASE_NAME', 'APP_HOST', 'WAYMARK_HOST', 'NODE_ENV']
  assert.deepEqual(warningsOf(Object.fromEntries(others.map((name) => [name, 'x']))), [])
  assert.deepEqual(warningsOf({ CLICKS_SPOOL: 'x', CLICKS_SINK_FILE: '', OPS_HOST: 'localhost' }), [])
})
