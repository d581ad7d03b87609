import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchesShortUrl, shortUrls } from './short-url.ts'

describe('a short URL', () => {
  for (const [template, alias, written] of [
    ['https://{domain}', 'a/b-c_d.e~f', 'https://go.example/a/b-c_d.e~f'],
    ['http://{domain}:3080', 'é', 'http://go.example:3080/%C3%A9'],
    ['https://links.example/{domain}', '💩', 'https://links.example/go.example/%F0%9F%92%A9'],
    ['https://{domain}', '#️⃣', 'https://go.example/%23%EF%B8%8F%E2%83%A3'],
    ['https://{domain}', '$&', 'https://go.example/$&'],
  ] as const) {
    test(`${written} for ${alias} below ${template}`, () =>
      assert.equal(shortUrls(template)('go.example', alias), written))
  }
})

describe('a URL that matches a short URL', () => {
  const shortUrl = 'http://go.example:3080/Stra%C3%9Fe/x'
  for (const url of [
    shortUrl,
    'https://go.example/stra%C3%9Fe/X',
    'https://go.example/STRASSE/x/',
    'https://GO.EXAMPLE./stra%c3%9fe/x?a=b#c',
    'http://go.example:80/strasse%2Fx',
    'https://go.example:3080/a/../strasse/./x',
    'http://go.example/straße/x',
  ]) {
    test(url, () => assert.equal(matchesShortUrl(url, shortUrl), true))
  }
  for (const url of [
    'http://go.example:8080/strasse/x',
    'http://go.example/strasse/x//',
    'http://go.example//strasse/x',
    'http://go.example/strasse',
    'http://go.example/%ff',
    'http://a.go.example/strasse/x',
    'http://go.example.org/strasse/x',
    'not a url',
    '',
  ]) {
    test(`not ${url}`, () => assert.equal(matchesShortUrl(url, shortUrl), false))
  }
})
