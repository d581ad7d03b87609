import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { Periodic } from './periodic.ts'

function fail(error: unknown): never {
  throw error
}

/** Returns a periodic task whose runs end when the test says so, every 100 ms of a mocked clock. */
function controlled(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const ends: (() => void)[] = []
  const task = () => new Promise<void>((resolve) => ends.push(resolve))
  return { ends, periodic: new Periodic(task, { everyMs: 100, onError: fail }) }
}

/** Advances the mocked clock, and lets the promises settle. */
async function advance(t: TestContext, ms: number): Promise<void> {
  t.mock.timers.tick(ms)
  await tick()
}

test('runs the task at intervals from the end of a run, and never twice at the same time', async (t) => {
  const { ends, periodic } = controlled(t)
  await advance(t, 1_000)
  assert.equal(ends.length, 0)
  periodic.start(10)
  for (const [ms, runs] of [
    [9, 0],
    [1, 1],
    [500, 1],
  ] as const) {
    await advance(t, ms)
    assert.equal(ends.length, runs)
  }
  ends[0]?.()
  await tick()
  await advance(t, 99)
  assert.equal(ends.length, 1)
  await advance(t, 1)
  assert.equal(ends.length, 2)
  ends[1]?.()
  await periodic.close()
  await advance(t, 1_000)
  await periodic.run()
  assert.equal(ends.length, 2)
})

test('callers of run during a run share the run after it', async (t) => {
  const { ends, periodic } = controlled(t)
  let ended = 0
  const [first, ...others] = [1, 2, 3].map(() => periodic.run().then(() => (ended += 1)))
  await tick()
  assert.equal(ends.length, 1)
  ends[0]?.()
  await first
  await tick()
  assert.deepEqual([ended, ends.length], [1, 2])
  ends[1]?.()
  await Promise.all(others)
  assert.equal(ends.length, 2)
})

test('runIn moves the next run, even if the task calls it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let runs = 0
  const task = () => {
    runs += 1
    if (runs === 1) periodic.runIn(500)
  }
  const periodic = new Periodic(task, { everyMs: 100, onError: fail })
  periodic.start()
  periodic.runIn(10)
  for (const [ms, expected] of [
    [10, 1],
    [499, 1],
    [1, 2],
    [100, 3],
  ] as const) {
    await advance(t, ms)
    assert.equal(runs, expected)
  }
})

test('reports errors and keeps running', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const errors: unknown[] = []
  const task = () => Promise.reject(new Error(`run ${errors.length + 1}`))
  const periodic = new Periodic(task, { everyMs: 100, onError: (error) => errors.push(String(error)) })
  periodic.start()
  await advance(t, 100)
  await advance(t, 100)
  await periodic.run()
  assert.deepEqual(errors, ['Error: run 1', 'Error: run 2', 'Error: run 3'])
})

test('keeps running after onError has thrown', async () => {
  const bug = new Error('bug')
  const periodic = new Periodic(() => fail(bug), { everyMs: 60_000, onError: fail })
  await assert.rejects(periodic.run(), bug)
  await assert.rejects(periodic.run(), bug)
})

test('close waits for the current run', async (t) => {
  const { ends, periodic } = controlled(t)
  void periodic.run()
  await tick()
  let isClosed = false
  const closed = periodic.close().then(() => (isClosed = true))
  await tick()
  assert.equal(isClosed, false)
  ends[0]?.()
  await closed
})

test('never overlaps runs when a caller runs the task again as soon as a run has ended', async () => {
  let active = 0
  let most = 0
  const task = async () => {
    active += 1
    most = Math.max(most, active)
    await tick()
    active -= 1
  }
  const periodic = new Periodic(task, { everyMs: 60_000, onError: fail })
  const twice = periodic.run().then(() => periodic.run())
  await Promise.resolve()
  await Promise.all([twice, periodic.run()])
  await periodic.close()
  assert.deepEqual([most, active], [1, 0])
})
