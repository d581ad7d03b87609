import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newStorage } from '../../test/engine.ts'
import { storeEvents } from '../../test/events.ts'
import { newLink, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { maxReversed } from './reversal.ts'
import { countBatch, lockEvents, openEventIds } from './store.ts'

test('reverses the other events of a batch first while another transaction holds one of them', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work), 'postgres')
  const actor = systemActor(account)
  const { links } = actionsOn(storage).actions
  for (const alias of ['a', 'b', 'c']) {
    await links.change(actor, await newLink(storage, { account, domain }, alias), { title: 'New' }, null)
  }
  const { batchId: batch } = actor
  const ids = await openEventIds(storage, account, batch, { now: Date.now(), limit: 9 })
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = storage.write(async (tx) => {
    await lockEvents(tx, account, ids.slice(1, 2), { waits: true })
    locked.resolve()
    await release.promise
  })
  await locked.promise
  const undoing = Array.fromAsync(actionsOn(other).reversals.undoBatch(systemActor(account), batch))
  await eventually(async () => (await countBatch(storage, account, batch, Date.now())).open === 1)
  release.resolve()
  await holding
  const results = (await undoing).flat().map(({ event, failure }) => [event.id, failure])
  assert.deepEqual(
    results,
    ids.map((id) => [id, null]),
  )
})

test('reverses at most 1,000 tag deletions together, and continues with others before the rest of the batch', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id: account } = await createAccount(storage, 'Acme')
  const actor = systemActor(account)
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
  const tags = Array.from({ length: maxReversed + 4 }, (_, at) => {
    const row = {
      id: at + 1,
      name: `t${at}`,
      name_folded: `t${at}`,
      color: 1,
      revision: 1,
      merged_into: null,
      ...times,
    }
    return { id: row.id, record: 'tag', action: 'deleted', name: row.name, kept: { row } } as const
  })
  const unknown = { record: 'link', id: 1 } as const
  await storeEvents(storage, actor, unknown, ...tags, unknown)
  const { reversals } = actionsOn(storage)
  const [first, rest = [], ...others] = await Array.fromAsync(reversals.undoBatch(systemActor(account), actor.batchId))
  assert.equal(first?.length, maxReversed)
  assert.deepEqual(others, [])
  assert.deepEqual(
    rest.map(({ event, failure }) => [event.record, event.recordId, failure?.code ?? null]),
    [...[4, 3, 2, 1].map((id) => ['tag', id, null]), ...[1, 1].map((id) => ['link', id, 'not_undoable'])],
  )
})
