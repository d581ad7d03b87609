import { deepEqual, equal } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { firstPage } from '../../../../test/first-page.ts'
import { listables } from '../../../../test/lists-model.ts'
import { runs } from '../../../../test/runs.ts'
import { foldCase } from '../../../lib/fold-case.ts'
import type { AnyListing } from '../../listing.ts'
import { lookUp, tableOptions, wordsOf } from './words.ts'

const db = new DatabaseSync(':memory:')
db.exec(`create virtual table found using fts5 (words, ${tableOptions});
  create table cards_samples (word text primary key, records integer not null) without rowid, strict`)
after(() => db.close())

const all: AnyListing = { ...firstPage, of: listables.cards, account: 1 }
const match = (search: string, searchIn = ['name', 'note']) => lookUp(db, { ...all, search, searchIn })

test('a word begins at every character, behind the letter of its column; the last ones are shorter', () => {
  equal(wordsOf(['ab.c']), 'aab.\nab.c\na.c\nac\n')
  equal(wordsOf(['a😀bc', null, 'é']), 'aa😀b\na😀bc\nabc\nac\ncé\n')
  equal(wordsOf(['ab\ncd']), 'aab\nab\nacd\nad\n')
  equal(wordsOf([null, '']), '')
})

test('a term of up to three characters is looked up as the beginning of a word, in each column that is searched', () => {
  equal(match('sh'), '"ash"* OR "bsh"*')
  equal(match('sho', ['note']), '"bsho"')
  equal(match('"😀'), '"a""😀"* OR "b""😀"*')
})

test('a longer term is looked up by the three of its words that the fewest of the sampled records have', () => {
  const seen = db.prepare('insert into cards_samples values (?, ?)')
  for (const [word, records] of [
    ['asho', 9],
    ['ahop', 3],
    ['aop-', 5],
  ] as const) {
    seen.run(word, records)
  }
  equal(match('shop-12', ['name']), '("ap-1" AND "a-12" AND "ahop")')
  equal(match('shop', ['name']), '("ahop" AND "asho")')
  equal(match('shops'), '("aops" AND "ahop" AND "asho") OR ("bsho" AND "bhop" AND "bops")')
  equal(match('aaaaaa', ['note']), '("baaa")')
})

test('a control character is not looked up: words end there', () => {
  equal(match('a\nb'), null)
})

/** Every character of ASCII that a folded text can have, and some that FTS5 might take for something else. */
const characters = [
  ...Array.from({ length: 0x7f }, (_, code) => foldCase(String.fromCharCode(code + 1))),
  ...['\u0080', '\ue02d', '\uf8ff', 'э', '\u0301', 'é', '日', '\ufffd', '😀', '\u{10fffd}'],
]
const text = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))
const few = fc.string({ unit: fc.constantFrom('-', '.', 'a', 'b', ' ', '"', "'", '\n'), minLength: 1, maxLength: 8 })

test('the index finds the texts that contain a part of up to three characters, and no others', () => {
  const add = db.prepare('insert into found values (?)')
  const search = db.prepare('select count(*) as count from found where found match ?')
  const either = fc.oneof(text, few)
  const property = fc.property(
    either,
    fc.option(either),
    either,
    fc.nat(12),
    fc.nat(2),
    (name, note, other, at, more) => {
      db.exec('delete from found')
      add.run(wordsOf([name, note]))
      for (const source of [name, note ?? other, other]) {
        const points = [...source]
        const part = points.slice(at % points.length, (at % points.length) + more + 1).join('')
        const counts = [match(part, ['name']), match(part, ['note']), match(part)].map((query) =>
          query === null ? null : search.get(query)?.count,
        )
        if (/\p{Cc}/u.test(part)) return deepEqual(counts, [null, null, null])
        const holds = [name.includes(part), note?.includes(part) ?? false]
        deepEqual(counts, [...holds, holds[0] || holds[1]].map(Number), JSON.stringify([name, note, part]))
      }
    },
  )
  fc.assert(property, { numRuns: runs(2_000), interruptAfterTimeLimit: 4_000 })
})
