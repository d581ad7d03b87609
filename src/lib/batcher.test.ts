import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUnavailable } from '../errors.ts'
import { Batcher } from './batcher.ts'
import { maxQueueLength } from './queue.ts'

/** Returns a batcher that doubles numbers, its batches, and a function that lets the running batch end. */
function open(maxSize = 3) {
  const batches: string[] = []
  let ended = Promise.withResolvers<void>()
  const run = async (items: readonly number[], key: string) => {
    batches.push(`${key} ${items}`)
    await ended.promise
    if (items.includes(0)) throw new Error('zero')
    if (items.includes(-0.5)) throw databaseUnavailable(new Error('down'))
    return items.map((item) => (item < 0 ? Promise.reject(new Error('negative')) : 2 * item))
  }
  const end = () => {
    ended.resolve()
    ended = Promise.withResolvers()
  }
  return { batcher: new Batcher(run, maxSize), batches, end }
}

test('runs the items of a key that wait at the same time together, the rest after them', async () => {
  const { batcher, batches, end } = open()
  const results = [1, 2, 3, 4].map((item) => batcher.add('a', item))
  const other = batcher.add('b', 5)
  while (batches.length < 2) await new Promise(setImmediate)
  results.push(batcher.add('a', 6))
  end()
  assert.deepEqual(await Promise.all([...results.slice(0, 3), other]), [2, 4, 6, 10])
  while (batches.length < 3) await new Promise(setImmediate)
  end()
  assert.deepEqual(await Promise.all(results), [2, 4, 6, 8, 12])
  assert.deepEqual(batches, ['a 1,2,3', 'b 5', 'a 4,6'])
})

test('one item may fail without the others, and a failed batch fails the items that wait only if the database is unavailable', async () => {
  const { batcher, batches, end } = open()
  const settled = Promise.allSettled([1, -1].map((item) => batcher.add('a', item)))
  while (batches.length < 1) await new Promise(setImmediate)
  end()
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  const failed = [0, 1, 2, 3].map((item) => batcher.add('a', item))
  const lost = Promise.allSettled([-0.5, 1, 2, 3].map((item) => batcher.add('b', item)))
  while (batches.length < 3) await new Promise(setImmediate)
  end()
  await Promise.all(failed.slice(0, 3).map((each) => assert.rejects(each, { message: 'zero' })))
  for (const result of await lost)
    assert.equal(result.status === 'rejected' && result.reason.code, 'database_unavailable')
  const last = batcher.add('b', 4)
  while (batches.length < 5) await new Promise(setImmediate)
  end()
  assert.deepEqual([await failed[3], await last, batcher.length], [6, 8, 0])
})

test('rejects items with overloaded while 10,000 of all keys wait', async () => {
  const { batcher, batches, end } = open(maxQueueLength)
  const waiting = Array.from({ length: maxQueueLength }, (_, n) => batcher.add(n % 2 ? 'a' : 'b', 1))
  await assert.rejects(batcher.add('c', 1), { code: 'overloaded' })
  assert.equal(batcher.length, maxQueueLength)
  while (batches.length < 2) await new Promise(setImmediate)
  const last = batcher.add('c', 1)
  while (batches.length < 3) await new Promise(setImmediate)
  end()
  assert.deepEqual([(await Promise.all(waiting)).length, await last], [maxQueueLength, 2])
})
