import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { systemActor } from '../access/actor.ts'
import { listRecordEvents } from '../events/store.ts'
import { adoptTimeZones, createAccount, findAccount, updateAccount } from './store.ts'

test('stores changed account fields as an event, and nothing if no field changes', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id } = await createAccount(storage, 'Acme')
  const actor = systemActor(id)
  const changes = async () =>
    (await listRecordEvents(storage, id, { record: 'account', id }, 10)).map((event) => event.changes)
  await updateAccount(storage, actor, { name: 'Acme', time_zone: 'UTC' })
  assert.deepEqual(await changes(), [])
  await updateAccount(storage, actor, { name: 'Beta', time_zone: 'UTC' })
  await updateAccount(storage, actor, { name: 'Beta', time_zone: 'Asia/Tokyo' })
  const stored = [{ time_zone: ['UTC', 'Asia/Tokyo'] }, { name: ['Acme', 'Beta'] }]
  assert.deepEqual(await changes(), stored)
  await adoptTimeZones(storage, actor, [['Europe/Berlin', 0]])
  assert.deepEqual(await changes(), stored)
  assert.equal((await findAccount(storage, id))?.time_zone, 'Asia/Tokyo')
})

test('stores an adopted time zone as an event', async (t) => {
  const storage = await newStorage((work) => t.after(work))
  const { id } = await createAccount(storage, 'Acme')
  const actor = systemActor(id)
  await adoptTimeZones(storage, actor, undefined)
  await adoptTimeZones(storage, actor, [['Europe/Berlin', 0]])
  const [event, ...others] = await listRecordEvents(storage, id, { record: 'account', id }, 10)
  assert.deepEqual([event?.action, event?.name, others], ['updated', 'Acme', []])
  assert.deepEqual(event?.changes, { time_zone: ['UTC', 'Europe/Berlin'] })
})
