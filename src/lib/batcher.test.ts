import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batcher } from './batcher.ts'

/** Returns a batcher that doubles numbers, its batches, and a function that lets the running batch end. */
function open(maxSize = 3) {
  const batches: string[] = []
  let ended = Promise.withResolvers<void>()
  const run = async (items: readonly number[], key: string) => {
    batches.push(`${key} ${items}`)
    await ended.promise
    if (items.includes(0)) throw new Error('zero')
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

test('one item may fail without the others, and a failed batch fails the items that wait', async () => {
  const { batcher, batches, end } = open()
  const settled = Promise.allSettled([1, -1].map((item) => batcher.add('a', item)))
  while (batches.length < 1) await new Promise(setImmediate)
  end()
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  const failed = Promise.allSettled([0, 1, 2, 3].map((item) => batcher.add('a', item)))
  while (batches.length < 2) await new Promise(setImmediate)
  end()
  const reasons = (await failed).map((result) => result.status === 'rejected' && result.reason.message)
  assert.deepEqual(reasons, ['zero', 'zero', 'zero', 'zero'])
  const last = batcher.add('a', 4)
  while (batches.length < 3) await new Promise(setImmediate)
  end()
  assert.equal(await last, 8)
})
