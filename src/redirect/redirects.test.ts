import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { parseWebUrl } from '../names/web-url.ts'
import { Refusal } from '../violations.ts'
import { prepareRedirect, withQuery } from './redirects.ts'

test('serializes the location as the URL Standard does: absolute and in ASCII', () => {
  const locations = {
    'https://acme.com': 'https://acme.com/',
    'HTTPS://Acme.com:443/Ä?ö#ü': 'https://acme.com/%C3%84?%C3%B6#%C3%BC',
    'http://bücher.example/a/../b': 'http://xn--bcher-kva.example/b',
    'https://acme.com/%zz': 'https://acme.com/%zz',
  }
  for (const [url, location] of Object.entries(locations)) {
    assert.equal(prepareRedirect(url, 302).location, location)
  }
})

test('appends a query unchanged, before the fragment', () => {
  const cases = [
    ['https://acme.com/', 'a=1', 'https://acme.com/?a=1'],
    ['https://acme.com/?b', 'a=1', 'https://acme.com/?b&a=1'],
    ['https://acme.com/?', 'a', 'https://acme.com/?a'],
    ['https://acme.com/?b&', 'a', 'https://acme.com/?b&a'],
    ['https://acme.com/?b#top?x', '%zz+%2F', 'https://acme.com/?b&%zz+%2F#top?x'],
    ['https://acme.com/#?', 'a', 'https://acme.com/?a#?'],
    ['https://acme.com/#', '', 'https://acme.com/#'],
  ] as const
  for (const [location, query, expected] of cases) assert.equal(withQuery(location, query), expected)
})

test('does not forward a query with which the location would be longer than 16 KiB', () => {
  const location = `https://acme.com/?${'a'.repeat(8192 - 18)}`
  const longest = 'b'.repeat(8191)
  assert.equal(withQuery(location, longest).length, 16_384)
  assert.equal(withQuery(location, `${longest}b`), location)
})

test('keeps the scheme, host, port, path and fragment of the stored URL, whatever the query', () => {
  const part = fc.stringMatching(/^[!-"$-~]{0,20}$/)
  const url = fc
    .tuple(
      fc.constantFrom('http', 'https'),
      fc.constantFrom('acme.com', 'bücher.example:81', '[::1]', '127.1'),
      part,
      part,
      part,
    )
    .map(([scheme, host, path, query, fragment]) => `${scheme}://${host}/${path}?${query}#${fragment}`)
    .filter((text) => !(parseWebUrl(text) instanceof Refusal))
  const hostile = fc.oneof(
    part,
    fc.constantFrom(...'@evil.example //evil.example \\evil.example :80/ /../.. ?x %23 %0d%0aSet-Cookie:a'.split(' ')),
  )
  fc.assert(
    fc.property(url, hostile, (stored, query) => {
      const before = new URL(stored)
      const location = withQuery(prepareRedirect(stored, 302).location, query)
      assert.match(location, /^[!-~]+$/)
      const after = new URL(location)
      for (const name of ['protocol', 'username', 'password', 'host', 'port', 'pathname', 'hash'] as const) {
        assert.equal(after[name], before[name])
      }
      assert.ok(location.includes(query))
    }),
    { numRuns: runs(1_000) },
  )
})
