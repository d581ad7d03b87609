import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter, anyWebUrl } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { returnPath } from './return-path.ts'

test('returns a dashboard path with its query, without the fragment', () => {
  for (const path of ['/app', '/app/links?search=a%26b&page=2', '/app/links/12', '/app?period=7d', '/app/']) {
    assert.equal(returnPath(path), path)
  }
  assert.equal(returnPath('/app/links#x'), '/app/links')
  assert.equal(returnPath('/app/links?search=Größe und <b>'), '/app/links?search=Gr%C3%B6%C3%9Fe%20und%20%3Cb%3E')
})

test('returns the first page if the path is too long for a request', () => {
  const pathOf = (length: number) => `/app/links?search=${'x'.repeat(length - '/app/links?search='.length)}`
  assert.equal(returnPath(pathOf(8_192)), pathOf(8_192))
  assert.equal(returnPath(pathOf(8_193)), '/app')
})

const elsewhere = String.raw`//evil.example /\evil.example \\evil.example https://evil.example https:/app https:app
  javascript:alert(1) data:text/html,x /app/..//evil.example /app/../..//evil.example /app/%2e%2e//evil.example
  /app/.%2E/\evil.example /app/..\\evil.example /app@evil.example /app.evil.example /application /appx?
  /app\..\..\\evil.example / /docs /api/v1/links /app/../docs /app/../api/v1/links app ?/app #/app /app:80 /app;x
  /app/sign-in /app/sign-in?next=/app /app/./sign-in /app/links/../sign-in /app/sign-in#x /App
  /app/%73ign-in/oidc?connect=1 /app/sign%2din /app/%zz /app/%ff`.split(/\s+/)
const withWhiteSpace = ['/app/\t..//evil.example', '/app/..\n//evil.example', ' /app', '\t/app', '\0/app', '']

test('returns the first page for other sites and for the sign-in page', () => {
  for (const text of [...elsewhere, ...withWhiteSpace]) assert.equal(returnPath(text), '/app', JSON.stringify(text))
  for (const value of [undefined, null, 1, Symbol('repeated'), {}]) assert.equal(returnPath(value), '/app')
})

const characters = '/\\.@:;?#&=%<>"\'[]|^`{}\t\n\r\0 \u00a0\u2028。／ü\ud800'
const words = '/app /app/ // .. %2e %2E%2e %2f %5c %0d%0a %00 evil.example https: javascript: links'.split(' ')
const pieces = fc.array(fc.constantFrom(...characters, ...words), { maxLength: 12 }).map((parts) => parts.join(''))
const hostile = fc.oneof(
  pieces,
  pieces.map((text) => `/app${text}`),
  fc.string({ unit: anyCharacter }).map((text) => `/app${text}`),
  anyWebUrl,
)

test('never returns another host or breaks a header, for any input', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const next = returnPath(text)
      assert.match(next, /^\/app(?:[/?]|$)/)
      assert.match(next, /^[\x21-\x7e]*$/)
      for (const base of ['https://links.example.com/app/sign-in', 'http://127.0.0.1:3000/app/sign-in?next=x']) {
        const { origin, pathname } = new URL(next, base)
        assert.equal(origin, new URL(base).origin)
        assert.match(pathname, /^\/app(?:\/|$)/)
        assert.doesNotMatch(decodeURIComponent(pathname), /^\/app\/sign-in(?:\/|$)/)
      }
    }),
    { numRuns: runs(20_000) },
  )
})
