import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addDay,
  addPeople,
  countPeople,
  type DayFacts,
  type Dimension,
  decodeDay,
  dimensions,
  emptyDay,
  encodeDay,
  ensureHour,
  limitValues,
  maxValues,
  other,
  shareForGroups,
  subtractDay,
  sumBreakdown,
  type Value,
} from './day.ts'

const text = fc.oneof(
  fc.constantFrom('Chrome', 'de', 'DE', '__proto__', 'constructor', '7', '…', '……', '…x', 'ü'),
  fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 300 }),
)
const named: fc.Arbitrary<Value> = fc.oneof(text, fc.constantFrom(null, other))
const link: fc.Arbitrary<Value> = fc.oneof(fc.nat(), fc.constantFrom(2 ** 53 - 1, other))
const address: fc.Arbitrary<Value> = fc.oneof(link, fc.constant(null))
const arbitraryOf = (dimension: Dimension) =>
  dimension === 'links' ? link : dimension === 'addresses' ? address : named

interface Click {
  readonly hour: number
  readonly isFirst: boolean
  readonly values: readonly Value[]
}

const click: fc.Arbitrary<Click> = fc.record({
  hour: fc.nat(23),
  isFirst: fc.boolean(),
  values: fc.tuple(...dimensions.map(arbitraryOf)),
})
const programs = fc.array(fc.record({ hour: fc.nat(23), bots: fc.nat(3), previews: fc.nat(3) }), { maxLength: 3 })
const day = fc.tuple(fc.array(click, { maxLength: 30 }), programs).map(([clicks, others]) => {
  const facts = emptyDay()
  for (const { hour, isFirst, values } of clicks) {
    const counts = ensureHour(facts, hour)
    counts.people += 1
    counts.unique += Number(isFirst)
    for (const [at, dimension] of dimensions.entries()) {
      const breakdown = facts.breakdowns[dimension]
      breakdown.set(values[at] as Value, (breakdown.get(values[at] as Value) ?? 0) + 1)
    }
  }
  for (const { hour, bots, previews } of others) {
    if (bots + previews > 0) ensureHour(facts, hour).bots += bots
    if (bots + previews > 0) ensureHour(facts, hour).previews += previews
  }
  return facts
})

function assertAddsUp(facts: DayFacts): void {
  for (const dimension of dimensions) {
    assert.equal(sumBreakdown(facts.breakdowns[dimension]), countPeople(facts), dimension)
    assert.ok(facts.breakdowns[dimension].size <= maxValues + 2)
    for (const people of facts.breakdowns[dimension].values()) assert.ok(people > 0)
  }
}

test('decodes an encoded day', () => {
  fc.assert(fc.property(day, (facts) => assert.deepEqual(decodeDay(encodeDay(facts)), facts)))
})

test('sorts the values of the stored JSON, which hides single visits', () => {
  const facts = emptyDay()
  for (const values of [
    ['FR', 'b.example', 'Safari', 'iOS', 'mobile', 'fr', 12, 'Test 2', null],
    ['DE', null, 'Firefox', 'Linux', 'desktop', 'de', 7, null, 34],
    ['DE', other, 'Firefox', 'Linux', 'desktop', 'de', 7, '…', 34],
  ]) {
    ensureHour(facts, 9).people += 1
    for (const [at, dimension] of dimensions.entries()) addPeople(facts.breakdowns[dimension], values[at] as Value, 1)
  }
  ensureHour(facts, 9).unique = 2
  ensureHour(facts, 23).bots = 1
  const { hours, breakdowns } = encodeDay(facts)
  assert.equal(hours, '{"9":[3,2],"23":[0,0,1]}')
  assert.equal(
    breakdowns,
    '[{"DE":2,"FR":1},{"…":1,"b.example":1,"":1},{"Firefox":2,"Safari":1},{"Linux":2,"iOS":1},{"desktop":2,"mobile":1},{"de":2,"fr":1},{"7":2,"12":1},{"Test 2":1,"……":1},{"34":2}]',
  )
})

test('stores nothing about rules for a day that none has decided, and reads days from before rules', () => {
  const facts = emptyDay()
  ensureHour(facts, 9).people = 3
  const values = ['DE', null, 'Firefox', 'Linux', 'desktop', 'de'] as const
  for (const [at, value] of [...values, undefined, null, null].entries()) {
    if (value !== undefined) addPeople(facts.breakdowns[dimensions[at] as Dimension], value, 3)
  }
  const { hours, breakdowns } = encodeDay(facts)
  assert.equal(breakdowns, '[{"DE":3},{"":3},{"Firefox":3},{"Linux":3},{"desktop":3},{"de":3}]')
  assert.deepEqual(decodeDay({ hours, breakdowns }), facts)
  const share = shareForGroups(facts, 7)
  assert.equal(encodeDay(share).breakdowns, breakdowns.replace(/]$/, ',{"7":3}]'))
})

test('counts clicks of all rules as clicks without a rule in groups', () => {
  fc.assert(
    fc.property(day, (facts) => {
      const { rules } = shareForGroups(facts, 7).breakdowns
      assert.deepEqual([...rules], countPeople(facts) > 0 ? [[null, countPeople(facts)]] : [])
    }),
  )
})

test('subtracts nothing from a deleted day that has started again', () => {
  const [facts, less] = [emptyDay(), emptyDay()]
  ensureHour(facts, 9).people = 1
  Object.assign(ensureHour(less, 9), { people: 2, unique: 1 })
  subtractDay(facts, less)
  assert.equal(countPeople(facts), 1)
})

test('adds days up, and restores a day when another is subtracted again', () => {
  fc.assert(
    fc.property(fc.array(day, { maxLength: 40 }), day, (days, last) => {
      const sum = emptyDay()
      for (const each of days) {
        addDay(sum, each)
        limitValues(sum)
      }
      assertAddsUp(sum)
      const people = countPeople(sum)
      const hours = structuredClone(sum.hours)
      addDay(sum, last)
      limitValues(sum)
      assertAddsUp(sum)
      subtractDay(sum, last)
      assertAddsUp(sum)
      assert.equal(countPeople(sum), people)
      assert.deepEqual(sum.hours, hours)
      for (const each of days) subtractDay(sum, each)
      assert.deepEqual(sum, emptyDay())
    }),
  )
})

test('keeps frequent values if there are too many, even late ones', () => {
  const facts = emptyDay()
  const add = (referrer: string) => {
    const one = emptyDay()
    ensureHour(one, 0).people = 1
    for (const dimension of dimensions) one.breakdowns[dimension].set(referrer, 1)
    addDay(facts, one)
    limitValues(facts)
  }
  for (let n = 0; n < 1_000; n++) add(`rare-${n}.example`)
  for (let n = 0; n < 1_000; n++) add(n % 2 === 0 ? 'often.example' : `late-${n}.example`)
  for (let n = 0; n < 400; n++) add(`twice-${n >> 1}.example`)
  for (let n = 0; n < 100; n++) add('trickling.example')
  assertAddsUp(facts)
  const { referrers } = facts.breakdowns
  assert.equal(referrers.size, maxValues + 1)
  assert.ok((referrers.get('trickling.example') ?? 0) > 50, String(referrers.get('trickling.example')))
  // It may lose a few before its second click.
  assert.ok((referrers.get('often.example') ?? 0) > 450, String(referrers.get('often.example')))
  assert.ok((referrers.get(other) ?? 0) > 1_000)
})
