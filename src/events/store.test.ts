import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { query } from '../storage/schema.ts'
import { countBatch, findReversals, isBatchOpen, openEventIds, openGroupIds, undoableMs } from './store.ts'

test('finds the events of a batch that can be undone, newest first, in parts, and deletions of groups', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const actor = keyActor(1)
  const { batchId: batch } = actor
  const deleted = { action: 'deleted', kept: {} } as const
  await storeEvents(storage, actor, { ...deleted, id: 1, record: 'domain' })
  await storeEvents(storage, actor, { record: 'key', action: 'revoked' }, { ...deleted, changes: null })
  await storeEvents(storage, actor, ...Array.from({ length: 4_500 }, (_, at) => ({ ...deleted, id: at + 2 })))
  await storeEvents(storage, { ...actor, account: 2 }, { id: 1 })
  await storeEvents(storage, keyActor(1), { id: 1 })
  const now = Date.now()
  const open = (limit: number, before?: number) => openEventIds(storage, 1, batch, { now, limit, before })

  const all = await open(5_000)
  assert.equal(all.length, 4_500)
  assert.deepEqual(
    all,
    all.toSorted((a, b) => b - a),
  )
  assert.deepEqual(await openGroupIds(storage, 1, batch, { now, limit: 9 }), [1])
  const parts: number[] = []
  for (let part = await open(700); part.length > 0; part = await open(700, part.at(-1))) parts.push(...part)
  assert.deepEqual(parts, all)
  assert.deepEqual(await countBatch(storage, 1, batch, now), { open: 4_501, all: 4_503 })
  assert.deepEqual(await countBatch(storage, 2, batch, now), { open: 1, all: 1 })
  assert.deepEqual(await countBatch(storage, 1, 'other', now), { open: 0, all: 0 })

  await storage.execute(query.updateTable('events').set({ undone_by: 1 }).where('id', 'in', all.slice(0, 500)))
  assert.deepEqual(await open(5_000), all.slice(500))
  assert.deepEqual([...(await findReversals(storage, all)), ...(await findReversals(storage, [1, 2]))], [1])
  assert.equal((await findReversals(storage, [])).size, 0)
  assert.deepEqual(await countBatch(storage, 1, batch, now), { open: 4_001, all: 4_503 })
  assert.deepEqual(await openEventIds(storage, 1, batch, { now: now + undoableMs, limit: 1 }), [])
  assert.deepEqual(await openGroupIds(storage, 1, batch, { now: now + undoableMs, limit: 9 }), [])
  assert.equal(await isBatchOpen(storage, 1, batch, now), true)
  assert.equal(await isBatchOpen(storage, 1, batch, now + undoableMs), false)
  assert.equal(await isBatchOpen(storage, 3, batch, now), false)
})
