import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/characters.ts'
import { languageOf } from './facts.ts'

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
