import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPostgresUrl } from './database-url.ts'

const url = 'postgres://user:hunter2@db.example/waymark'

/** Returns the error, which never contains the password; null if the URL is valid. */
function errorOf(text: string): string | null {
  try {
    assert.equal(checkPostgresUrl(text), text)
    return null
  } catch (error) {
    const { message } = error as Error
    assert.doesNotMatch(message, /hunter/, text)
    assert.match(message, /^[^\n]*\.$/)
    return message
  }
}

test('accepts the parameters that pg reads', () => {
  for (const query of [
    '',
    '?options=-c%20search_path=links',
    '?application_name=links&lock_timeout=100&statement_timeout=1000',
    '?host=/var/run/postgresql&port=5433&user=a&password=hunter2',
    '?sslmode=require&sslrootcert=/etc/ca.pem&sslcert=a&sslkey=b',
    '?connect_timeout=10',
    '?ssl=true',
    '?ssl=1',
    '?ssl=0',
    '?ssl=no-verify',
  ]) {
    assert.equal(errorOf(url + query), null, query)
  }
  assert.equal(errorOf('postgres://db.example/waymark?options=-c%20a=b@c'), null)
  assert.equal(errorOf('postgresql://%2Frun%2Fpostgresql:5432/waymark'), null)
  assert.equal(errorOf('postgres://user:hunter,2@db.example/waymark'), null)
})

test('names a parameter that pg ignores', () => {
  for (const name of ['channel_binding', 'sslmod', 'SSLMODE', 'sslpassword', 'client_encoding']) {
    const sentence = `has an unsupported parameter: ${name}. Supported parameters: application_name, `
    assert.ok(errorOf(`${url}?sslmode=require&${name}=read-write`)?.startsWith(sentence), name)
  }
})

test('rejects a connect_timeout that is not a number of seconds', () => {
  for (const value of ['', '0', '1.5', '-1', '10s', '10000']) {
    assert.equal(errorOf(`${url}?connect_timeout=${value}`), 'has an invalid connect_timeout. Use 1 to 9999 seconds.')
  }
})

test('explains the alternative to target_session_attrs', () => {
  const sentence =
    'has an unsupported parameter: target_session_attrs. Use one address that always reaches the primary.'
  assert.equal(errorOf(`${url}?sslmode=require&target_session_attrs=read-write`), sentence)
})

test('rejects a repeated parameter', () => {
  assert.equal(errorOf(`${url}?sslmode=require&sslmode=disable`), 'has the parameter sslmode more than once.')
})

test('does not print a parameter that may be a part of the password', () => {
  for (const query of ['password=x&hunter2', 'hun%0Ater=2', `${'hunter'.repeat(20)}=2`]) {
    assert.match(String(errorOf(`${url}?${query}`)), /^has an unsupported parameter\. Supported/, query)
  }
})

test('asks for a percent-encoded password and a database name', () => {
  const unencoded = ['@ss/w#rd', '@ss', '#rd', '?x', ',a?x', ',a/b', ' 2', '%'].map((end) => `hunter${end}`)
  const invalid = unencoded.map((password) => `postgres://user:${password}@db.example/waymark`)
  invalid.push('postgres:', 'postgres://', 'postgres://db.example', 'postgres://db.example/', `${url}/b`)
  for (const text of [...invalid, 'postgresql://user:hunter2@db.example:99999/waymark'])
    assert.match(String(errorOf(text)), /^must have the form postgres:[^\n]* Percent-encode [^\n]*\.$/, text)
})

test('rejects several hosts', () => {
  for (const text of [
    'postgres://user:hunter2@h1:5432,h2:5432/waymark?target_session_attrs=read-write',
    'postgres://user:hunter2@h1,h2:5432/waymark',
    'postgres://h1,h2/waymark?sslmode=require&sslrootcert=/etc/ca.pem',
    'postgres://h1,h2',
    `${url}?host=h1,h2`,
    `${url}?sslmode=require&host=h1%2Ch2`,
    `${url}?port=1,2`,
  ]) {
    const sentence = 'has several hosts, which is not supported. Use one address that always reaches the primary.'
    assert.equal(errorOf(text), sentence, text)
  }
})

test('accepts the TLS modes that say what they do, and names the others', () => {
  for (const mode of ['disable', 'no-verify', 'require', 'verify-full', 'verify-ca&sslrootcert=/etc/ca.pem']) {
    assert.equal(errorOf(`${url}?sslmode=${mode}`), null, mode)
  }
  const modes = 'Use one of disable, no-verify, require, verify-ca, verify-full.'
  for (const mode of ['prefer', 'allow']) {
    const sentence = `has sslmode=${mode}, which may leave the connection unencrypted. ${modes}`
    assert.equal(errorOf(`${url}?sslmode=${mode}`), sentence)
    assert.equal(errorOf(`${url}?sslmode=${mode}&uselibpqcompat=false`), sentence)
    assert.equal(errorOf(`${url}?sslmode=${mode}&uselibpqcompat=true`), null)
  }
  for (const mode of ['', 'bogus', 'bogus&uselibpqcompat=true', 'Require']) {
    assert.equal(errorOf(`${url}?sslmode=${mode}`), `has an unknown sslmode. ${modes}`)
  }
  for (const more of ['', '&sslrootcert=', '&uselibpqcompat=true']) {
    assert.match(
      String(errorOf(`${url}?sslmode=verify-ca${more}`)),
      /^has sslmode=verify-ca without sslrootcert=FILE\. /,
    )
  }
})

test('rejects values of ssl that pg does not read, and refers to sslmode', () => {
  const sentence =
    'has an unknown value for ssl. Use sslmode instead, with one of disable, no-verify, require, verify-ca, verify-full.'
  for (const value of ['bogus', 'false', 'TRUE', 'require', '', 'bogus&sslmode=require']) {
    assert.equal(errorOf(`${url}?ssl=${value}`), sentence, value)
  }
})
