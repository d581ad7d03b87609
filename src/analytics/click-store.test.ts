import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  openClicks,
  sumsOf,
} from '../../test/clicks.ts'
import type { Later } from '../../test/engine.ts'
import { deleteLink, dueOf, newLink, setSpace } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { toUtcDay } from '../accounts/calendar.ts'
import { listRecordEvents } from '../events/store.ts'
import { clickLevels } from '../storage/schema.ts'
import type { Click, ClickStore, CountedClick } from './click-store.ts'
import { addDay, dimensions, dimensionsOfLinks, emptyDay } from './day.ts'

const noon = Date.parse('2026-11-22T12:00:00.000Z')
const dayMs = 86_400_000

async function newPlace(later: Later) {
  const { store: first, ...place } = await newClickPlace(later)
  const { store: second } = await openClicks(place.storage.location, later)
  return { ...place, first, second }
}

function click(link: number, { visitor, ...more }: Partial<Click> & { readonly visitor?: number } = {}): Click {
  return newClick(link, noon, { visitorUnder: visitor === undefined ? null : () => visitor, ...more })
}

test('stores totals and days for the link, domain, space and account', async (t) => {
  const { storage, account, domain, links, first } = await newPlace((work) => t.after(work))
  const [one = 0, two = 0] = links
  const recorded = await first.write(1, [
    click(one, { visitor: 7 }),
    click(one, { visitor: 7, atMs: noon + 3_600_000 }),
    click(two, { visitor: 7 }),
    click(two, { class: 'bot', facts: null }),
    click(two, { class: 'preview', facts: null, count: 3 }),
  ])
  assert.deepEqual(
    recorded?.map((each) => each?.isFirst),
    [true, false, true, false, false],
  )
  assert.partialDeepStrictEqual(await keptTotals(storage), [
    { link_id: one, clicks: 2, bots: 0, previews: 0, last_clicked_ms: noon + 3_600_000 },
    { link_id: two, clicks: 1, bots: 1, previews: 3, last_clicked_ms: noon },
  ])
  const days = await keptDays(storage)
  assert.deepEqual(
    days.map(({ level, day, id }) => [level, day, id]),
    [
      [clickLevels.link, toUtcDay(noon), one],
      [clickLevels.link, toUtcDay(noon), two],
      [clickLevels.domain, toUtcDay(noon), domain],
      [clickLevels.account, toUtcDay(noon), account],
    ],
  )
  for (const { level, facts } of days.slice(2)) {
    assert.deepEqual(sumsOf(facts), { people: 3, unique: 2, bots: 1, previews: 3, addUp: dimensions }, String(level))
    assert.deepEqual(Object.fromEntries(facts.breakdowns.links), { [one]: 2, [two]: 1 })
  }
})

test('stores a repeated batch once, without the clicks of deleted links', async (t) => {
  const { storage, links, first } = await newPlace((work) => t.after(work))
  const [one = 0, two = 0] = links
  await storage.execute(deleteLink({ id: two }))
  const counted = await first.write(5, [click(one), click(two)])
  assert.deepEqual(
    counted?.map((each) => each.link.link_id),
    [one],
  )
  assert.equal(await first.write(5, [click(one), click(two)]), null)
  assert.equal(await first.write(4, [click(one)]), null)
  assert.deepEqual(
    (await keptTotals(storage)).map(({ clicks }) => clicks),
    [1, 0],
  )
})

test('a deleted link returns with the clicks that arrived since; drops them after a permanent deletion', async (t) => {
  const { storage, account, links, spaces, first, second } = await newPlace((work) => t.after(work))
  const { actions, reversals } = actionsOn(storage)
  const actor = systemActor(account)
  const [one = 0, two = 0, three = 0] = links
  await storage.execute(setSpace({ id: one, space: spaces[0] as number }))
  await first.write(1, [click(one, { visitor: 7 })])
  await actions.links.remove(actor, one, {}, null)
  await actions.links.remove(actor, two, {}, null)
  await actions.links.remove(actor, three, { permanently: 'true' }, null)
  const bot = { class: 'bot', facts: null, visitorUnder: null } as const
  const late = [click(one, { visitor: 7, atMs: noon + 1_000 }), click(one, { visitor: 8, atMs: noon + dayMs })]
  const sent = [...late, click(two, { ...bot, count: 3 }), click(three)]
  const counted = await first.write(2, sent)
  assert.deepEqual(
    counted?.map(({ isFirst, link }) => [link.link_id, link.space_id, isFirst]),
    [
      [one, spaces[0], false],
      [one, spaces[0], true],
      [two, null, false],
    ],
  )
  assert.equal(await first.write(2, sent), null)
  await second.write(1, [click(one, { visitor: 8, atMs: noon + dayMs })])
  assert.deepEqual(await keptTotals(storage), [])
  const days = await keptDays(storage)
  for (const level of Object.values(clickLevels)) {
    const people = days.filter((each) => each.level === level).map(({ facts }) => sumsOf(facts).people)
    assert.deepEqual(
      people.filter((n) => n > 0),
      [2, 2],
      String(level),
    )
  }
  for (const id of [one, two]) {
    const [deletion] = await listRecordEvents(storage, account, { record: 'link', id }, 1)
    await reversals.undoEvent(actor, deletion?.id ?? 0)
  }
  assert.partialDeepStrictEqual(await keptTotals(storage), [
    { link_id: one, clicks: 4, bots: 0, space_id: spaces[0], last_clicked_ms: noon + dayMs },
    { link_id: two, clicks: 0, bots: 3, last_clicked_ms: null },
  ])
  assert.deepEqual(await keptDays(storage), days)
})

test('takes exactly the remaining clicks for concurrent visitors on two nodes', async (t) => {
  const { storage, account, domain, first, second } = await newPlace((work) => t.after(work))
  const sale = await newLink(storage, { account, domain }, 'sale', 5)
  const free = await newLink(storage, { account, domain }, 'free')
  const taken = await Promise.all([askAll(first, sale, 20), askAll(second, sale, 20)])
  assert.equal(taken.flat().filter((isTaken) => isTaken).length, 5)
  assert.equal(await first.take(click(free)), false)
  assert.equal(await first.take(click(sale + 100)), false)
  const { clicks } = (await keptTotals(storage)).find(({ link_id }) => link_id === sale) as { clicks: number }
  assert.equal(clicks, 5)
  const day = (await keptDays(storage)).find(({ level }) => level === clickLevels.account)
  assert.equal(day && sumsOf(day.facts).people, 5)
})

async function askAll(store: ClickStore, link: number, times: number) {
  const taken = []
  for (let n = 0; n < times; n++) taken.push(await store.take(click(link, { visitor: n })))
  return taken
}

test('makes the status of a link due when it reaches its click limit', async (t) => {
  const { storage, account, domain, first } = await newPlace((work) => t.after(work))
  const sale = await newLink(storage, { account, domain }, 'sale', 3)
  const taken = await newLink(storage, { account, domain }, 'taken', 1)
  const due = async (id: number) => (await storage.execute(dueOf({ id })))[0]?.status_due_at
  await first.write(1, [click(sale), click(sale)])
  assert.equal(await due(sale), null)
  await first.write(2, [click(sale), click(sale)])
  assert.equal(await due(sale), '')
  await first.take(click(taken))
  assert.equal(await due(taken), '')
})

test('leaves out pending clicks of another node when clicks are deleted', async (t) => {
  const { storage, links, first, maintenance } = await newPlace((work) => t.after(work))
  const [one = 0, two = 0] = links
  const now = Date.now()
  const [before, later] = [now - 5_000, now + 60_000]
  assert.equal(await maintenance.deleteClicks(systemActor(1), one), true)
  const passedOn: number[] = []
  const passOn = (clicks: readonly CountedClick[]) => void passedOn.push(...clicks.map(({ link }) => link.link_id))
  const bot = { class: 'bot', facts: null, visitorUnder: null } as const
  const waiting = [click(one, { atMs: before }), click(one, { atMs: before, ...bot }), click(two, { atMs: before })]
  await first.write(1, waiting, passOn)
  assert.deepEqual(passedOn, [two])
  const counts = async () =>
    (await keptTotals(storage)).slice(0, 2).map(({ clicks, bots, last_clicked_ms }) => [clicks, bots, last_clicked_ms])
  assert.deepEqual(await counts(), [
    [0, 0, null],
    [1, 0, before],
  ])
  await first.write(2, [click(one, { atMs: before }), click(one, { atMs: later })])
  // A batch of nothing else.
  await first.write(3, [click(one, { atMs: before })])
  assert.deepEqual(await counts(), [
    [1, 0, later],
    [1, 0, before],
  ])
  const days = (await keptDays(storage)).filter(
    ({ level }) => level === clickLevels.link || level === clickLevels.account,
  )
  const people = (level: number) =>
    days.filter((each) => each.level === level).reduce((sum, { facts }) => sum + sumsOf(facts).people, 0)
  assert.deepEqual([people(clickLevels.link), people(clickLevels.account)], [2, 2])
})

test('uses one salt per day on all nodes', async (t) => {
  const { storage, links, first, second } = await newPlace((work) => t.after(work))
  const seen: string[] = []
  const asking = (atMs: number): Click => ({
    ...click(links[0] as number, { atMs }),
    visitorUnder: (salt) => {
      seen.push(Buffer.from(salt).toString('hex'))
      return 1
    },
  })
  await first.write(1, [asking(noon)])
  await second.write(1, [asking(noon), asking(noon + dayMs)])
  await first.write(2, [asking(noon)])
  const [today, again, tomorrow, once] = seen
  assert.deepEqual([again, once], [today, today])
  assert.notEqual(tomorrow, today)
  assert.deepEqual(
    (await keptSalts(storage)).map(({ salt }) => Buffer.from(salt).toString('hex')),
    [today, tomorrow],
  )
  assert.equal((await keptVisitors(storage)).length, 2)
})

/** Returns the expected sums of clicks. */
function modelOf(all: readonly Click[]) {
  const people = all.filter((each) => each.class === 'person')
  const visitors = new Set(
    people.flatMap(({ link, atMs, visitorUnder }) =>
      visitorUnder === null ? [] : [`${link} ${toUtcDay(atMs)} ${visitorUnder(new Uint8Array())}`],
    ),
  )
  return {
    ...{ people: people.length, unique: visitors.size },
    bots: all.filter((each) => each.class === 'bot').length,
    previews: all.filter((each) => each.class === 'preview').length,
  }
}

/** Checks the sums of all days of a level, and that each dimension adds up. */
function assertKept(days: readonly KeptDay[], level: number, expected: ReturnType<typeof modelOf>): void {
  const sums = { people: 0, unique: 0, bots: 0, previews: 0 }
  for (const { facts } of days.filter((day) => day.level === level)) {
    const { addUp, ...own } = sumsOf(facts)
    const isOwn = level === clickLevels.link && own.people > 0
    assert.deepEqual(addUp, isOwn ? dimensionsOfLinks : dimensions)
    for (const name of ['people', 'unique', 'bots', 'previews'] as const) sums[name] += own[name]
  }
  assert.deepEqual(sums, expected, `level ${level}`)
}

const visits = fc.array(
  fc.record({
    link: fc.nat(2),
    atMs: fc.integer({ min: noon - dayMs, max: noon + dayMs }),
    class: fc.constantFrom('person' as const, 'person' as const, 'bot' as const, 'preview' as const),
    visitor: fc.option(fc.nat(20), { nil: undefined }),
    referrer: fc.option(fc.nat(400), { nil: null }),
    rule: fc.constantFrom(null, 'Germany', 'Test 1', 'Test 2', '…', '…… 2'),
  }),
  { maxLength: 60 },
)

test('matches a model for any batches and repeated batches of two nodes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(visits, visits, fc.boolean()), { maxLength: 4 }), async (rounds) => {
      await using ending = new AsyncDisposableStack()
      const { storage, links, first, second } = await newPlace(
        (work) => void ending.defer(async () => void (await work())),
      )
      const all: Click[] = []
      const sent = (some: (typeof rounds)[0][0]) =>
        some.map(({ link, visitor, referrer, rule, ...more }) => {
          const made = click(links[link] as number, { ...more, ...(visitor !== undefined && { visitor }) })
          const referrers = referrer === null ? null : `host-${referrer}.example`
          return made.class === 'person'
            ? { ...made, facts: { ...made.facts, referrers, rules: rule } as never }
            : { ...made, facts: null, visitorUnder: null }
        })
      for (const [number, [one, two, isRepeated]] of rounds.entries()) {
        const [left, right] = [sent(one), sent(two)]
        all.push(...left, ...right)
        const write = (store: ClickStore, some: Click[]) => (some.length > 0 ? store.write(number + 1, some) : null)
        await Promise.all([write(first, left), write(second, right)])
        if (isRepeated) await write(first, left)
      }
      const expected = modelOf(all)
      const days = await keptDays(storage)
      for (const level of [clickLevels.link, clickLevels.domain, clickLevels.account]) assertKept(days, level, expected)
      const sums = { link: emptyDay(), account: emptyDay() }
      for (const level of ['link', 'account'] as const) {
        for (const each of days.filter((day) => day.level === clickLevels[level])) addDay(sums[level], each.facts)
      }
      const people = all.filter((each) => each.class === 'person')
      const ruled = Map.groupBy(people, ({ facts }) => facts?.rules ?? null)
      const expectedRules = new Map([...ruled].map(([rule, { length }]) => [rule, length]))
      assert.deepEqual(sums.link.breakdowns.rules, expectedRules)
      assert.deepEqual([...sums.account.breakdowns.rules], people.length > 0 ? [[null, people.length]] : [])
      const totals = await keptTotals(storage)
      const sum = (name: 'clicks' | 'bots' | 'previews') => totals.reduce((of, row) => of + row[name], 0)
      assert.deepEqual(
        [sum('clicks'), sum('bots'), sum('previews')],
        [expected.people, expected.bots, expected.previews],
      )
    }),
    { numRuns: 12 },
  )
})
