/** A client that polls with `after` misses no event, even though transactions on PostgreSQL commit in another order than their ids. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { newStorage } from '../../test/engine.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/port.ts'
import { listStoredEvents } from './store.ts'

/** Opens a database for two nodes, and returns a client that polls one of them for events about new records. */
async function newNodes(t: TestContext) {
  const first = await newStorage((work) => t.after(work), 'postgres')
  const second = await openStorage(first.location)
  t.after(() => second.close())
  let after = 0
  const poll = async () => {
    const order = { sortBy: 'id', direction: 'asc', limit: 100, offset: 0, after } as const
    const { rows } = await listStoredEvents(first, 1, { search: [], searchIn: [], filter: {}, ...order })
    after = rows.at(-1)?.id ?? after
    return rows.map(({ recordId }) => recordId)
  }
  return { first, second, poll }
}

const store = (db: Storage, ...ids: number[]) => storeEvents(db, keyActor(1), ...ids.map((id) => ({ id })))

/** Starts a transaction that stores events. `end` commits it, or rolls it back. */
async function begin(storage: Storage, ...ids: number[]) {
  const [stored, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<'commit' | 'rollback'>()]
  const done = storage.write(async (tx) => {
    for (const id of ids) await storeEvents(tx, keyActor(1), { id })
    stored.resolve()
    if ((await ended.promise) === 'rollback') throw new Error('rolled back')
  })
  done.catch(stored.reject)
  await stored.promise
  return async (how: 'commit' | 'rollback') => {
    ended.resolve(how)
    await (how === 'commit' ? done : assert.rejects(done, /rolled back/))
  }
}

test('shows no event while an earlier one can still be committed by another node', async (t) => {
  const { first, second, poll } = await newNodes(t)
  await store(first, 1)
  const endEarlier = await begin(second, 2, 3)
  await store(first, 4)
  assert.deepEqual(await poll(), [1])
  const endLater = await begin(first, 5)
  await store(second, 6)
  await endEarlier('commit')
  assert.deepEqual(await poll(), [2, 3, 4])
  await endLater('rollback')
  assert.deepEqual(await poll(), [6])
  assert.deepEqual(await poll(), [])
})

test('leaves out a committed event only where a client follows the log', async (t) => {
  const { first, second } = await newNodes(t)
  const end = await begin(second, 1)
  await store(first, 2)
  const lists = async (direction: 'asc' | 'desc', filter: Record<string, string | number>, after: number | null) => {
    const page = { search: [], searchIn: [], filter, sortBy: 'id', direction, limit: 10, offset: 0, after } as const
    const { rows } = await listStoredEvents(first, 1, page)
    return rows
  }
  const [newest] = await lists('desc', {}, null)
  assert.equal(newest?.recordId, 2)
  const ofRecord = { record: 'link', record_id: 2 }
  const ofBatch = { batch_id: newest.batchId }
  const complete = await Promise.all([
    lists('desc', ofRecord, null),
    lists('desc', ofBatch, null),
    lists('desc', {}, newest.id + 1),
    lists('asc', ofRecord, null),
    lists('asc', ofBatch, null),
  ])
  for (const rows of complete) assert.deepEqual(rows, [newest])
  const followed = [lists('asc', {}, null), lists('asc', {}, 0), lists('asc', ofRecord, 0)]
  for (const rows of await Promise.all(followed)) assert.deepEqual(rows, [])
  await end('commit')
  assert.equal((await lists('asc', {}, 0)).length, 2)
})

test('shows each committed event once while two nodes write and roll back', async (t) => {
  const { first, second, poll } = await newNodes(t)
  const committed = new Set<number>()
  let [next, writers] = [1, 8]
  const write = async (storage: Storage, seed: number) => {
    for (let turn = 0; turn < 12; turn++) {
      const ids = Array.from({ length: 1 + ((seed + turn) % 3) }, () => next++)
      const how = (seed * turn) % 5 === 1 ? 'rollback' : 'commit'
      const end = await begin(storage, ...ids)
      for (let ticks = (seed * 7 + turn * 5) % 23; ticks > 0; ticks--) await tick()
      await end(how)
      if (how === 'commit') for (const id of ids) committed.add(id)
    }
    writers -= 1
  }
  const writing = Promise.all(Array.from({ length: writers }, (_, seed) => write(seed % 2 ? first : second, seed)))
  const seen: number[] = []
  while (writers > 0) seen.push(...(await poll()))
  await writing
  seen.push(...(await poll()))
  assert.equal(new Set(seen).size, seen.length)
  assert.deepEqual(new Set(seen), committed)
})
