import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { domainToASCII, domainToUnicode } from 'node:url'
import { findSpoof } from './spoofing.ts'

describe('findSpoof', () => {
  test('finds symbols that look like / \\ . : # ? % ! | -', () => {
    const symbols =
      '⁄∕╱⧸⟋⁁⫽𝈺〳㇓\u0338 ∖╲⧵⟍⧹𝈏㇔ ۔܁•‧∙⋅⸱꘎ꞏ᛫𝅭 ːˑ˸։׃܃᛬᠃᠉⁚∶∷⧴꞉፡ ♯⋕⌗ ʔˀ؟⸮ ‰‱⁒٪؉ \u0335\u20d2 ᆞ ⁞⋮⸞ ǃ ǀ ‐–—−'.replaceAll(
        ' ',
        '',
      )
    for (const symbol of symbols)
      for (const label of [`a${symbol}b`, symbol, `${symbol}я`, `例${symbol}`])
        assert.equal(findSpoof(`www.${label}.de`), 'lookalike_character', symbol)
  })

  test('finds similar letters next to Latin letters and digits, but not within their script', () => {
    for (const label of 'comノ comノa 1ノ- ソa 80ン1 a丶b 127۰1 1ꓸ2 80ः1 x丿 aॽ \u06601'.split(' '))
      assert.equal(findSpoof(label), 'lookalike_character', label)
    for (const label of 'ノート ビタミンb6 パソコンshop ノ ソ-ス ۱۰۰ दुःख aパンb ꓡꓸ 丿 日本のノa'.split(' '))
      assert.equal(findSpoof(label), null, label)
  })

  test('accepts the middle dots of Catalan and Japanese', () => {
    for (const label of ['col·legi', 'l·l', 'ア・イ', '例・れい']) assert.equal(findSpoof(label), null, label)
    for (const label of ['a·b', 'l·', '·l', 'ア·イ', 'a・ア', 'ア・a', '・', '1・2'])
      assert.equal(findSpoof(label), 'lookalike_character', label)
  })

  test('finds blank characters', () => {
    for (const blank of '\u2800\u3164\u115f\u1160\uffa0\u180e\u{1d159}\u{16fe4}\u{13441}')
      assert.equal(findSpoof(`a.${blank}`), 'invisible_character', blank)
  })

  test('finds letters of two scripts in one label', () => {
    for (const name of ['аpple', 'pаypal.com', 'ɑα', 'αа', 'aՕ', 'Ꭰa', 'аא', 'ไก่a', 'アꀀ', '한ア', 'ㄅ한', 'ㄅあ'])
      assert.equal(findSpoof(name), 'mixed_scripts', name)
    for (const name of ['пример.com', 'яндекс.bücher', 'α.а.a', 'ა.Ա']) assert.equal(findSpoof(name), null, name)
  })

  test('accepts scripts that languages mix', () => {
    for (const label of ['東京タワーtokyo', 'かなカナ漢字', '漢字한글abc', '漢字ㄅㄆabc', '한국korea', '々', 'ーア'])
      assert.equal(findSpoof(label), null, label)
  })

  test('accepts labels of one script with digits, hyphens, marks and emoji', () => {
    const labels =
      'bücher-1 straße пример-2 ελληνικά ישראל مثال भारत বাংলা ไทย 中国 日本 한국 ქართული հայ ᎠᎡ ⵜⵉⴼ i❤ 💩 oʻzbek'
    for (const label of labels.split(' ')) assert.equal(findSpoof(label), null, label)
  })

  test('finds all invisible characters that UTS 46 keeps, except joiners', () => {
    for (let code = 0x80; code < 0x20000; code++) {
      const written = domainToUnicode(domainToASCII(`a${String.fromCodePoint(code)}b`))
      if (findSpoof(written) === null) assert.doesNotMatch(written, /[\s\p{Default_Ignorable_Code_Point}\u2800]/u)
    }
  })
})
