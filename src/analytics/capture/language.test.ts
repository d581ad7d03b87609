import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/characters.ts'
import { normalizeLanguage, parseLanguage, preferredLanguage } from './language.ts'

describe('language', () => {
  for (const [header, language, tag = language] of [
    ['de', 'de'],
    ['de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7', 'de', 'de-de'],
    ['EN-us', 'en', 'en-us'],
    ['en;q=0.5, fr;q=0.9', 'fr'],
    ['en; q=0.5 , fr ;q=1.000', 'fr'],
    ['fr;q=0.8,nl;q=0.8', 'fr'],
    ['zh-Hant-TW', 'zh', 'zh-hant-tw'],
    ['gsw-CH, de;q=0.9', 'gsw', 'gsw-ch'],
    ['pt_BR', 'pt', 'pt-br'],
    ['iw-IL', 'he', 'he-il'],
    ['in', 'id'],
    ['en;q=0.8, *;q=0.5', 'en'],
    ['de;q=0, en;q=0.1', 'en'],
    ['i-klingon, en;q=0.5', 'en'],
    ['x-secret, en;q=0.5', 'en'],
    ['en;q=2, fr;q=0.5', 'fr'],
    ['"en", fr;q=0.5', 'fr'],
    ['*', null],
    ['*;q=0.9, en;q=0.5', null],
    ['*-CH', null],
    ['de-', 'de', 'de-'],
    ['de;q=0', null],
    ['', null],
    [',', null],
    ['e', null],
    ['deutsch', null],
    ['..', null],
  ] as const) {
    test(`${language} and ${tag}, from "${header}"`, () => {
      assert.equal(parseLanguage(header), language)
      assert.equal(preferredLanguage(header), tag)
    })
  }

  test('returns two or three letters or null for any text, and a tag that begins with them', () => {
    const pieces = fc.constantFrom('de', 'IW', 'pt_BR', '*', '-', '_', ';q=0.5', '; q=0', ',', ' ', 'x', '1', '\u0130')
    const header = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(pieces).map((some) => some.join('')),
    )
    fc.assert(
      fc.property(header, (text) => {
        const [language, tag] = [parseLanguage(text), preferredLanguage(text)]
        assert.match(language ?? 'any', /^[a-z]{2,3}$/)
        assert.match(tag ?? 'any', /^[a-z]{2,3}(-[a-z\d-]*)?$/)
        assert.equal(tag?.split('-')[0] ?? null, language)
      }),
    )
    assert.equal(parseLanguage(`de, ${'x'.repeat(30_000)}`), 'de')
    assert.equal(parseLanguage(`${' '.repeat(30_000)}de`), null)
  })

  test('normalizes the old codes of tags, in any case', () => {
    for (const [tag, normalized] of [
      ['IW', 'he'],
      ['in_ID', 'id-id'],
      ['zh-Hant-TW', 'zh-hant-tw'],
      ['de-in', 'de-in'],
      ['', ''],
    ] as const) {
      assert.equal(normalizeLanguage(tag), normalized)
    }
  })
})
