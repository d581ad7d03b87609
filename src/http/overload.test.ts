import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { stopMonotonicClock } from '../../test/clock.ts'
import { Overload } from './overload.ts'

/** Returns a watched event loop, and a function that runs a tick of this length and returns whether requests are rejected. */
function eventLoop(t: TestContext): { overload: Overload; tick(ms: number): boolean } {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const advance = stopMonotonicClock(t)
  const overload = new Overload()
  const tick = (ms: number) => {
    advance(ms)
    // However long a tick takes, a timer fires once after it.
    t.mock.timers.tick(20)
    return overload.refusal() !== undefined
  }
  return { overload, tick }
}

test('rejects requests while every tick of the event loop takes long, then accepts them again', (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (const ms of [320, 400]) {
    const rejected = Array.from({ length: 5 }, () => tick(ms))
    assert.deepEqual(rejected.slice(2), [true, true, true], `ticks of ${ms} ms`)
  }
  assert.equal(overload.refusal()?.code, 'overloaded')
  const after = Array.from({ length: 50 }, () => tick(20))
  assert.deepEqual([after[0], after.at(-1)], [true, false])
})

test('accepts requests after a start that blocked the event loop', (t) => {
  const { overload, tick } = eventLoop(t)
  assert.deepEqual([tick(1_000), tick(1_000)], [false, false])
  overload.begin()
  assert.equal(tick(1_000), false)
})

test('accepts requests after a single long tick, because the machine may have been paused', (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (let n = 0; n < 5; n++) tick(20)
  assert.equal(tick(2_000), false)
  assert.ok(overload.delays.sum > 1.5, String(overload.delays.sum))
})

test('accepts requests when ticks are short, however many there are', (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (let n = 0; n < 100; n++) assert.equal(tick(200), false)
})
