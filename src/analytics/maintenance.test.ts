import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
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
import { deleteLink, setDomain, setSpace } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { databaseUnavailable } from '../errors.ts'
import { clickLevels, query } from '../storage/schema.ts'
import type { Click } from './click-store.ts'
import { dimensions } from './day.ts'
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

function clicksOf(totals: readonly { readonly clicks: number }[]): number {
  return totals.reduce((sum, { clicks }) => sum + clicks, 0)
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('click' as const),
        link: fc.nat(2),
        day: fc.integer({ min: -2, max: 12 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), link: fc.nat(2), day: fc.constant(0) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('move' as const, 'move' as const, 'redomain' as const),
        link: fc.nat(2),
        day: fc.nat(2),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('settle' as const, 'step' as const, 'step' as const),
        link: fc.constant(0),
        day: fc.constant(0),
      }),
    },
  ),
  { maxLength: 25 },
)

/** A deletion interrupts a move, and the link is clicked again; in the second case, after the move is reversed. */
const interruptedMoves = [1, 0].map((last): (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never)[] => [
  [
    { do: 'move', link: 0, day: 0 },
    { do: 'settle', link: 0, day: 0 },
    { do: 'move', link: 0, day: 1 },
    { do: 'step', link: 0, day: 0 },
    { do: 'forget', link: 0, day: 0 },
    { do: 'move', link: 0, day: last },
    { do: 'click', link: 0, day: 0 },
  ],
])

test('keeps groups equal to the sums of their links after any clicks, deletions and moves', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await using ending = new AsyncDisposableStack()
      const { storage, account, links, domains, spaces, database, store, maintenance } = await newClickPlace(
        (work) => void ending.defer(async () => void (await work())),
      )
      // More days than one step moves or deletes. Clicks before a deletion would not be counted after it.
      const tomorrow = Math.ceil(Date.now() / dayMs)
      await store.write(
        1,
        links.flatMap((link) => Array.from({ length: 12 }, (_, n) => click(link, tomorrow + n))),
      )
      for (const [at, { do: what, link, day }] of taken.entries()) {
        const id = links[link] as number
        const doing = {
          click: () => store.write(at + 2, [click(id, tomorrow + day)]),
          forget: () => maintenance.deleteClicks(systemActor(account), id),
          move: () => storage.execute(setSpace({ id, space: spaces[day] ?? null })),
          redomain: () => setDomain(storage, { id, domain: domains[day % 2] as number }),
          settle: () => maintenance.moveClicks(),
          step: () => database.write((tx) => moveSomeClicks(tx, id)),
        }
        await doing[what]()
      }
      await maintenance.moveClicks()
      const totals = await keptTotals(storage)
      const days = await keptDays(storage)
      for (const { link_id, clicks } of totals) assert.equal(peopleIn(days, clickLevels.link, link_id), clicks)
      for (const space of spaces) {
        const own = totals.filter(({ space_id }) => space_id === space)
        assert.equal(peopleIn(days, clickLevels.space, space), clicksOf(own))
      }
      for (const domain of domains) {
        const own = totals.filter(({ domain_id }) => domain_id === domain)
        assert.equal(peopleIn(days, clickLevels.domain, domain), clicksOf(own))
      }
      assert.equal(peopleIn(days, clickLevels.account, account), clicksOf(totals))
      for (const { facts } of days.filter(({ level }) => level !== clickLevels.link)) {
        assert.deepEqual(sumsOf(facts).addUp, dimensions)
      }
    }),
    { numRuns: 15, examples: interruptedMoves },
  )
})
