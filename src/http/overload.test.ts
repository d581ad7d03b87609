import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import { stopMonotonicClock } from '../../test/clock.ts'
import { Overload } from './overload.ts'

/** Returns a watched event loop, and a function that runs a tick of this length and returns whether requests are rejected. */
function eventLoop(t: TestContext): { overload: Overload; tick(ms: number): Promise<boolean> } {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const advance = stopMonotonicClock(t)
  const overload = new Overload()
  const tick = async (ms: number) => {
    advance(ms)
    // However long a tick takes, a timer fires once after it.
    t.mock.timers.tick(20)
    await settled()
    return overload.refusal() !== undefined
  }
  return { overload, tick }
}

test('rejects requests while every tick of the event loop takes long, then accepts them again', async (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (const ms of [320, 400]) {
    const rejected: boolean[] = []
    for (let n = 0; n < 5; n++) rejected.push(await tick(ms))
    assert.deepEqual(rejected.slice(2), [true, true, true], `ticks of ${ms} ms`)
  }
  assert.equal(overload.refusal()?.code, 'overloaded')
  assert.equal(await tick(20), true)
  for (let n = 0; n < 48; n++) await tick(20)
  assert.equal(await tick(20), false)
})

test('accepts requests after a start that blocked the event loop', async (t) => {
  const { overload, tick } = eventLoop(t)
  assert.deepEqual([await tick(1_000), await tick(1_000)], [false, false])
  overload.begin()
  assert.equal(await tick(1_000), false)
})

test('accepts requests after a single long tick, because the machine may have been paused', async (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (let n = 0; n < 5; n++) await tick(20)
  assert.equal(await tick(2_000), false)
  assert.ok(overload.delays.sum > 1.5, String(overload.delays.sum))
})

test('accepts requests when ticks are short, however many there are', async (t) => {
  const { overload, tick } = eventLoop(t)
  overload.begin()
  for (let n = 0; n < 100; n++) assert.equal(await tick(200), false)
})
