import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addDay,
  type Breakdown,
  type DayFacts,
  dimensions,
  emptyDay,
  hourOf,
  maxValues,
  other,
  peopleOf,
  subtractDay,
  type Value,
} from './day-facts.ts'
import { common, decodeDay, encodeDay, headBytes } from './day-form.ts'
import { decodeHours, decoderOf, spanOf } from './day-parts.ts'

const text = fc.oneof(fc.constantFrom('Chrome', 'de', 'DE', ''), fc.string({ unit: 'grapheme', maxLength: 300 }))
const value: fc.Arbitrary<Value> = fc.oneof(text, fc.nat(), fc.constantFrom(null, 2 ** 53 - 1))

interface Click {
  readonly hour: number
  readonly isFirst: boolean
  readonly values: readonly Value[]
}

const click: fc.Arbitrary<Click> = fc.record({
  hour: fc.nat(23),
  isFirst: fc.boolean(),
  values: fc.array(value, { minLength: dimensions.length, maxLength: dimensions.length }),
})
const programs = fc.array(fc.record({ hour: fc.nat(23), bots: fc.nat(3), previews: fc.nat(3) }), { maxLength: 3 })
const day = fc.tuple(fc.array(click, { maxLength: 30 }), programs).map(([clicks, others]) => {
  const facts = emptyDay()
  for (const { hour, isFirst, values } of clicks) {
    const counts = hourOf(facts, hour)
    counts.people += 1
    counts.unique += Number(isFirst)
    for (const [at, dimension] of dimensions.entries()) {
      const breakdown = facts.breakdowns[dimension]
      breakdown.set(values[at] as Value, (breakdown.get(values[at] as Value) ?? 0) + 1)
    }
  }
  for (const { hour, bots, previews } of others) {
    if (bots + previews > 0) hourOf(facts, hour).bots += bots
    if (bots + previews > 0) hourOf(facts, hour).previews += previews
  }
  return facts
})

/** A day of all hours, with large numbers and many values. */
const manyVisits = emptyDay()
for (let hour = 0; hour < 24; hour++) {
  Object.assign(hourOf(manyVisits, hour), { people: 2 ** 47, unique: 2 ** 46, bots: 2 ** 47, previews: 2 ** 47 })
}
for (const dimension of dimensions) {
  const { breakdowns } = manyVisits
  if (dimension === 'devices') breakdowns[dimension].set('tv', peopleOf(manyVisits))
  else for (let n = 0; n < 64; n++) breakdowns[dimension].set(`value-${n}.example`, peopleOf(manyVisits) / 64)
}

const sumOf = (breakdown: Breakdown) => [...breakdown.values()].reduce((sum, people) => sum + people, 0)

function assertAddsUp(facts: DayFacts): void {
  for (const dimension of dimensions) {
    assert.equal(sumOf(facts.breakdowns[dimension]), peopleOf(facts), dimension)
    assert.ok(facts.breakdowns[dimension].size <= maxValues + 2)
    for (const people of facts.breakdowns[dimension].values()) assert.ok(people > 0)
  }
}

test('a day is read as it was written', () => {
  fc.assert(fc.property(day, (facts) => assert.deepEqual(decodeDay(encodeDay(facts)), facts)))
})

test('the hours and each dimension of a day are read by themselves as they are read together', () => {
  fc.assert(
    fc.property(day, (facts) => {
      const bytes = encodeDay(facts)
      assert.deepEqual(decodeHours(bytes), facts.hours)
      const decode = decoderOf(bytes)
      for (const dimension of dimensions) {
        assert.deepEqual(decode(dimension), facts.breakdowns[dimension])
      }
    }),
  )
})

test('any dimensions of a large day are read from their own bytes as they are read together with the others', () => {
  const some = fc.uniqueArray(fc.constantFrom(...dimensions), { minLength: 1 })
  let large = 0
  fc.assert(
    fc.property(day, some, (facts, wanted) => {
      const bytes = encodeDay(facts)
      const head = bytes.subarray(0, headBytes)
      assert.deepEqual(decodeHours(head), facts.hours)
      const span = spanOf(head, wanted)
      assert.equal(span === null, bytes.length <= headBytes)
      assert.equal(spanOf(bytes, wanted), null)
      if (span === null) return
      large += 1
      const own = bytes.subarray(span.at, span.at + span.bytes)
      const decode = decoderOf(head, span.at, own)
      for (const dimension of wanted) {
        assert.deepEqual(decode(dimension), facts.breakdowns[dimension])
      }
    }),
    { examples: [...dimensions.map((each) => [manyVisits, [each]] as const), [manyVisits, [...dimensions]]] },
  )
  assert.ok(large > 0)
})

test('other bytes are refused, and never read as a day of another size', () => {
  fc.assert(
    fc.property(day, (facts) => {
      const bytes = encodeDay(facts)
      for (let end = 0; end < bytes.length; end++) {
        const start = bytes.slice(0, end)
        assert.throws(() => decodeDay(start), /cut short/)
        if (peopleOf(facts) > 0) assert.throws(() => decoderOf(start)('links'), /cut short/)
      }
    }),
    { numRuns: 20 },
  )
  assert.throws(() => decodeDay(Uint8Array.of(7)), /does not know/)
})

test('each common text has a byte of its own', () => {
  assert.ok(common.length <= 128)
  assert.equal(new Set(common).size, common.length)
  for (const text of common) {
    const facts = emptyDay()
    hourOf(facts, 0).people = 1
    for (const dimension of dimensions) facts.breakdowns[dimension].set(text, 1)
    assert.equal(encodeDay(facts).length, 13, text)
    assert.deepEqual(decodeDay(encodeDay(facts)), facts)
  }
})

test('a visit of one person takes 12 bytes where all values are common ones', () => {
  const facts = emptyDay()
  hourOf(facts, 12).people = 1
  hourOf(facts, 12).unique = 1
  const usual: Value[] = ['DE', null, 'Chrome', 'Windows', 'desktop', 'de', null]
  for (const [at, dimension] of dimensions.entries()) facts.breakdowns[dimension].set(usual[at] as Value, 1)
  assert.equal(encodeDay(facts).length, 12)
})

test('what is added up adds up, and what is taken away again leaves what was there', () => {
  fc.assert(
    fc.property(fc.array(day, { maxLength: 40 }), day, (days, last) => {
      const sum = emptyDay()
      for (const each of days) addDay(sum, each)
      assertAddsUp(sum)
      const people = peopleOf(sum)
      const hours = structuredClone(sum.hours)
      addDay(sum, last)
      assertAddsUp(sum)
      subtractDay(sum, last)
      assertAddsUp(sum)
      assert.equal(peopleOf(sum), people)
      assert.deepEqual(sum.hours, hours)
      for (const each of days) subtractDay(sum, each)
      assert.deepEqual(sum, emptyDay())
    }),
  )
})

test('of more values than there is room for, those that come often stay, one by one and late as well', () => {
  const facts = emptyDay()
  const add = (referrer: string) => {
    const one = emptyDay()
    hourOf(one, 0).people = 1
    for (const dimension of dimensions) one.breakdowns[dimension].set(referrer, 1)
    addDay(facts, one)
  }
  for (let n = 0; n < 1_000; n++) add(`rare-${n}.example`)
  for (let n = 0; n < 1_000; n++) add(n % 2 === 0 ? 'often.example' : `late-${n}.example`)
  for (let n = 0; n < 400; n++) add(`twice-${n >> 1}.example`)
  for (let n = 0; n < 100; n++) add('trickling.example')
  assertAddsUp(facts)
  const { referrers } = facts.breakdowns
  assert.equal(referrers.size, maxValues + 1)
  assert.ok((referrers.get('trickling.example') ?? 0) > 50, String(referrers.get('trickling.example')))
  // It may lose a few before it has come twice.
  assert.ok((referrers.get('often.example') ?? 0) > 450, String(referrers.get('often.example')))
  assert.ok((referrers.get(other) ?? 0) > 1_000)
})
