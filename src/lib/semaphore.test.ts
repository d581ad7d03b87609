import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Semaphore, type SemaphoreOptions } from './semaphore.ts'

/** Tasks that end when the test says so. */
function tasks() {
  const started: string[] = []
  const ends: (() => void)[] = []
  const task = (name: string) => () => {
    started.push(name)
    return new Promise<string>((resolve) => ends.push(() => resolve(name)))
  }
  return { started, task, endNext: () => ends.shift()?.() }
}

function semaphore(options: Omit<SemaphoreOptions, 'rejection'>): Semaphore {
  return new Semaphore({ ...options, rejection: () => new Error('full') })
}

test('tasks beyond the concurrency wait and start in order, and a full queue rejects', async () => {
  const { started, task, endNext } = tasks()
  const limit = semaphore({ concurrency: 2, maxQueue: 2 })
  const all = ['a', 'b', 'c', 'd'].map((name) => limit.run(task(name)))
  await assert.rejects(limit.run(task('e')), /full/)
  assert.deepEqual(started, ['a', 'b'])
  for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
    endNext()
    assert.equal(await all[at], name)
  }
  assert.deepEqual(started, ['a', 'b', 'c', 'd'])
})

test('a task that fails lets the next one start', async () => {
  const limit = semaphore({ concurrency: 1 })
  const failing = limit.run(() => Promise.reject(new Error('failed')))
  const next = limit.run(async () => 'next')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'next')
  assert.equal(await limit.run(async () => 'later'), 'later')
})

test('keys alternate, and a full queue of one key leaves room for others', async () => {
  const { started, task, endNext } = tasks()
  const limit = semaphore({ concurrency: 1, maxQueue: 3, maxQueuePerKey: 2 })
  const all = ['a1', 'a2', 'a3'].map((name) => limit.run(task(name), 'a'))
  await assert.rejects(limit.run(task('a4'), 'a'), /full/)
  all.push(limit.run(task('b1'), 'b'))
  await assert.rejects(limit.run(task('c1'), 'c'), /full/)
  for (const at of [0, 1, 3, 2]) {
    endNext()
    await all[at]
  }
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3'])
})

test('returns whether only the tasks of its own key are in the way', async () => {
  const { task } = tasks()
  const rejection = (isOfKey: boolean) => new Error(isOfKey ? 'own' : 'all')
  const limit = new Semaphore({ concurrency: 2, concurrencyPerKey: 1, maxQueue: 0, rejection })
  void limit.run(task('a'), 'a')
  await assert.rejects(limit.run(task('a2'), 'a'), /own/)
  void limit.run(task('b'), 'b')
  await assert.rejects(limit.run(task('c'), 'c'), /all/)
})

test('limits the tasks of one key while tasks of other keys run', async () => {
  const { started, task, endNext } = tasks()
  const limit = semaphore({ concurrency: 3, concurrencyPerKey: 2, maxQueue: 4 })
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => limit.run(task(name), name.slice(0, 1)))
  assert.deepEqual(started, ['a1', 'a2', 'b1'])
  endNext()
  await all[0]
  endNext()
  await all[1]
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3', 'b2'])
  for (const _ of [1, 2, 3]) endNext()
  await Promise.all(all)
})

test('rejects a task that waits too long, and never starts it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { started, task, endNext } = tasks()
  const limit = semaphore({ concurrency: 1, maxWaitMs: 100 })
  const first = limit.run(task('first'))
  const late = limit.run(task('late'), 'other')
  t.mock.timers.tick(99)
  const next = limit.run(task('next'))
  t.mock.timers.tick(1)
  await assert.rejects(late, /full/)
  endNext()
  await first
  t.mock.timers.tick(1_000)
  endNext()
  await next
  assert.deepEqual(started, ['first', 'next'])
})
