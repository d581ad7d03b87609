import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { Condition, parseEntityTags } from './conditions.ts'

interface EntityTag {
  readonly isWeak: boolean
  readonly opaque: string
}

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
      const tags = pairs.map(([each]) => each)
      const textsOf = (some: readonly EntityTag[]) => some.map(({ opaque: text }) => text)
      assert.deepEqual(parseEntityTags(value, 'weak'), textsOf(tags))
      assert.deepEqual(parseEntityTags(value, 'strong'), textsOf(tags.filter(({ isWeak }) => !isWeak)))
    }),
  )
})

test('matches a version with its own tag, and no other', () => {
  fc.assert(
    fc.property(fc.array(opaque, { maxLength: 5 }), opaque, fc.nat(), (others, version, place) => {
      // Versions that differ only after a tilde have the same editable fields.
      const without = others.filter((each) => each.split('~')[0] !== version.split('~')[0])
      const tags = without.toSpliced(place % (without.length + 1), 0, version)
      assert.equal(new Condition(null, tags).knownAs(version), version)
      assert.equal(new Condition(tags, null).knownAs(version), undefined)
      assert.equal(new Condition(null, without).knownAs(version), undefined)
      assert.throws(() => new Condition(without, null).knownAs(version), { code: 'precondition_failed' })
    }),
  )
})

test('parses any text to a list, to * or to null, without losing tags', () => {
  const characters = fc.constantFrom('"', ',', ' ', '\t', 'W', '/', '*', 'a', '\\', '\x7f', '\xff')
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 24 }), (value) => {
      const tags = parseEntityTags(value, 'weak')
      if (tags === '*') assert.equal(value, '*')
      else if (tags !== null) {
        assert.ok(tags.length > 0)
        const quotes = value.split('"').length - 1
        assert.equal(quotes, 2 * tags.length)
        assert.equal(value.replaceAll(/(W\/)?"[^"]*"/g, '').replaceAll(/[\t ,]/g, ''), '')
        assert.deepEqual(parseEntityTags(tags.map((text) => `"${text}"`).join(','), 'strong'), tags)
      }
    }),
    { numRuns: runs(2_000) },
  )
})

test('rejects a list of tags with a syntax error', () => {
  const unquoted = ['', ' ', ',', ' , ,', '1-a', '"1-a', '1-a"', "'1-a'", 'W/a', '**', 'null']
  const quoted = ['w/"a"', 'W/ "a"', '"a" "b"', '"a"b', '*, "a"', '"a b"', '"\x7f"', '"a"\n']
  for (const value of [...unquoted, ...quoted]) assert.equal(parseEntityTags(value, 'weak'), null, value)
})

test('parses the largest possible header quickly', { timeout: 30_000 }, () => {
  for (const part of [',', '"', '"" ', '"",', ' ', 'W/', 'W/""', '"a",\t, ', '"a"\t']) {
    const value = part.repeat(32_768 / part.length)
    for (const text of [value, `${value}x`, `"a"${value}"`]) parseEntityTags(text, 'weak')
  }
})
