import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { newStorage } from '../../test/engine.ts'
import { keyActor, storeEvents } from '../../test/events.ts'
import { retentionJob } from '../../test/jobs.ts'
import { newDomain, newLink, newSpace } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { storeQrStyle } from '../qr/store.ts'
import { plainStyle } from '../qr/style.ts'
import type { Storage } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import type { NewEvent } from './event.ts'
import { expireEvents } from './retention.ts'
import { listRecordEvents, markUndone } from './store.ts'

const dayMs = 86_400_000

/** Opens a database whose events are from the start of 2026. */
async function newHistory(t: TestContext) {
  const storage = await newStorage((work) => t.after(work))
  const actor = keyActor((await createAccount(storage, 'Acme')).id)
  const start = Date.parse('2026-01-01')
  t.mock.timers.enable({ apis: ['Date'], now: start })
  const store = (...events: Partial<NewEvent>[]) => storeEvents(storage, actor, ...events)
  const expire = async (days: number, historyDays = 400) =>
    expireEvents(storage, await retentionJob(storage, start + days * dayMs), historyDays)
  return { storage, actor, store, expire, ageBy: (days: number) => t.mock.timers.setTime(Date.now() + days * dayMs) }
}

/** Returns the record id of each event with what is kept for its undo, and the records whose clicks are due for deletion. */
async function storedIn(storage: Storage) {
  const events = await storage.execute(query.selectFrom('events').select(['record_id', 'kept']).orderBy('id'))
  const removals = query.selectFrom('click_removals').select(['scope', 'id']).orderBy('scope').orderBy('id')
  return {
    events: events.map(({ record_id, kept }) => [Number(record_id), kept] as const),
    removals: (await storage.execute(removals)).map(({ scope, id }) => [Number(scope), Number(id)]),
  }
}

const deleted = { action: 'deleted', kept: { row: 1 } } as const
const kept = '{"row":1}'

test('stores what an undo needs for 30 days, and then deletes the clicks of deleted records', async (t) => {
  const { storage, store, expire } = await newHistory(t)
  await store({ ...deleted, id: 1 }, { ...deleted, id: 2, record: 'domain' }, { ...deleted, id: 3, record: 'space' })
  await store({ ...deleted, id: 4, record: 'tag' }, { id: 5, kept: { row: 1 } }, { id: 6 })
  await expire(30 - 1 / dayMs)
  const before = [1, 2, 3, 4, 5].map((id) => [id, kept])
  assert.deepEqual(await storedIn(storage), { events: [...before, [6, null]], removals: [] })
  await expire(30)
  const removals = [
    [0, 1],
    [1, 2],
    [2, 3],
  ]
  assert.deepEqual(await storedIn(storage), { events: [1, 2, 3, 4, 5, 6].map((id) => [id, null]), removals })
})

test('keeps clicks for restored records, and restores no other records after 30 days', async (t) => {
  const { storage, actor, expire, ageBy } = await newHistory(t)
  const { account } = actor
  const { actions, reversals } = actionsOn(storage)
  const gone: number[][] = []
  const deletions: number[] = []
  for (const returns of [true, false]) {
    const domain = await newDomain(storage, account, `${returns}.acme.com`)
    const space = await newSpace(storage, account, String(returns))
    const link = await newLink(storage, { account, domain }, 'sale')
    await storeQrStyle(storage, actor, domain, { ...plainStyle, dark: '#112233' })
    await actions.domains.remove(actor, domain, { links: 'delete' }, null)
    await actions.spaces.remove(actor, space, {}, null)
    const subjects = { domain, space, link }
    for (const record of ['link', 'domain', 'space'] as const) {
      const [deletion] = await listRecordEvents(storage, account, { record, id: subjects[record] }, 1)
      assert.equal(deletion?.action, 'deleted')
      if (!returns) {
        deletions.push(deletion.id)
        gone.push([clickLevels[record], subjects[record]])
      } else if (record !== 'link') await reversals.undoEvent(systemActor(account), deletion.id)
    }
  }
  await expire(30)
  const { events, removals } = await storedIn(storage)
  // Restored domains have events that keep their style.
  assert.deepEqual(
    events.filter(([, kept]) => kept !== null),
    [],
  )
  assert.deepEqual(removals, gone)
  for (const ageDays of [0, 31]) {
    ageBy(ageDays)
    for (const id of deletions) {
      await assert.rejects(reversals.undoEvent(systemActor(account), id), { code: 'not_undoable' })
    }
  }
})

test('keeps a deleted record’s clicks only for its last deletion', async (t) => {
  const { storage, actor, store, expire } = await newHistory(t)
  await store({ ...deleted, id: 9, record: 'space' }, { ...deleted, id: 9 })
  const [{ id } = { id: 0 }] = await storage.execute(query.selectFrom('events').select('id').orderBy('id'))
  await storage.write((tx) => markUndone(tx, actor.account, [Number(id)], actor.batchId))
  await expire(31)
  assert.deepEqual((await storedIn(storage)).removals, [[0, 9]])
})

test('deletes old events, and stores nothing for longer if that is less than 30 days', async (t) => {
  const { storage, store, expire, ageBy } = await newHistory(t)
  await store({ ...deleted, id: 1 })
  ageBy(3)
  await store({ id: 2, kept: { row: 1 } })
  await expire(7, 7)
  assert.deepEqual(await storedIn(storage), {
    events: [
      [1, null],
      [2, kept],
    ],
    removals: [[0, 1]],
  })
  await expire(7.5, 7)
  assert.deepEqual((await storedIn(storage)).events, [[2, kept]])
  await expire(11, 7)
  assert.deepEqual(await storedIn(storage), { events: [], removals: [[0, 1]] })
})

test('stores events forever without a limit, and deletes many in several transactions', async (t) => {
  const { storage, store, expire } = await newHistory(t)
  await store(...Array.from({ length: 450 }, (_, at) => ({ ...deleted, id: at + 1 })))
  await expire(36_500, 0)
  const { events, removals } = await storedIn(storage)
  assert.deepEqual([events.length, events.every(([, kept]) => kept === null), removals.length], [450, true, 450])
  const stopped = { ...(await retentionJob(storage, Date.now() + 401 * dayMs)), signal: AbortSignal.abort() }
  await assert.rejects(expireEvents(storage, stopped, 400), { name: 'AbortError' })
  assert.equal((await storedIn(storage)).events.length, 450)
  await expire(401)
  assert.equal((await storedIn(storage)).events.length, 0)
})

test('deletes old events among others that a wrong clock has dated in the future, and these with them', async (t) => {
  const { storage, store, expire, ageBy } = await newHistory(t)
  const many = (from: number) => store(...Array.from({ length: 250 }, (_, at) => ({ id: from + at })))
  ageBy(2_000)
  await many(1)
  ageBy(-2_000)
  await many(1_001)
  ageBy(100)
  await store({ id: 2_001 })
  ageBy(2_000)
  await store({ id: 2_002 })
  await expire(399)
  assert.equal((await storedIn(storage)).events.length, 502)
  await expire(401)
  const left = (await storedIn(storage)).events.map(([id]) => id)
  assert.deepEqual(left, [2_001, 2_002])
})
