import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/characters.ts'
import { runs } from '../../test/runs.ts'
import { violationCodes } from '../../tools/docs/problem-texts.ts'
import { storeDomain, updateDomain } from '../domains/schema.ts'
import { Failure } from '../errors.ts'
import { resources } from '../resources.ts'
import { storeSpace, updateSpace } from '../spaces/schema.ts'
import { listQueryOf } from './list-query.ts'
import { positiveInteger } from './rules.ts'

const listQuery = listQueryOf(resources.spaces)
const forms = { storeDomain, updateDomain, storeSpace, updateSpace, listQuery }
const names = 'name color homepage_url not_found_url search sort page per_page id zzz __proto__ toString'.split(' ')
const value = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\0', ' ', 'a', '.', '3', ':', '/', '\\', '%') }),
  fc.jsonValue(),
  fc.constantFrom('asc', 'id', '10', '1', 'go.acme.com', 'https://acme.com', '', ' '),
)
const input = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), value))
  .map((pairs) => Object.assign(Object.create(null), Object.fromEntries(pairs)) as Record<string, unknown>)

for (const [what, form] of Object.entries(forms)) {
  test(`${what} never throws anything but validation_failed, and reports each bad field once`, () => {
    fc.assert(
      fc.property(input, (fields) => {
        const { violations } = form.read(fields)
        for (const { code, field, message } of violations) {
          assert.ok(Object.hasOwn(violationCodes, code), code)
          assert.ok(field.isWellFormed() && message.isWellFormed())
          assert.ok(message.length > 0 && message.length < 400)
        }
        const echoed = violations.map(({ field }) => field).filter((field) => !field.endsWith('…'))
        assert.equal(
          new Set(echoed.filter((field) => field in fields)).size,
          echoed.filter((field) => field in fields).length,
        )
        const checked = form.check(fields)
        if (checked instanceof Failure) {
          assert.equal(checked.code, 'validation_failed')
          assert.deepEqual(checked.facts.violations, violations)
        } else assert.equal(violations.length, 0)
      }),
      { numRuns: runs(500) },
    )
  })
}

test('ignores white space around a value', () => {
  const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', '\u00a0', '\u3000', '\ufeff') })
  const spaceName = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(blank, spaceName, blank, (before, name, after) => {
      assert.deepEqual(storeSpace.read({ name: before + name + after }), storeSpace.read({ name: name.trim() }))
    }),
  )
})

test('accepts one spelling of each integer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (integer) => {
      assert.equal(positiveInteger(String(integer)), integer)
      const others = ['0?', '+?', '-?', '?.0', '?e0', '0x?', ' ?', '?\n']
      for (const other of others.map((text) => text.replace('?', String(integer)))) {
        assert.equal(positiveInteger(other), undefined, other)
      }
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.e+-x ') }), (text) => {
      const read = positiveInteger(text)
      if (read !== undefined) assert.equal(String(read), text)
    }),
  )
  for (const text of ['0', '', '9007199254740992', '9'.repeat(17), '٣', '３'])
    assert.equal(positiveInteger(text), undefined)
  assert.equal(positiveInteger('9007199254740991'), Number.MAX_SAFE_INTEGER)
})

test('trims white space and invisible characters at the ends of every text', () => {
  const around = [' ', '\u00ad', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00a0', '\u200d \t']
  for (const each of around) {
    const { values, violations } = storeSpace.read({ name: `${each}a-b${each}`, color: `${each}3` })
    assert.deepEqual([values.name, values.color, violations], ['a-b', 3, []], JSON.stringify(each))
    assert.equal(storeSpace.read({ name: each }).violations[0]?.code, 'required')
  }
})
