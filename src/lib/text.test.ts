import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldCase } from './text.ts'

/** In NFC; without the iota subscript, whose capital changes places with marks that follow it. */
const words = fc
  .string({ unit: 'grapheme' })
  .map((text) => text.normalize('NFC'))
  .filter((text) => !text.normalize('NFD').includes('\u0345'))

test('returns the same text for upper and lower case', () => {
  fc.assert(
    fc.property(words, (text) => {
      equal(foldCase(text.toUpperCase()), foldCase(text))
      equal(foldCase(text.toLowerCase()), foldCase(text))
    }),
  )
})

/** Unassigned and private characters have no case. */
const hasNoCase = /[\p{Cn}\p{Co}\p{Cs}]/u

test('folds every character of Unicode to the same NFC text, regardless of case and composition', () => {
  for (let point = 0; point <= 0x10ffff; point++) {
    const character = String.fromCodePoint(point)
    if (hasNoCase.test(character)) continue
    const folded = foldCase(character)
    const forms = [character.toUpperCase(), character.toLowerCase(), character.normalize('NFD'), folded]
    for (const form of forms) {
      if (foldCase(form) !== folded) equal(foldCase(form), folded, `U+${point.toString(16)} as ${form}`)
    }
    if (folded.normalize('NFC') !== folded) equal(folded.normalize('NFC'), folded)
  }
})

test('folds spellings that differ only in case or in how emoji look to the same text', () => {
  equal(foldCase('Straße'), foldCase('STRASSE'))
  equal(foldCase('STRAẞE'), foldCase('strasse'))
  equal(foldCase('ΟΔΟΣ'), foldCase('οδος'))
  equal(foldCase('οδος'), foldCase('οδοσ'))
  equal(foldCase('İstanbul'), foldCase('i\u0307stanbul'))
  equal(foldCase('ÉTÉ'), foldCase('e\u0301te\u0301'))
  equal(foldCase('MiXeD 123'), 'mixed 123')
  equal(foldCase('❤\ufe0f'), foldCase('❤\ufe0e'))
  equal(foldCase('❤\ufe0f'), '❤')
  equal(foldCase(`e${'\ufe0f'.repeat(64)}\u0301`), 'é')
})
