import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandActor } from '../../access/actor.ts'
import { databaseUnavailable } from '../../errors.ts'
import type { RunBatch } from '../../links/batch.ts'
import { applyToAll } from './selection.ts'

const actor = commandActor(1, 'Ana')
const ids = Array.from({ length: 1_100 }, (_, n) => n + 1)
const change = (some: readonly number[]) => ({ kind: 'delete', ids: some }) as const
const response = { body: new Uint8Array(), isReplayed: false, preview: [] }

/** Returns a function that applies as many batches, all rows of each, and then fails. */
function failsAfter(parts: number) {
  const batches = new Set<string>()
  const runBatch: RunBatch = async ({ actor: { batchId }, change }) => {
    assert.ok(change.kind === 'delete')
    if (parts-- === 0) throw databaseUnavailable(new Error('down'))
    batches.add(batchId)
    return { ...response, applied: change.ids.map((id) => ({ id, stored: null })), changed: change.ids.length }
  }
  return { runBatch, batches }
}

test('changes many links in parts of one batch, until an error; returns those of the finished parts', async () => {
  const apply = async ({ runBatch }: { runBatch: RunBatch }) =>
    (await applyToAll({ ids, actor, runBatch }, { change })).length
  const all = failsAfter(5)
  assert.equal(await apply(all), 1_100)
  assert.deepEqual([...all.batches], [actor.batchId])
  assert.equal(await apply(failsAfter(4)), 1_000)
  await assert.rejects(apply(failsAfter(0)), { code: 'database_unavailable' })
})
