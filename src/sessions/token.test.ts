import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { insertLoginToken, signInByToken } from './store.ts'
import { generateToken, hashToken, hasToken, isWellFormedToken, signInUrl, type TokenKind } from './token.ts'

const app = await startApp()

const kinds: readonly (readonly [TokenKind, RegExp, TokenKind])[] = [
  ['login', /^wml_[\w-]{43}$/, 'session'],
  ['session', /^wms_[\w-]{43}$/, 'login'],
]

for (const [kind, form, other] of kinds) {
  test(`generates a ${kind} token of 256 random bits after its prefix`, () => {
    const tokens = Array.from({ length: 100 }, () => generateToken(kind))
    assert.equal(new Set(tokens).size, 100)
    for (const token of tokens) {
      assert.match(token, form)
      assert.equal(Buffer.from(token.slice(4), 'base64url').length, 32)
      assert.ok(isWellFormedToken(kind, token))
      assert.ok(!isWellFormedToken(other, token))
    }
  })

  test(`rejects text that differs from a ${kind} token`, () => {
    const token = generateToken(kind)
    const others = ['', token.slice(0, -1), `${token}x`, ` ${token}`, `${token}\n`, token.toUpperCase(), token.slice(4)]
    for (const text of [...others, `${token.slice(0, -1)}=`]) assert.ok(!isWellFormedToken(kind, text), text)
  })

  test(`finds a ${kind} token within other text`, () => {
    const token = generateToken(kind)
    for (const text of [token, `id-${token}.x`, `/app/sign-in#${token}`]) assert.ok(hasToken(text))
    for (const text of ['', token.slice(0, -1), token.slice(4)]) assert.ok(!hasToken(text))
  })
}

test('hashes tokens with SHA-256', () => {
  const token = generateToken('session')
  assert.deepEqual(hashToken(token), createHash('sha256').update(token).digest())
})

test('puts the token into the fragment of the sign-in URL', () => {
  const url = new URL(signInUrl('https://links.example.com', 'wml_x'))
  assert.deepEqual([url.pathname, url.search, url.hash], ['/app/sign-in', '', '#wml_x'])
})

test('replaces an X-Request-Id with a token, and does not log it', async () => {
  for (const [kind] of kinds) {
    const token = generateToken(kind)
    const { headers } = await app.send('GET', '/api/v1/domains', { headers: { 'x-request-id': `id-${token}` } })
    assert.ok(!String(headers['x-request-id']).includes(token))
    assert.ok(!JSON.stringify(app.logs).includes(token))
  }
})

test('the API returns 401 for both tokens', async () => {
  const token = await insertLoginToken(app.storage, 1)
  const session = await signInByToken(app.storage, await insertLoginToken(app.storage, 1), 'x')
  for (const key of [token, String(session?.secret)]) {
    assert.equal((await app.send('GET', '/api/v1/domains', { key })).status, 401)
  }
})
