import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { findReturning } from '../analytics/deleted-links.ts'
import type { HeldJob } from '../jobs/jobs.ts'
import { createTransaction } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { compiledForSqlite } from '../storage/sqlite/group-commit.ts'
import { finishErasures } from './erasure.ts'
import {
  countBatch,
  findDeletion,
  findReversals,
  isBatchOpen,
  listRecordEvents,
  openEventIds,
  openGroupIds,
  undoableMs,
} from './store.ts'

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

test('finds events by an index that has few others', async (t) => {
  const { location } = await newStorage((work) => t.after(work), 'sqlite')
  assert.ok(location.engine === 'sqlite')
  using database = new DatabaseSync(location.path)
  const plans: string[] = []
  const db = createTransaction(
    async (asked) => {
      const plan = database.prepare(`explain query plan ${compiledForSqlite(asked).sql}`).all()
      const own = plan.flatMap(({ detail }) => /events USING .*(events_\w+)/.exec(String(detail))?.[1] ?? [])
      plans.push(...own)
      // The lease of a job is found.
      return own.length > 0 ? [] : [{} as never]
    },
    async () => [],
  )
  const signal = new AbortController().signal
  const job = { id: 1, record: 'account', record_id: 1, signal, lease: { id: 1, token: '' } } as unknown as HeldJob
  await listRecordEvents(db, 1, { record: 'link', id: 1 }, 10)
  await openEventIds(db, 1, 'batch', { now: 0, limit: 10 })
  await openGroupIds(db, 1, 'batch', { now: 0, limit: 10 })
  await findReversals(db, [1])
  await findDeletion(db, 'domain', 1)
  await findReturning(db, [1])
  await finishErasures(
    db,
    job,
    async () => undefined,
    async () => undefined,
  )
  const names = ['record_id', 'batch_id', 'group', 'undone_by', 'removal', 'late_click', 'erasure', 'erasure']
  assert.deepEqual(
    plans,
    names.map((name) => `events_by_${name}`),
  )
})
