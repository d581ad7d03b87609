import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { RateCounter } from './rate-counter.ts'

const minute = 60_000

function counting(t: TestContext, { limit = 100, maxSubjects = 1_000 } = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 20) })
  let urgent = 0
  const counter = new RateCounter({ limit, publishShare: 0.01, maxSubjects }, () => {
    urgent += 1
  })
  return { counter, urgent: () => urgent }
}

test('counts from 0 again after a minute', (t) => {
  const { counter } = counting(t)
  const { msLeft } = counter.add('1', 1)
  assert.ok(msLeft > 0 && msLeft <= minute)
  t.mock.timers.tick(msLeft - 1)
  assert.deepEqual(counter.add('1', 1), { used: 2, msLeft: 1 })
  t.mock.timers.tick(1)
  assert.deepEqual(counter.add('1', 1), { used: 1, msLeft: minute })
})

test('starts a new window when the clock jumps', (t) => {
  for (const jump of [-86_400_000, -minute, 3 * minute, 86_400_000]) {
    const { counter } = counting(t)
    counter.add('1', 5)
    t.mock.timers.setTime(Date.now() + jump)
    const { used, msLeft } = counter.add('1', 1)
    assert.equal(used, 1)
    assert.ok(msLeft > 0 && msLeft <= minute)
    t.mock.timers.reset()
  }
})

test('ends the windows of a subject at the same time in every process, but windows of different subjects at different times', (t) => {
  const { counter } = counting(t)
  const other = new RateCounter({ limit: 100, publishShare: 0.01, maxSubjects: 1_000 }, () => undefined)
  const subjects = Array.from({ length: 100 }, (_, n) => String(n))
  const ends = subjects.map((subject) => counter.add(subject, 1).msLeft)
  assert.deepEqual(
    subjects.map((subject) => other.add(subject, 1).msLeft),
    ends,
  )
  assert.ok(new Set(ends).size > 90)
})

test('adds the counts of other processes to their own window only', (t) => {
  const { counter } = counting(t)
  const { msLeft } = counter.add('1', 1)
  const endsAt = Date.now() + msLeft
  counter.setRemote({ subject: '1', endsAt, requests: 7 })
  counter.setRemote({ subject: '1', endsAt: endsAt - minute, requests: 50 })
  counter.setRemote({ subject: '2', endsAt: Date.now() + counter.add('2', 0).msLeft, requests: 3 })
  assert.equal(counter.add('1', 1).used, 9)
  assert.equal(counter.add('2', 1).used, 4)
})

test('publishes each hundredth of the limit once, and nothing above the limit', (t) => {
  const { counter, urgent } = counting(t, { limit: 200 })
  counter.add('1', 1)
  assert.deepEqual([urgent(), counter.takeUnpublished(10)], [0, []])
  const { msLeft } = counter.add('1', 1)
  const count = { subject: '1', endsAt: Date.now() + msLeft, requests: 2 }
  assert.deepEqual([urgent(), counter.takeUnpublished(10)], [1, [count]])
  assert.deepEqual(counter.takeUnpublished(10), [])
  counter.add('1', 1)
  assert.equal(urgent(), 1)
  counter.markUnpublished([count, { ...count, subject: 'unknown' }])
  assert.deepEqual(counter.takeUnpublished(10), [{ ...count, requests: 3 }])
  counter.add('1', 300)
  assert.equal(counter.takeUnpublished(10)[0]?.requests, 303)
  counter.add('1', 300)
  assert.deepEqual(counter.takeUnpublished(10), [])
})

test('lets new subjects share a count when there are too many, until windows end', (t) => {
  const { counter } = counting(t, { maxSubjects: 2 })
  assert.deepEqual(
    ['1', '2', '3', '4', '1'].map((subject) => counter.add(subject, 1).used),
    [1, 1, 1, 2, 2],
  )
  t.mock.timers.tick(minute)
  counter.sweep()
  assert.deepEqual(
    ['3', '4'].map((subject) => counter.add(subject, 1).used),
    [1, 1],
  )
})

test('never counts more than the sum of all processes, nor less than its own', () => {
  const step = fc.record({ node: fc.nat(2), spend: fc.integer({ min: 1, max: 40 }), exchange: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const nodes = Array.from(
        { length: 3 },
        () => new RateCounter({ limit: 100, publishShare: 0.01, maxSubjects: 10 }, () => undefined),
      )
      const published = [0, 0, 0]
      const spent = [0, 0, 0]
      for (const { node, spend, exchange } of steps) {
        const counter = nodes[node] as RateCounter
        spent[node] = (spent[node] ?? 0) + spend
        const { used, msLeft } = counter.add('1', spend)
        if (msLeft < 1_000) return
        assert.ok(used >= (spent[node] ?? 0) && used <= spent.reduce((sum, each) => sum + each, 0))
        if (!exchange) continue
        for (const { requests } of counter.takeUnpublished(1)) published[node] = requests
        const requests = published.reduce((sum, each, at) => (at === node ? sum : sum + each), 0)
        counter.setRemote({ subject: '1', endsAt: Date.now() + counter.add('1', 0).msLeft, requests })
      }
    }),
  )
})
