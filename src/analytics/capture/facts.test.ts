import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter, anyWebUrl } from '../../../test/characters.ts'
import { runs } from '../../../test/runs.ts'
import { languageOf, referrerOf, visitorOf } from './facts.ts'

describe('language', () => {
  for (const [header, language] of [
    ['de', 'de'],
    ['de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7', 'de'],
    ['EN-us', 'en'],
    ['en;q=0.5, fr;q=0.9', 'fr'],
    ['en; q=0.5 , fr ;q=1.000', 'fr'],
    ['fr;q=0.8,nl;q=0.8', 'fr'],
    ['zh-Hant-TW', 'zh'],
    ['gsw-CH, de;q=0.9', 'gsw'],
    ['pt_BR', 'pt'],
    ['iw-IL', 'he'],
    ['in', 'id'],
    ['en;q=0.8, *;q=0.5', 'en'],
    ['de;q=0, en;q=0.1', 'en'],
    ['i-klingon, en;q=0.5', 'en'],
    ['x-secret, en;q=0.5', 'en'],
    ['en;q=2, fr;q=0.5', 'fr'],
    ['"en", fr;q=0.5', 'fr'],
    ['*', null],
    ['*;q=0.9, en;q=0.5', null],
    ['de;q=0', null],
    ['', null],
    [',', null],
    ['e', null],
    ['deutsch', null],
    ['..', null],
  ] as const) {
    test(`${language}, from "${header}"`, () => assert.equal(languageOf(header), language))
  }

  test('returns two or three letters or null for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (header) =>
        assert.match(languageOf(header) ?? 'any', /^[a-z]{2,3}$/),
      ),
    )
    assert.equal(languageOf(`de, ${'x'.repeat(30_000)}`), 'de')
    assert.equal(languageOf(`${' '.repeat(30_000)}de`), null)
  })
})

describe('visitor', () => {
  const salt = new Uint8Array(32).fill(7)
  const visit = { link: 1, address: '192.0.2.1', userAgent: 'Mozilla/5.0' }

  test('returns the same number regardless of the forwarded port', () => {
    const visitor = visitorOf(visit, salt)
    for (const address of ['192.0.2.1', '192.0.2.1:1234', '::ffff:192.0.2.1']) {
      assert.equal(visitorOf({ ...visit, address }, salt), visitor)
    }
  })

  test('returns a number below 2^48 that depends on the link, the IP address, the user agent and the salt', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 20 }),
      fc.constantFrom('', '"', '","', '\\', '\ud800', '1'),
    )
    const visits = fc.record({ link: fc.nat(20), address: text, userAgent: text })
    const salts = fc.uint8Array({ maxLength: 3 })
    fc.assert(
      fc.property(visits, visits, salts, salts, (one, other, saltOfOne, saltOfOther) => {
        const [a, b] = [visitorOf(one, saltOfOne), visitorOf(other, saltOfOther)]
        for (const visitor of [a, b]) assert.ok(Number.isSafeInteger(visitor) && visitor >= 0 && visitor < 2 ** 48)
        const isSame = JSON.stringify([one, [...saltOfOne]]) === JSON.stringify([other, [...saltOfOther]])
        assert.equal(a === b, isSame)
      }),
      { numRuns: runs(300) },
    )
  })

  test('returns different numbers for 100,000 visitors', () => {
    const secret = randomBytes(32)
    const visitors = new Set<number>()
    for (let n = 0; n < 100_000; n++)
      visitors.add(visitorOf({ ...visit, address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }, secret))
    assert.equal(visitors.size, 100_000)
  })
})

describe('referrer', () => {
  const label = 'a'.repeat(49)

  for (const [header, host] of [
    ['https://www.google.com/', 'www.google.com'],
    ['https://WWW.Example.COM:8443/a/secret?token=1#part', 'www.example.com'],
    ['http://t.co', 't.co'],
    ['HTTPS://example.com?x', 'example.com'],
    ['https://example.com./', 'example.com'],
    ['https://jane:secret@example.com/', 'example.com'],
    ['https://b\u00c3\u00bccher.example/', 'xn--bcher-kva.example'],
    ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example'],
    ['https://my_site.example/', 'my_site.example'],
    ['http://localhost:3000/', 'localhost'],
    ['http://192.168.1.10/wiki', '192.168.1.10'],
    ['http://[2001:DB8::1]:8080/', '[2001:db8::1]'],
    ['android-app://com.google.android.gm/', 'com.google.android.gm'],
    ['android-app://com.Slack', 'com.slack'],
    [`https://${`${label}.`.repeat(5)}abc/`, `${`${label}.`.repeat(5)}abc`],
    [`https://${`${label}.`.repeat(5)}abcd/`, null],
    ['https://go.example/alias', null],
    ['https://GO.example:8443/alias', null],
    ['', null],
    ['about:blank', null],
    ['about:client', null],
    ['example.com', null],
    ['//example.com/', null],
    ['file:///home/jane/letter.html', null],
    ['chrome-extension://abcdef/', null],
    ['https://', null],
    ['https:///path', null],
    ['https://exa mple.com/', null],
    ['https://b\u00fccher.example/', null],
    ['https://a..b/', null],
    ['https://<script>/', null],
    ["https://a'b.example/", null],
    ['android-app://a%00b/', null],
    ['http://999.1.1.1/', null],
    [`https://${'a'.repeat(30_000)}/`, null],
  ] as const) {
    test(`${host}, from ${header.slice(0, 60)}`, () => assert.equal(referrerOf(header, 'go.example'), host))
  }

  test('returns a host or null for any text', () => {
    const url = fc.tuple(
      fc.constantFrom('https://', 'http://', 'android-app://', ''),
      fc.string({ unit: anyCharacter }),
    )
    fc.assert(
      fc.property(fc.oneof(anyWebUrl, url), (parts) => {
        const host = referrerOf(typeof parts === 'string' ? parts : parts.join(''), 'go.example')
        if (host !== null) assert.match(host, /^(?:[a-z\d._-]{1,253}|\[[\da-f:.]+\])$/)
      }),
    )
  })
})
