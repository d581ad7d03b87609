import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import {
  type KeptDay,
  keptDays,
  keptSalts,
  keptTotals,
  keptVisitors,
  newClick,
  newClickPlace,
  sumsOf,
} from '../../test/clicks.ts'
import { deleteLink, setSpace } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { databaseUnavailable } from '../errors.ts'
import { clickLevels, query } from '../storage/schema.ts'
import type { Click } from './click-store.ts'
import { moveSomeClicks } from './maintenance.ts'
import { daysOfLevel, daysOfLink } from './tables.ts'

const dayMs = 86_400_000

const here = (t: TestContext) => newClickPlace((work) => t.after(work))

const click = (link: number, day = 100, more: Partial<Click> = {}) => newClick(link, day * dayMs, more)

test('deletes the days of permanently deleted links, domains and spaces, but not of the account', async (t) => {
  const { storage, account, links, spaces, store, maintenance } = await here(t)
  const [one = 0, two = 0] = links
  await storage.execute(setSpace({ id: one, space: spaces[0] as number }))
  await store.write(1, [click(one), click(two, 101)])
  const { actions } = actionsOn(storage)
  for (const id of [one, two]) await actions.links.remove(systemActor(account), id, { permanently: 'true' }, null)
  await maintenance.deleteRemoved()
  const kept = await keptDays(storage)
  assert.deepEqual(
    [...new Set(kept.map(({ level }) => level))],
    [clickLevels.domain, clickLevels.space, clickLevels.account],
  )
  assert.equal((await keptTotals(storage)).length, 1)
})

test('moves many days in steps, the newest first, while clicks are counted', async (t) => {
  const { storage, account, links, spaces, database, store, maintenance } = await here(t)
  const [one = 0, two = 0] = links
  const [red = 0, blue = 0] = spaces
  const look = async () => {
    const kept = await keptDays(storage)
    return spaces.map((id) => peopleIn(kept, clickLevels.space, id))
  }
  const days = Array.from({ length: 20 }, (_, n) => 100 + n)
  for (const id of [one, two]) await storage.execute(setSpace({ id, space: red }))
  await store.write(1, [...days.map((day) => click(one, day)), click(two, 100)])
  assert.deepEqual(await look(), [21, 0])
  await storage.execute(setSpace({ id: one, space: blue }))
  await database.write((tx) => moveSomeClicks(tx, one))
  assert.deepEqual(await look(), [13, 8])
  await store.write(2, [click(one, 100), click(one, 112), click(one, 120)])
  assert.deepEqual(await look(), [14, 10])
  await storage.execute(setSpace({ id: one, space: null }))
  await database.write((tx) => moveSomeClicks(tx, one))
  assert.deepEqual(await look(), [14, 2])
  assert.equal(await maintenance.deleteClicks(systemActor(account), two), true)
  assert.deepEqual(await look(), [13, 2])
  await actionsOn(storage).actions.spaces.remove(systemActor(account), red, { permanently: 'true' }, null)
  await maintenance.deleteRemoved()
  assert.deepEqual(await look(), [0, 0])
  assert.equal((await storage.execute(removalsLeft())).length, 0)
  assert.equal(peopleIn(await keptDays(storage), clickLevels.account, account), 23)
})

test('finds only days with clicks, even if they are far apart', async (t) => {
  const { storage, links, store } = await here(t)
  const [one = 0, two = 0] = links
  assert.deepEqual(await daysOfLevel(storage, clickLevels.link), [])
  await store.write(1, [click(one, 20_000), click(two, 0), click(one, 300), click(two, 300)])
  assert.deepEqual(await daysOfLevel(storage, clickLevels.link), [0, 300, 20_000])
  assert.deepEqual(
    (await daysOfLink(storage, one)).map(({ day }) => day),
    [300, 20_000],
  )
})

test('moves the clicks of other links if one link fails', async (t) => {
  const { storage, links, spaces, store, maintenance } = await here(t)
  const [one = 0, two = 0] = links
  const [red = 0] = spaces
  await store.write(1, [click(one), click(two)])
  for (const id of [one, two]) await storage.execute(setSpace({ id, space: red }))
  const setHours = (hours: string) =>
    storage.execute(
      query.updateTable('click_days').set({ hours }).where('scope', '=', clickLevels.link).where('id', '=', one),
    )
  await setHours('null')
  await assert.rejects(maintenance.moveClicks(), TypeError)
  await setHours('{"0":[1,1]}')
  assert.equal(peopleIn(await keptDays(storage), clickLevels.space, red), 1)
  await maintenance.moveClicks()
  assert.equal(peopleIn(await keptDays(storage), clickLevels.space, red), 2)
})

test("deletes a deleted space's days even if its links are clicked before the move", async (t) => {
  const { storage, account, links, spaces, store, maintenance } = await here(t)
  const [one = 0] = links
  const [red = 0] = spaces
  await storage.execute(setSpace({ id: one, space: red }))
  await store.write(1, [click(one), click(one, 101)])
  await maintenance.moveClicks()
  await actionsOn(storage).actions.spaces.remove(systemActor(account), red, { permanently: 'true' }, null)
  await maintenance.deleteRemoved()
  await store.write(2, [click(one), click(one, 102)])
  await maintenance.moveClicks()
  await maintenance.deleteRemoved()
  const days = await keptDays(storage)
  assert.deepEqual(
    days.filter(({ level }) => level === clickLevels.space),
    [],
  )
  assert.equal(peopleIn(days, clickLevels.account, account), 4)
  assert.equal((await storage.execute(removalsLeft())).length, 0)
})

const removalsLeft = () =>
  query.withTables<{ click_removals: { scope: number; id: number } }>().selectFrom('click_removals').selectAll()

test('deletes old visitors and salts in steps, and aggregates beyond the retention', async (t) => {
  const { storage, links, store, maintenance } = await here(t)
  const [one = 0] = links
  const salts: string[] = []
  const telling = (each: Click): Click => ({
    ...each,
    visitorUnder: (salt) => {
      salts.push(Buffer.from(salt).toString('hex'))
      return each.visitorUnder?.(salt) ?? 0
    },
  })
  await store.write(1, [...Array.from({ length: 1_200 }, () => click(one, 100)), telling(click(one, 101))])
  await maintenance.run({ visitorsUntilMs: 100 * dayMs, daysBefore: 0, nowMs: 0 })
  assert.deepEqual(
    [
      (await keptSalts(storage)).map(({ day_start_ms }) => day_start_ms),
      (await keptVisitors(storage)).map(({ day_start_ms }) => day_start_ms),
    ],
    [[101 * dayMs], [101 * dayMs]],
  )
  await store.write(2, [telling(click(one, 101))])
  await maintenance.run({ visitorsUntilMs: 101 * dayMs, daysBefore: 0, nowMs: 0 })
  await store.write(3, [telling(click(one, 101))])
  assert.equal(salts[0], salts[1])
  assert.notEqual(salts[1], salts[2])
  await maintenance.deleteDaysBefore(101)
  assert.deepEqual([...new Set((await keptDays(storage)).map(({ day }) => day))], [101])
  assert.equal((await keptTotals(storage))[0]?.clicks, 1_203)
})

test('reports a failing step of the maintenance, and runs the others', async (t) => {
  const { storage, links, store, database, maintenance } = await here(t)
  const [one = 0, two = 0] = links
  await store.write(1, [click(one), click(two, 101)])
  await storage.execute(deleteLink({ id: two }))
  const [scrub, move] = [databaseUnavailable(new Error('being read')), new Error('move')]
  const bounds = { visitorsUntilMs: 101 * dayMs, daysBefore: 101, nowMs: 0 }
  t.mock.method(database, 'scrub', () => Promise.reject(scrub), { times: 1 })
  const moves = t.mock.method(maintenance, 'moveClicks', async () => {
    assert.deepEqual(await keptVisitors(storage), [])
    throw move
  })
  const notScrubbed = new Error('Deleted salts could not be overwritten.', { cause: scrub })
  await assert.rejects(maintenance.run(bounds), { errors: [notScrubbed, move] })
  const days = await keptDays(storage)
  assert.deepEqual([...new Set(days.map(({ day }) => day))], [101])
  // The next run overwrites the salts, which are empty.
  assert.deepEqual(
    (await keptSalts(storage)).map(({ salt }) => salt.length),
    [0, 0],
  )
  await assert.rejects(maintenance.run(bounds), move)
  assert.deepEqual(await keptSalts(storage), [])
  moves.mock.restore()
  await maintenance.run(bounds)
  assert.deepEqual(await storage.execute(removalsLeft()), [])
})

function peopleIn(days: readonly KeptDay[], level: number, id: number): number {
  const own = days.filter((each) => each.level === level && each.id === id)
  return own.reduce((sum, { facts }) => sum + sumsOf(facts).people, 0)
}
