import { deepEqual, doesNotMatch, equal } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldCase } from '../../fold.ts'
import { beginningWith, fullGramsOf, gramText } from './grams.ts'

/** The capitals of Cyrillic and Armenian stand for ASCII's separators. */
const standIn = /[\u0400-\u042f\u0531-\u0556]/

test('no folded text contains a letter that stands for another character', () => {
  for (let point = 0; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue
    const folded = foldCase(String.fromCodePoint(point))
    if (standIn.test(folded)) doesNotMatch(folded, standIn, `U+${point.toString(16)}`)
  }
  const text = fc.string({ unit: fc.constantFrom('\u0415', '\u0418', '\u0300', '\u0306', '\u0308', '\u0535', 'a') })
  fc.assert(fc.property(text, (each) => doesNotMatch(foldCase(each), standIn)))
})

test('a gram begins at every code point, and the last ones are shorter', () => {
  equal(gramText('shops.x'), 'shops hopsЮ opsЮx psЮx sЮx Юx x ')
  equal(gramText('a😀bcde'), 'a😀bcd 😀bcde bcde cde de e ')
  equal(gramText(''), '')
  deepEqual(fullGramsOf('a😀bcde'), ['a😀bcd', '😀bcde'])
  deepEqual(fullGramsOf('abcd'), [])
})

/** Every character of ASCII that a folded text can have, and some that might be taken for their stand-ins. */
const characters = [
  ...Array.from({ length: 0x80 }, (_, code) => foldCase(String.fromCharCode(code))),
  ...['\ue02d', '\ue07f', '\uf8ff', 'Ѐ', 'Э', 'э', 'ю', 'Ա', 'ա', '\u0301', 'é', '日', '\ufffd', '😀', '\u{10fffd}'],
].map(foldCase)
const text = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))
const few = fc.string({ unit: fc.constantFrom('-', '.', 'э', '\ue02d', ' ', '"', '\n'), minLength: 1, maxLength: 8 })

test('the index finds the texts that contain a part of up to five characters, and no others', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(`create virtual table found using fts5 (grams, detail = none, tokenize = 'ascii', prefix = '1 2 3 4')`)
  const add = db.prepare('insert into found values (?)')
  const search = db.prepare('select count(*) as count from found where found match ?')
  const property = fc.property(
    fc.oneof(text, few),
    fc.oneof(text, few),
    fc.nat(12),
    fc.nat(4),
    (one, other, from, more) => {
      db.exec('delete from found')
      add.run(gramText(one))
      for (const source of [one, other]) {
        const points = [...source]
        const part = points.slice(from % points.length, (from % points.length) + more + 1).join('')
        equal(search.get(beginningWith(part))?.count, one.includes(part) ? 1 : 0, JSON.stringify([one, part]))
      }
    },
  )
  fc.assert(property, { numRuns: 3_000, interruptAfterTimeLimit: 4_000 })
  db.close()
})
