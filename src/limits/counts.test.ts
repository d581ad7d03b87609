import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Counts } from './counts.ts'

const minute = 60_000

function counting(t: TestContext, { limit = 100, maxSubjects = 1_000 } = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 20) })
  let urgent = 0
  const counts = new Counts({ limit, toldShare: 0.01, maxSubjects }, () => {
    urgent += 1
  })
  return { counts, urgent: () => urgent }
}

test('a window lasts a minute, at the end of which nothing has been used', (t) => {
  const { counts } = counting(t)
  const { msLeft } = counts.add('1', 1)
  assert.ok(msLeft > 0 && msLeft <= minute)
  t.mock.timers.tick(msLeft - 1)
  assert.deepEqual(counts.add('1', 1), { used: 2, msLeft: 1 })
  t.mock.timers.tick(1)
  assert.deepEqual(counts.add('1', 1), { used: 1, msLeft: minute })
})

test('a clock that is set back or ahead begins a new window, never one without end', (t) => {
  for (const jump of [-86_400_000, -minute, 3 * minute, 86_400_000]) {
    const { counts } = counting(t)
    counts.add('1', 5)
    t.mock.timers.setTime(Date.now() + jump)
    const { used, msLeft } = counts.add('1', 1)
    assert.equal(used, 1)
    assert.ok(msLeft > 0 && msLeft <= minute)
    t.mock.timers.reset()
  }
})

test('the windows of a subject end at the same moment on every node, those of many subjects do not', (t) => {
  const { counts } = counting(t)
  const other = new Counts({ limit: 100, toldShare: 0.01, maxSubjects: 1_000 }, () => undefined)
  const subjects = Array.from({ length: 100 }, (_, n) => String(n))
  const ends = subjects.map((subject) => counts.add(subject, 1).msLeft)
  assert.deepEqual(
    subjects.map((subject) => other.add(subject, 1).msLeft),
    ends,
  )
  assert.ok(new Set(ends).size > 90)
})

test('what others counted is used too, in its window alone', (t) => {
  const { counts } = counting(t)
  const { msLeft } = counts.add('1', 1)
  const endsAt = Date.now() + msLeft
  counts.learn({ subject: '1', endsAt, requests: 7 })
  counts.learn({ subject: '1', endsAt: endsAt - minute, requests: 50 })
  counts.learn({ subject: '2', endsAt: Date.now() + counts.add('2', 0).msLeft, requests: 3 })
  assert.equal(counts.add('1', 1).used, 9)
  assert.equal(counts.add('2', 1).used, 4)
})

test('a hundredth of the limit is worth telling, once, and nothing past the limit', (t) => {
  const { counts, urgent } = counting(t, { limit: 200 })
  counts.add('1', 1)
  assert.deepEqual([urgent(), counts.untold(10)], [0, []])
  const { msLeft } = counts.add('1', 1)
  const tally = { subject: '1', endsAt: Date.now() + msLeft, requests: 2 }
  assert.deepEqual([urgent(), counts.untold(10), counts.untold(10)], [1, [tally], []])
  counts.notTold([tally, { ...tally, subject: 'unknown' }])
  assert.deepEqual(counts.untold(10), [tally])
  counts.add('1', 300)
  assert.equal(counts.untold(10)[0]?.requests, 302)
  counts.add('1', 300)
  assert.deepEqual(counts.untold(10), [])
})

test('no more subjects are told of at once than asked for; the rest is not lost', (t) => {
  const { counts } = counting(t)
  for (let subject = 0; subject < 10; subject++) counts.add(String(subject), 1)
  const told = [counts.untold(4), counts.untold(4), counts.untold(4)].map((tallies) => tallies.length)
  assert.deepEqual(told, [4, 4, 2])
})

test('past the most subjects, new ones share a count; windows that are over make room', (t) => {
  const { counts } = counting(t, { maxSubjects: 2 })
  assert.deepEqual(
    ['1', '2', '3', '4', '1'].map((subject) => counts.add(subject, 1).used),
    [1, 1, 1, 2, 2],
  )
  t.mock.timers.tick(minute)
  counts.sweep()
  assert.deepEqual(
    ['3', '4'].map((subject) => counts.add(subject, 1).used),
    [1, 1],
  )
})

test('no node counts more than all have spent, nor less than it has itself', () => {
  const step = fc.record({ node: fc.nat(2), spend: fc.integer({ min: 1, max: 40 }), exchange: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const nodes = Array.from(
        { length: 3 },
        () => new Counts({ limit: 100, toldShare: 0.01, maxSubjects: 10 }, () => undefined),
      )
      const told = [0, 0, 0]
      const spent = [0, 0, 0]
      for (const { node, spend, exchange } of steps) {
        const counts = nodes[node] as Counts
        spent[node] = (spent[node] ?? 0) + spend
        const { used, msLeft } = counts.add('1', spend)
        if (msLeft < 1_000) return
        assert.ok(used >= (spent[node] ?? 0) && used <= spent.reduce((sum, each) => sum + each, 0))
        if (!exchange) continue
        for (const { requests } of counts.untold(1)) told[node] = requests
        const requests = told.reduce((sum, each, at) => (at === node ? sum : sum + each), 0)
        counts.learn({ subject: '1', endsAt: Date.now() + counts.add('1', 0).msLeft, requests })
      }
    }),
  )
})
