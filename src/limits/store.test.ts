import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { stopClock } from '../../test/clock.ts'
import { newStorage } from '../../test/engine.ts'
import { failing } from '../../test/failing-storage.ts'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import type { Db, Storage } from '../storage/port.ts'
import { RateCounter } from './rate-counter.ts'
import { CountSync, deleteCounts, storeCounts, sumRemoteCounts } from './store.ts'

const open = (t: TestContext): Promise<Storage> => {
  stopClock(t)
  return newStorage((work) => t.after(work))
}

/** A node that counts keys. */
function node(t: TestContext, db: Db) {
  const key: RateCounter = new RateCounter({ limit: 100, publishShare: 0.01, maxSubjects: 10 }, () => sync.hurry())
  const sync = new CountSync(db, { key })
  sync.start()
  t.after(() => sync.close())
  return { key, sync, used: () => key.add('1', 0).used }
}

test('publishes its counts when it closes', async (t) => {
  const db = await open(t)
  const one = node(t, db)
  one.key.add('1', 5)
  await one.sync.close()
  const two = node(t, db)
  await eventually(() => two.used() === 5)
})

test('uses its own counts while the database is down, and publishes them later', async (t) => {
  const db = await open(t)
  const one = node(t, db)
  let fault: unknown = databaseUnavailable(new Error('down'))
  const two = node(t, failing(() => fault)(db))
  one.key.add('1', 5)
  two.key.add('1', 7)
  await eventually(async () => (await sumRemoteCounts(db, 'nobody', Date.now())).length === 1)
  assert.equal(two.used(), 7)
  fault = undefined
  await eventually(() => one.used() === 12 && two.used() === 12)
})

test('publishes a count once, even if requests arrive during the write', async (t) => {
  const db = await open(t)
  let hurries = 0
  const key = new RateCounter({ limit: 1_000, publishShare: 0.01, maxSubjects: 10 }, () => {
    hurries += 1
  })
  const write: Db['write'] = (work) => {
    key.add('1', 1)
    return db.write(work)
  }
  const sync = new CountSync({ execute: (query) => db.execute(query), write }, { key })
  t.after(() => sync.close())
  key.add('1', 10)
  sync.start()
  await eventually(async () => (await sumRemoteCounts(db, 'nobody', Date.now())).length === 1)
  assert.equal(hurries, 1)
})

test('deletes the counts of past windows only', async (t) => {
  const db = await open(t)
  const now = Date.now()
  const count = (endsAt: number) => ({ subject: 'key:1', endsAt, requests: 1 })
  await storeCounts(db, 'one', [count(now - 2_000), count(now + 2_000), { ...count(now + 2_000), requests: 4 }])
  await deleteCounts(db, now)
  assert.deepEqual(await sumRemoteCounts(db, 'two', now - 10_000), [{ ...count(now + 2_000), requests: 4 }])
  assert.deepEqual(await sumRemoteCounts(db, 'one', now - 10_000), [])
})
