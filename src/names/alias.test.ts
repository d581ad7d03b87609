import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { foldCase } from '../lib/text.ts'
import { Refusal } from '../violations.ts'
import { findAlias, parseAlias } from './alias.ts'
import { shortUrls } from './short-url.ts'

const pieces = [
  ...['a', 'B', '7', '-', '_', '.', '~', '/', '..', './', '+', '%', '#', '?', ' ', ':', '\\', '@', '&', '=', "'"],
  ...['é', 'e\u0301', 'ß', 'ſ', '\u0345', '\u1d160', '日本', 'عربي', '٣', '\u3164', '\u200b', '\u202e', '\u{1d7d8}'],
  ...['💩', '👩‍👩‍👧', '#️⃣', '*️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '\u200d', '\ufe0f'],
  ...['\ud83d', '\ude00', 'robots.txt', '.well-known', 'favicon.ico', 'apple-app-site-association'],
]
const text = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 140 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 140 }),
)

describe('an accepted alias', () => {
  const each = (check: (alias: string, sent: string) => void) =>
    fc.assert(
      fc.property(text, (sent) => {
        const alias = parseAlias(sent)
        if (!(alias instanceof Refusal)) check(alias, sent)
      }),
      { numRuns: runs(3_000) },
    )

  test('is the path of a short URL that no URL parser changes', () =>
    each((alias) => {
      const written = shortUrls('http://{domain}:3080')('go.example', alias)
      const { href, pathname, search, hash, host } = new URL(written)
      assert.deepEqual([href, search, hash, host], [written, '', '', 'go.example:3080'])
      assert.equal(decodeURIComponent(pathname), `/${alias}`)
    }))

  test('is in NFC, within its length, and accepted again unchanged', () =>
    each((alias, sent) => {
      assert.equal(alias, sent.normalize('NFC'))
      assert.ok([...alias].length <= 128 && alias.isWellFormed())
      assert.equal(parseAlias(alias), alias)
    }))

  test('is never reserved in another case', () =>
    each((alias) => {
      const folded = foldCase(alias)
      const whole = ['robots.txt', 'favicon.ico', '.well-known', 'apple-app-site-association']
      assert.equal(whole.includes(folded) || /^\.well-known\//.test(folded), false)
    }))
})

test('rejects 10,000 characters of any kind', () => {
  for (const piece of pieces.filter((each) => each !== '+')) {
    const long = piece.repeat(Math.ceil(10_000 / piece.length))
    for (const sent of [long, `a${long}`, `${long}a`, `e${'\u0301'.repeat(10_000)}`]) {
      assert.equal((parseAlias(sent) as Refusal).code, 'too_long')
    }
  }
})

test('accepts every hint that it gives for an alias, which fixes all of its problems', () => {
  const hintFor = (sent: string) => {
    const found = parseAlias(sent)
    if (!(found instanceof Refusal)) return null
    return / write (?:an alias such as )?(.*)\.$/su.exec(found.at('alias').message)?.[1] ?? null
  }
  for (const [sent, hint] of [
    ['a b/', 'a-b'],
    ['/a', 'a'],
    ['a//b', 'a/b'],
    ['../a/./b', 'a/b'],
    ['50% off!', '50-off'],
    ['a\u200bb', 'ab'],
    ['❤️ & co', '❤️-co'],
    ['/', 'summer-sale'],
    ['?/robots.txt', 'summer-sale'],
  ] as const) {
    assert.equal(hintFor(sent), hint, sent)
  }
  fc.assert(
    fc.property(text, (sent) => {
      const hint = hintFor(sent)
      if (hint !== null) assert.equal(parseAlias(hint), hint)
    }),
    { numRuns: runs(3_000) },
  )
})

test('rejects an alias of variation selectors', () => {
  for (const sent of ['\ufe0f', '\ufe0e\ufe0f']) assert.equal((parseAlias(sent) as Refusal).code, 'invisible_character')
})

describe('an alias in text with noise', () => {
  const noise = [...' "\'()<>[]{},;:!?«»„“”…%&=*#@\\|^`', '\u00a0', '\u200b', '\ufeff', '\u00ad', '\u202e', '\0']

  test('is found between characters that no alias has at its ends, dots and repeated slashes', () => {
    for (const alias of ['summer', 'été', '.a', '-a-', 'a.b/c', '❤️', '#️⃣', '🇩🇪', '👍🏽', '👩‍👩‍👧', '🏴󠁧󠁢󠁥󠁮󠁧󠁿']) {
      assert.equal(parseAlias(alias), alias)
      for (const each of noise) assert.deepEqual(findAlias(each + alias + each), { alias, after: each })
      for (const after of ['.', '...', ').', '.)', './', '//', '+.', ' + ']) {
        assert.deepEqual(findAlias(`//${alias}${after}`), { alias, after })
      }
    }
    assert.equal(findAlias('a//b///c').alias, 'a/b/c')
    for (const text of ['', '.', '//', '...', ' ', ')', './.']) assert.equal(findAlias(text).alias, '', text)
  })

  test('is any accepted alias, unless it ends in a dot', () =>
    fc.assert(
      fc.property(text, fc.array(fc.constantFrom(...noise)), (sent, around) => {
        const alias = parseAlias(sent)
        if (alias instanceof Refusal || alias.endsWith('.')) return
        const [start, end] = [around.join(''), around.toReversed().join('')]
        // A sign before U+20E3 would be an emoji.
        if (!/^\p{M}/u.test(alias)) assert.deepEqual(findAlias(start + alias + end), { alias, after: end })
      }),
      { numRuns: runs(3_000) },
    ))
})
