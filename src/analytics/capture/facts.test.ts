import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter, anyWebUrl } from '../../../test/characters.ts'
import { parseReferrer } from './facts.ts'

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
    test(`${host}, from ${header.slice(0, 60)}`, () => assert.equal(parseReferrer(header, 'go.example'), host))
  }

  test('returns a host or null for any text', () => {
    const url = fc.tuple(
      fc.constantFrom('https://', 'http://', 'android-app://', ''),
      fc.string({ unit: anyCharacter }),
    )
    fc.assert(
      fc.property(fc.oneof(anyWebUrl, url), (parts) => {
        const host = parseReferrer(typeof parts === 'string' ? parts : parts.join(''), 'go.example')
        if (host !== null) assert.match(host, /^(?:[a-z\d._-]{1,253}|\[[\da-f:.]+\])$/)
      }),
    )
  })
})
