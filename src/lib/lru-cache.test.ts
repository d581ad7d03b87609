import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LruCache } from './lru-cache.ts'

test('evicts the oldest entry that was not read', () => {
  const cache = new LruCache<string, number>(3)
  for (const [at, key] of ['a', 'b', 'c'].entries()) cache.set(key, at)
  cache.get('a')
  cache.set('d', 3)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => cache.get(key)),
    [0, undefined, 2, 3],
  )
})

test('evicts an entry that was not read again', () => {
  const cache = new LruCache<number, number>(2)
  cache.set(0, 0)
  cache.get(0)
  for (let key = 1; key <= 4; key++) cache.set(key, key)
  assert.deepEqual([cache.get(0), cache.get(4)], [undefined, 4])
})

test('a set of a key replaces its entry and makes it the newest', () => {
  const cache = new LruCache<string, number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('a', 3)
  cache.set('c', 4)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [3, undefined, 4])
})

test('limits the weight of all entries together, and does not store a heavier entry', () => {
  const cache = new LruCache<string, string>(10)
  cache.set('a', 'a', 4)
  cache.set('b', 'b', 4)
  cache.set('a', 'A', 6)
  assert.equal(cache.size, 2)
  cache.set('c', 'c', 4)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], ['A', undefined, 'c'])
  cache.set('c', 'heavy', 11)
  assert.deepEqual([cache.get('a'), cache.get('c'), cache.size], ['A', undefined, 1])
})

test('passes a bounded number of read entries at each eviction', () => {
  const evicted: number[] = []
  const cache = new LruCache<number, number>(1_000, (key) => evicted.push(key))
  for (let key = 0; key < 1_000; key++) cache.set(key, key)
  for (let key = 0; key < 1_000; key++) cache.get(key)
  cache.set(1_000, 1_000)
  assert.deepEqual(evicted, [32])
})

test('holds the limits and returns the latest values in random sequences of calls', () => {
  const call = fc.record({
    name: fc.constantFrom('set', 'set', 'get', 'delete', 'clear'),
    key: fc.integer({ min: 0, max: 9 }),
    weight: fc.integer({ min: 1, max: 6 }),
  })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), fc.integer({ min: 0, max: 10 }), (calls, maxWeight) => {
      const present = new Map<number, number>()
      const onRemove = (key: number) => present.delete(key)
      const cache = new LruCache<number, number>(maxWeight, onRemove)
      const perform: Record<string, (key: number, weight: number) => unknown> = {
        set: (key, weight) => [cache.set(key, weight, weight), weight <= maxWeight && present.set(key, weight)],
        get: (key) => assert.equal(cache.get(key), present.get(key)),
        delete: (key) => cache.delete(key),
        clear: () => [cache.clear(), present.clear()],
      }
      for (const { name, key, weight } of calls) {
        perform[name]?.(key, weight)
        assert.equal(cache.size, present.size)
        assert.ok([...present.values()].reduce((sum, one) => sum + one, 0) <= maxWeight)
      }
    }),
  )
})
