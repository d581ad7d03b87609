import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SlidingWindow, windowMs } from './sliding-window.ts'

/** A moment just before the start of a minute of the clock. */
const beforeMinute = 30_000_000 * windowMs - 1

function windowOf(t: TestContext, { limit = 3, maxSubjects = 10 } = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: beforeMinute })
  return new SlidingWindow({ limit, maxSubjects })
}

/** Adds events until the limit is reached; returns how many there were. */
function addAll(window: SlidingWindow, subject: string): number {
  let count = 0
  for (; window.msUntilFree(subject) === 0; count += 1) window.add(subject)
  return count
}

test('allows no more events across the start of a minute', (t) => {
  const window = windowOf(t)
  assert.equal(addAll(window, 'a'), 3)
  t.mock.timers.tick(2)
  assert.equal(addAll(window, 'a'), 0)
  assert.equal(addAll(window, 'b'), 3)
})

test('allows another event when the oldest of the limit is a minute old', (t) => {
  const window = windowOf(t)
  for (let n = 0; n < 3; n += 1) {
    window.add('a')
    t.mock.timers.tick(10_000)
  }
  assert.equal(window.msUntilFree('a'), 30_000)
  t.mock.timers.tick(29_999)
  assert.equal(window.msUntilFree('a'), 1)
  t.mock.timers.tick(1)
  assert.equal(addAll(window, 'a'), 1)
  assert.equal(window.msUntilFree('a'), 10_000)
})

test('has at most the limit in any minute, whatever the pauses', (t) => {
  const window = windowOf(t)
  const times: number[] = []
  for (let n = 1; n < 500; n += 1) {
    if (window.msUntilFree('a') === 0) {
      window.add('a')
      times.push(Date.now())
    }
    t.mock.timers.tick((n * 7_919) % 13_000)
  }
  assert.ok(times.length > 100)
  for (const [at, time] of times.slice(3).entries()) assert.ok(time - (times[at] as number) >= windowMs)
})

test('shares one limit among new subjects past the bound, until sweep makes room', (t) => {
  const window = windowOf(t, { maxSubjects: 2 })
  for (const subject of ['a', 'b', 'c']) window.add(subject)
  assert.equal(addAll(window, 'd'), 2)
  assert.ok(window.msUntilFree('e') > 0)
  assert.equal(addAll(window, 'a'), 2)
  t.mock.timers.tick(windowMs - 1)
  window.sweep()
  assert.ok(window.msUntilFree('e') > 0)
  t.mock.timers.tick(1)
  window.sweep()
  assert.equal(addAll(window, 'e'), 3)
  assert.equal(addAll(window, 'f'), 3)
})

test('allows events after the clock is set back', (t) => {
  const window = windowOf(t)
  assert.equal(addAll(window, 'a'), 3)
  t.mock.timers.setTime(beforeMinute - windowMs * 60)
  assert.equal(addAll(window, 'a'), 3)
  assert.equal(window.msUntilFree('a'), windowMs)
})
