import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newLink, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { systemActor } from '../access/actor.ts'
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
  const undoing = actionsOn(other).reversals.undoBatch(systemActor(account), batch)
  await eventually(async () => (await countBatch(storage, account, batch, Date.now())).open === 1)
  release.resolve()
  await holding
  const results = (await undoing).map(({ event, failure }) => [event.id, failure])
  assert.deepEqual(
    results,
    ids.map((id) => [id, null]),
  )
})
