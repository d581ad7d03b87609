import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { stopMonotonicClock } from '../../test/clock.ts'
import { SlidingWindow } from '../redirect/passwords.ts'
import { windowMs } from './rate-counter.ts'

function windowOf(t: TestContext, { limit = 3, maxSubjects = 10 } = {}) {
  const tick = stopMonotonicClock(t)
  return { window: new SlidingWindow(limit, maxSubjects), tick }
}

/** Adds events until the limit is reached; returns how many there were. */
function addAll(window: SlidingWindow, subject: string): number {
  let count = 0
  for (; window.msUntilFree(subject) === 0; count += 1) window.add(subject)
  return count
}

test('has at most the limit in any minute, whatever the pauses', (t) => {
  const { window, tick } = windowOf(t)
  const times: number[] = []
  for (let n = 1; n < 500; n += 1) {
    if (window.msUntilFree('a') === 0) {
      window.add('a')
      times.push(performance.now())
    }
    tick((n * 7_919) % 13_000)
  }
  assert.ok(times.length > 100)
  for (const [at, time] of times.slice(3).entries()) assert.ok(time - (times[at] as number) >= windowMs)
})

test('shares one limit among new subjects past the bound, until older ones are dropped', (t) => {
  const { window, tick } = windowOf(t, { maxSubjects: 2 })
  for (const subject of ['a', 'b', 'c']) window.add(subject)
  assert.equal(addAll(window, 'd'), 2)
  assert.ok(window.msUntilFree('e') > 0)
  assert.equal(addAll(window, 'a'), 2)
  tick(2 * windowMs)
  assert.equal(addAll(window, 'e'), 3)
  assert.equal(addAll(window, 'f'), 3)
})

test('drops subjects without an event in the last minute, and no others', (t) => {
  const { window, tick } = windowOf(t, { limit: 1, maxSubjects: 2 })
  tick(windowMs)
  window.add('old')
  tick(windowMs - 1)
  window.add('new')
  assert.equal(addAll(window, 'c'), 1)
  assert.equal(addAll(window, 'd'), 0)
  // The maps are rotated now, and again a minute later.
  tick(1)
  assert.ok(window.msUntilFree('new') > 0)
  tick(windowMs - 2)
  assert.ok(window.msUntilFree('new') > 0)
  tick(2)
  assert.equal(window.msUntilFree('new'), 0)
  assert.deepEqual(
    ['c', 'd', 'e'].map((subject) => addAll(window, subject)),
    [1, 1, 1],
  )
})

test('ignores changes of the system clock', (t) => {
  const { window } = windowOf(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  assert.equal(addAll(window, 'a'), 3)
  for (const ms of [-60 * windowMs, 60 * windowMs]) {
    t.mock.timers.setTime(Date.now() + ms)
    assert.equal(window.msUntilFree('a'), windowMs)
  }
})
