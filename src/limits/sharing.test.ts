import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { stopClock } from '../../test/clock.ts'
import { newStorage } from '../../test/engine.ts'
import { eventually } from '../../test/processes.ts'
import { databaseUnavailable } from '../errors.ts'
import type { Db, Storage } from '../storage/port.ts'
import { Counts } from './counts.ts'
import { Sharing } from './sharing.ts'
import { countsElsewhere, forgetCounts, tellCounts } from './store.ts'

const open = (t: TestContext): Promise<Storage> => {
  stopClock(t)
  return newStorage((work) => t.after(work))
}

/** A node that counts keys. */
function node(t: TestContext, db: Db) {
  const key: Counts = new Counts({ limit: 100, toldShare: 0.01, maxSubjects: 10 }, () => sharing.hurry())
  const sharing = new Sharing(db, { key })
  sharing.begin()
  t.after(() => sharing.close())
  return { key, sharing, used: () => key.add('1', 0).used }
}

test('what a node counted, the others know within a moment, and those that start later', async (t) => {
  const db = await open(t)
  const [one, two] = [node(t, db), node(t, db)]
  one.key.add('1', 5)
  two.key.add('1', 7)
  await eventually(() => one.used() === 12 && two.used() === 12)
  const three = node(t, db)
  await eventually(() => three.used() === 12)
})

test('a node tells of what it counted when it stops', async (t) => {
  const db = await open(t)
  const one = node(t, db)
  one.key.add('1', 5)
  await one.sharing.close()
  const two = node(t, db)
  await eventually(() => two.used() === 5)
})

test('while the database is away each node goes by its own counts; once it is back, nothing was lost', async (t) => {
  const db = await open(t)
  const one = node(t, db)
  const two = node(t, away(db))
  one.key.add('1', 5)
  two.key.add('1', 7)
  await eventually(async () => (await countsElsewhere(db, 'nobody', Date.now())).length === 1)
  assert.equal(two.used(), 7)
  isAway = false
  await eventually(() => one.used() === 12 && two.used() === 12)
})

test('rounds never overlap, however slow the database is and however much there is to tell', async (t) => {
  const db = await open(t)
  let running = 0
  let most = 0
  let rounds = 0
  const slow: Db = {
    ...away(db),
    write: async (work) => {
      running += 1
      rounds += 1
      most = Math.max(most, running)
      await wait(50)
      running -= 1
      return db.write(work)
    },
  }
  isAway = false
  const one = node(t, slow)
  while (rounds < 5) {
    one.key.add(String(rounds), 5)
    await wait(1)
  }
  assert.equal(most, 1)
})

let isAway = true

/** The database, as it is while nobody can reach it. */
function away(db: Db): Db {
  const reached = async <T>(work: () => Promise<T>) => {
    if (isAway) throw databaseUnavailable(new Error('away'))
    return work()
  }
  return {
    execute: (query) => reached(() => db.execute(query)),
    all: (statement, params) => reached(() => db.all(statement, params)),
    write: (work) => reached(() => db.write(work)),
    writeOne: (statement, params) => reached(() => db.writeOne(statement, params)),
  }
}

test('counts of windows that are over are forgotten, those of others kept', async (t) => {
  const db = await open(t)
  const now = Date.now()
  const tally = (endsAt: number) => ({ subject: 'key:1', endsAt, requests: 1 })
  await tellCounts(db, 'one', [tally(now - 2_000), tally(now + 2_000), { ...tally(now + 2_000), requests: 4 }])
  await forgetCounts(db, now)
  assert.deepEqual(await countsElsewhere(db, 'two', now - 10_000), [{ ...tally(now + 2_000), requests: 4 }])
  assert.deepEqual(await countsElsewhere(db, 'one', now - 10_000), [])
})
