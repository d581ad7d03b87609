import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from './bounded-map.ts'

test('a full map forgets the entry that was set first', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  equal(map.get('a'), 3)
  equal(map.get('b'), undefined)
  equal(map.get('c'), 4)
})
