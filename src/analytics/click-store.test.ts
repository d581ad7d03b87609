import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import {
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
import { listRecordEvents } from '../events/store.ts'
import { clickLevels } from '../storage/schema.ts'
import type { Click, ClickStore, CountedClick } from './click-store.ts'

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

test('adds clicks to days in memory that a transaction left unstored, or another process has changed', async (t) => {
  const { storage, links, first, second, maintenance } = await newPlace((work) => t.after(work))
  const [one = 0] = links
  const people = async () => (await keptDays(storage)).map(({ facts }) => sumsOf(facts).people)
  await first.write(1, [click(one)])
  await first.write(2, [click(one)])
  const fail = () => {
    throw new Error('The sink fails.')
  }
  await assert.rejects(first.write(3, [click(one)], fail), { message: 'The sink fails.' })
  assert.deepEqual(await people(), [2, 2, 2])
  await first.write(3, [click(one)])
  await second.write(1, [click(one)])
  assert.deepEqual(await people(), [4, 4, 4])
  await first.write(4, [click(one), click(one)])
  assert.deepEqual(await people(), [6, 6, 6])
  await maintenance.deleteDaysBefore(Math.ceil(noon / dayMs))
  await first.write(5, [click(one)])
  assert.deepEqual(await people(), [1, 1, 1])
})
