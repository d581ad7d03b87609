import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { Periodic } from './periodic.ts'

function fail(error: unknown): never {
  throw error
}

/** A task whose runs end when the test says so. */
function controlled() {
  const ends: (() => void)[] = []
  const task = () => new Promise<void>((resolve) => ends.push(resolve))
  return { ends, task }
}

/** Advances the mocked clock, and lets the promises settle. */
async function advance(t: TestContext, ms: number): Promise<void> {
  t.mock.timers.tick(ms)
  await tick()
}

test('runs the task after each interval until it is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let runs = 0
  const periodic = new Periodic(() => (runs += 1), { everyMs: 100, onError: fail })
  await advance(t, 1_000)
  assert.equal(runs, 0)
  periodic.start(10)
  await advance(t, 10)
  assert.equal(runs, 1)
  await advance(t, 99)
  assert.equal(runs, 1)
  await advance(t, 1)
  assert.equal(runs, 2)
  await periodic.close()
  await advance(t, 1_000)
  assert.equal(runs, 2)
})

test('counts the interval from the end of a run, and never runs twice at the same time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { ends, task } = controlled()
  const periodic = new Periodic(task, { everyMs: 100, onError: fail })
  periodic.start(0)
  await advance(t, 0)
  await advance(t, 500)
  assert.equal(ends.length, 1)
  ends[0]?.()
  await tick()
  await advance(t, 99)
  assert.equal(ends.length, 1)
  await advance(t, 1)
  assert.equal(ends.length, 2)
})

test('callers of run during a run share the run after it', async () => {
  const { ends, task } = controlled()
  const periodic = new Periodic(task, { everyMs: 100, onError: fail })
  let ended = 0
  const first = periodic.run().then(() => (ended += 1))
  const others = [periodic.run(), periodic.run()].map((run) => run.then(() => (ended += 1)))
  await tick()
  assert.equal(ends.length, 1)
  ends[0]?.()
  await first
  await tick()
  assert.equal(ended, 1)
  assert.equal(ends.length, 2)
  ends[1]?.()
  await Promise.all(others)
  assert.equal(ends.length, 2)
})

test('runIn moves the next run, also during a run', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let runs = 0
  let nextMs: number | undefined = 500
  const periodic = new Periodic(
    () => {
      runs += 1
      if (nextMs !== undefined) periodic.runIn(nextMs)
    },
    { everyMs: 100, onError: fail },
  )
  periodic.start()
  periodic.runIn(10)
  await advance(t, 10)
  assert.equal(runs, 1)
  nextMs = undefined
  await advance(t, 499)
  assert.equal(runs, 1)
  await advance(t, 1)
  assert.equal(runs, 2)
  await advance(t, 100)
  assert.equal(runs, 3)
  await periodic.close()
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
  await periodic.close()
})

test('close waits for the current run', async () => {
  const { ends, task } = controlled()
  const periodic = new Periodic(task, { everyMs: 100, onError: fail })
  periodic.start(0)
  void periodic.run()
  await tick()
  let isClosed = false
  const closed = periodic.close().then(() => (isClosed = true))
  await tick()
  assert.equal(isClosed, false)
  ends[0]?.()
  await closed
  await periodic.run()
  assert.equal(ends.length, 1)
})

test('never overlaps runs when a caller runs the task again as soon as a run has ended', async () => {
  let active = 0
  let most = 0
  const periodic = new Periodic(
    async () => {
      active += 1
      most = Math.max(most, active)
      await new Promise((resolve) => setImmediate(resolve))
      active -= 1
    },
    { everyMs: 60_000, onError: fail },
  )
  const twice = async () => {
    await periodic.run()
    await periodic.run()
  }
  const first = twice()
  await new Promise((resolve) => queueMicrotask(() => resolve(undefined)))
  await Promise.all([first, periodic.run()])
  assert.equal(most, 1)
  await periodic.close()
  assert.equal(active, 0)
})

test('keeps running after onError has thrown', async () => {
  const bug = new Error('bug')
  const periodic = new Periodic(() => fail(bug), { everyMs: 60_000, onError: fail })
  await assert.rejects(periodic.run(), bug)
  await assert.rejects(periodic.run(), bug)
  await periodic.close()
})
