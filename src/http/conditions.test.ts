import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import {
  conditionOf,
  type EntityTag,
  entityTagOf,
  matchesStrongly,
  matchesWeakly,
  parseEntityTags,
  shownVersion,
} from './conditions.ts'

const ofTags = [...Array(256).keys()]
  .map((code) => String.fromCharCode(code))
  .filter((each) => /[!#-~\x80-\xff]/.test(each))
const opaque = fc.string({ unit: fc.constantFrom(...ofTags, ',', '*', '\\', 'W', '/'), maxLength: 12 })
const tag: fc.Arbitrary<EntityTag> = fc.record({ isWeak: fc.boolean(), opaque }, { noNullPrototype: true })
const blank = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 })
const comma = fc
  .tuple(blank, fc.string({ unit: fc.constantFrom(',', ' ', '\t'), maxLength: 4 }))
  .map(([before, more]) => `${before},${more}`)

const written = ({ isWeak, opaque: text }: EntityTag) => `${isWeak ? 'W/' : ''}"${text}"`

test('parses a list of tags with any blanks and empty elements', () => {
  const listed = fc.array(fc.tuple(tag, comma), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(listed, fc.boolean(), (pairs, endsWithComma) => {
      const text = pairs.map(([each, separator]) => written(each) + separator).join('')
      const last = pairs.at(-1)?.[1].length ?? 0
      const value = endsWithComma ? text : text.slice(0, -last)
      assert.deepEqual(
        parseEntityTags(value),
        pairs.map(([each]) => each),
      )
    }),
  )
})

test('matches a version with its own tag: strong tags in both comparisons, weak tags only in the weak one', () => {
  fc.assert(
    fc.property(fc.array(tag, { maxLength: 5 }), opaque, fc.nat(), (others, version, place) => {
      const without = others.filter((each) => each.opaque !== version)
      const at = place % (without.length + 1)
      const list = (isWeak: boolean) =>
        parseEntityTags(without.toSpliced(at, 0, { isWeak, opaque: version }).map(written).join(', ')) ?? []
      assert.equal(matchesStrongly(list(false), version), version)
      assert.equal(matchesStrongly(list(true), version), undefined)
      assert.equal(matchesWeakly(list(false), version), version)
      assert.equal(matchesWeakly(list(true), version), version)
      assert.equal(matchesWeakly(without, version), undefined)
      assert.equal(matchesStrongly(without, version), undefined)
    }),
  )
})

test('parses any text to a list, to * or to null, without losing tags', () => {
  const characters = fc.constantFrom('"', ',', ' ', '\t', 'W', '/', '*', 'a', '\\', '\x7f', '\xff')
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 24 }), (value) => {
      const tags = parseEntityTags(value)
      if (tags === '*') assert.equal(value, '*')
      else if (tags !== null) {
        assert.ok(tags.length > 0)
        const quotes = value.split('"').length - 1
        assert.equal(quotes, 2 * tags.length)
        assert.equal(value.replaceAll(/(W\/)?"[^"]*"/g, '').replaceAll(/[\t ,]/g, ''), '')
        assert.deepEqual(parseEntityTags(tags.map(written).join(',')), tags)
      }
    }),
    { numRuns: runs(2_000) },
  )
})

test('matches every version with *', () => {
  assert.equal(parseEntityTags('*'), '*')
  assert.equal(matchesStrongly('*', '1-a'), '1-a')
  assert.equal(matchesWeakly('*', '1-a'), '1-a')
})

test('parses the tag of a version as a strong tag', () => {
  assert.deepEqual(parseEntityTags(entityTagOf('3-2026-11-20T12:00:00.000Z')), [
    { isWeak: false, opaque: '3-2026-11-20T12:00:00.000Z' },
  ])
})

const malformed = [
  '',
  ' ',
  ',',
  ' , ,',
  '1-a',
  '"1-a',
  '1-a"',
  "'1-a'",
  'w/"a"',
  'W/a',
  'W/ "a"',
  '"a" "b"',
  '"a"b',
  '**',
]
for (const value of [...malformed, '*, "a"', '"a", *', '"a b"', '"a";q=1', '"\x7f"', '"a"\n', 'null', 'undefined']) {
  test(`rejects the list of tags ${JSON.stringify(value)}`, () => assert.equal(parseEntityTags(value), null))
}

test('parses the largest possible header quickly', { timeout: 2_000 }, () => {
  for (const part of [',', '"', '"" ', '"",', ' ', 'W/', 'W/""', '"a",\t, ', '"a"\t']) {
    const value = part.repeat(32_768 / part.length)
    parseEntityTags(value)
    parseEntityTags(`${value}x`)
    parseEntityTags(`"a"${value}"`)
  }
})

describe('a version with fields that cannot be edited', () => {
  const conditionFrom = (headers: Record<string, string>) => {
    const condition = conditionOf({ headers })
    assert.ok(condition)
    return condition
  }
  const shown = shownVersion('3-abc', 'x1')
  const later = shownVersion('3-abc', 'x2')
  const edited = shownVersion('4-abc', 'x2')

  test('If-None-Match compares the whole version of a GET', () => {
    for (const tag of [`"${shown}"`, `W/"${shown}"`, `"y", "${shown}"`, `"${shown}-gzip"`]) {
      const condition = conditionFrom({ 'if-none-match': tag })
      assert.notEqual(condition.knownAs(shown), undefined)
      for (const version of [later, edited, '3-abc']) assert.equal(condition.knownAs(version), undefined)
    }
  })

  test('If-Match compares editable fields only', () => {
    for (const tag of [
      `"${shown}"`,
      '"3-abc"',
      `"y", "${shown}"`,
      `"${shown}-gzip"`,
      '"3-abc-gzip"',
      '"3-abc~"',
      '*',
    ]) {
      const condition = conditionFrom({ 'if-match': tag })
      for (const version of [shown, later, '3-abc']) {
        condition.check(version)
        condition.knownAs(version)
      }
      if (tag === '*') continue
      assert.throws(() => condition.check(edited), { code: 'precondition_failed', facts: { version: edited } })
      assert.throws(() => condition.knownAs('4-abc'), { code: 'precondition_failed' })
    }
  })

  test('If-Match rejects weak tags and parts of a version', () => {
    for (const tag of [`W/"${shown}"`, '"3"', '"3-ab"', '"~x1"', '"x1"', '"3-abcd~x1"']) {
      assert.throws(() => conditionFrom({ 'if-match': tag }).check(shown), { code: 'precondition_failed' })
    }
  })

  test('If-None-Match of a change compares editable fields only', () => {
    for (const tag of [`"${shown}"`, `"${later}"`, `W/"${shown}"`, '"3-abc"', '*']) {
      assert.throws(() => conditionFrom({ 'if-none-match': tag }).check(shown), { code: 'precondition_failed' })
    }
    conditionFrom({ 'if-none-match': `"${shown}"` }).check(edited)
  })
})
