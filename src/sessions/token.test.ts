import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { generateToken, isWellFormedToken, type TokenKind } from './token.ts'

const app = await startApp()

const kinds: readonly (readonly [TokenKind, RegExp, TokenKind])[] = [
  ['login', /^wml_[\w-]{43}$/, 'session'],
  ['session', /^wms_[\w-]{43}$/, 'login'],
  ['invitation', /^wmi_[\w-]{43}$/, 'login'],
]

for (const [kind, form, other] of kinds) {
  test(`generates secrets of the kind ${kind}: 256 random bits after the prefix`, () => {
    const tokens = Array.from({ length: 100 }, () => generateToken(kind))
    assert.equal(new Set(tokens).size, 100)
    for (const token of tokens) {
      assert.match(token, form)
      assert.equal(Buffer.from(token.slice(4), 'base64url').length, 32)
      assert.ok(isWellFormedToken(kind, token))
      assert.ok(!isWellFormedToken(other, token))
    }
  })

  test(`rejects text that differs from a secret of the kind ${kind}`, () => {
    const token = generateToken(kind)
    const others = ['', token.slice(0, -1), `${token}x`, ` ${token}`, `${token}\n`, token.toUpperCase(), token.slice(4)]
    for (const text of [...others, `${token.slice(0, -1)}=`]) assert.ok(!isWellFormedToken(kind, text), text)
  })
}

test('replaces an X-Request-Id with a token, and does not log it', async () => {
  for (const [kind] of kinds) {
    const token = generateToken(kind)
    const { headers } = await app.send('GET', '/api/v1/domains', { headers: { 'x-request-id': `id-${token}` } })
    assert.ok(!String(headers['x-request-id']).includes(token))
    assert.ok(!JSON.stringify(app.logs).includes(token))
  }
})
