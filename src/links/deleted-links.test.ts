/** Deleted links that can be restored for a minute, completely and only by their account. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { keptDays, keptTotals, openClicks, sumsOf } from '../../test/clicks.ts'
import { newDomain, newSpace, plainLink, setSpace, takeDomainAway, twoNodes } from '../../test/links.ts'
import { runs } from '../../test/runs.ts'
import { removeSpace } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { deleteExpired } from '../storage/undo.ts'
import { removeLinkWithUndo, restoreLink } from './deleted-links.ts'
import type { LinkValues } from './schema.ts'
import { findLink, insertLink } from './store.ts'

const now = Date.parse('2026-11-22T12:00:00.000Z')
const edit = { id: 1, at: now }
const minuteMs = 60_000
const dayMs = 86_400_000

type Rows = Record<string, Record<string, unknown>>

const rowsOf =
  (table: string, ...order: readonly string[]) =>
  () =>
    order.reduce((query, column) => query.orderBy(column), query.withTables<Rows>().selectFrom(table).selectAll())

const deleted = rowsOf('deleted_links', 'id')
const removals = rowsOf('click_removals', 'scope', 'id')
const totalOfLinks = () =>
  query
    .withTables<Rows>()
    .selectFrom('record_counts')
    .select(({ fn }) => fn.sum('total').as('total'))
    .where('resource', '=', 'links')
const kept = [
  ...[rowsOf('links', 'id'), rowsOf('link_clicks', 'link_id'), rowsOf('click_days', 'scope', 'day', 'id')],
  ...[rowsOf('click_moves', 'link_id'), removals, deleted, totalOfLinks],
]

/** All that a link consists of. */
async function stateOf(db: Db): Promise<unknown> {
  const state: unknown[] = []
  for (const each of kept) state.push((await db.execute(each())).map((row) => ({ ...row })))
  return state
}

let batches = 0

async function place(t: TestContext) {
  const nodes = await twoNodes((work) => t.after(work))
  const { storage, account, domain } = nodes
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  const spaces = [await newSpace(storage, account, 'Red'), await newSpace(storage, account, 'Blue')] as const
  const link = async (alias: string, values: Partial<LinkValues> = {}) => {
    const on = { id: domain, name: 'go.acme.com' }
    return (await insertLink(storage, account, on, { ...plainLink, ...values, alias })).record.id
  }
  const click = async (id: number, ...days: number[]) => {
    batches += 1
    const clicks = days.map((day) => ({ atMs: day * dayMs, count: 1, class: 'person' as const, facts: null }))
    await store.write(
      batches,
      clicks.map((each) => ({ ...each, link: id, visitorUnder: () => 7 })),
    )
  }
  const maintain = async (at: number) => {
    await deleteExpired(storage, 'deleted_links', at)
    await maintenance.deleteRemoved()
  }
  const remove = (id: number) => removeLinkWithUndo(storage, account, id, edit)
  const restore = (id: number) => restoreLink(storage, account, id, now)
  return { ...nodes, maintenance, spaces, link, click, maintain, remove, restore }
}

/** Returns a link's stored days. */
async function daysOf(db: Db, link: number): Promise<number[]> {
  return (await keptDays(db)).filter(({ level, id }) => level === clickLevels.link && id === link).map(({ day }) => day)
}

const text = (maxLength: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength }).map(storable)
const storable = (chars: string) => chars.replaceAll('\0', 'x').toWellFormed()
const time = fc
  .date({ min: new Date('1970-01-01'), max: new Date('2400-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())
const period = fc.tuple(fc.option(time), fc.option(time)).map(([one, other]) => {
  const inOrder = one === null || other === null || one < other
  return inOrder ? ([one, other] as const) : ([null, null] as const)
})
const count = fc.integer({ min: 0, max: 9_000_000_000 })

const randomLink = fc.record({
  alias: text(12),
  url: text(40),
  title: fc.option(text(20)),
  disabled: fc.boolean(),
  period,
  clicks_limit: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  expiration_url: fc.option(text(40)),
  redirect_password: fc.option(text(40)),
  forward_query: fc.boolean(),
  redirect_status: fc.constantFrom(301, 302, 307, 308),
  isInSpace: fc.boolean(),
  past: fc.record({
    ...{ clicks: count, bots: count, previews: count, last_clicked_ms: fc.option(count) },
    ...{ created_at: time, updated_at: time },
  }),
})

test('restores every column unchanged', async (t) => {
  const { storage, account, domain, spaces, remove } = await place(t)
  await fc.assert(
    fc.asyncProperty(randomLink, async ({ period: [from, to], isInSpace, past, ...values }) => {
      const space_id = isInSpace ? spaces[0] : null
      const link = { ...plainLink, ...values, space_id, active_period_start_at: from, active_period_end_at: to }
      const stored = await insertLink(storage, account, { id: domain, name: 'go.acme.com' }, link, past)
      const { id } = stored.record
      const before = await stateOf(storage)
      await remove(id)
      assert.equal(await findLink(storage, account, id), undefined)
      assert.deepEqual(await restoreLink(storage, account, id, now + minuteMs - 1), stored)
      assert.deepEqual(await stateOf(storage), before)
      await remove(id)
    }),
    { numRuns: runs(60, 20) },
  )
})

test("keeps a deleted link's days for a minute, then deletes them", async (t) => {
  const { storage, account, link, click, maintain, remove, restore } = await place(t)
  const [sale, other, plainOne] = [await link('sale'), await link('other'), await link('plain')]
  await click(sale, 100, 101)
  await click(other, 100)
  for (const id of [sale, plainOne]) await remove(id)
  await maintain(now + minuteMs - 1)
  assert.equal(await restoreLink(storage, account, sale, now + minuteMs), undefined)
  assert.deepEqual(await daysOf(storage, sale), [100, 101])
  assert.equal((await storage.execute(deleted())).length, 2)
  await maintain(now + minuteMs)
  assert.deepEqual(await daysOf(storage, sale), [])
  assert.deepEqual(await daysOf(storage, other), [100])
  assert.deepEqual([await storage.execute(deleted()), await storage.execute(removals())], [[], []])
  assert.equal(await restore(sale), undefined)
})

test('throws alias_taken while another link has the alias in any case; only its account deletes and restores it', async (t) => {
  const { storage, account, link, remove, restore } = await place(t)
  const sale = await link('Sale')
  await assert.rejects(removeLinkWithUndo(storage, account + 1, sale, edit), { code: 'not_found' })
  await remove(sale)
  await assert.rejects(remove(sale), { code: 'not_found' })
  assert.equal(await restoreLink(storage, account + 1, sale, now), undefined)
  assert.equal(await findLink(storage, account, sale), undefined)
  const next = await link('SALE')
  await assert.rejects(restore(sale), { code: 'alias_taken' })
  await remove(next)
  assert.equal((await restore(sale))?.record.alias, 'Sale')
  await assert.rejects(restore(next), { code: 'alias_taken' })
})

test('does not restore or delete a link whose domain is deleted meanwhile', async (t) => {
  const { storage, account, link, domain, remove, restore } = await place(t)
  const [sale, other] = [await link('sale'), await link('other')]
  await remove(sale)
  await storage.execute(takeDomainAway({ id: domain, name: '-gone' }))
  assert.equal(await restore(sale), undefined)
  await assert.rejects(remove(other), { code: 'not_found' })
  // A new domain of the same name is another one.
  await newDomain(storage, account, 'go.acme.com')
  assert.equal(await restore(sale), undefined)
})

test('restores a link whose space is deleted meanwhile without the space, in a new version, and moves its clicks', async (t) => {
  const { storage, account, link, click, spaces, maintenance, remove, restore } = await place(t)
  const sale = await link('sale', { space_id: spaces[0] })
  await click(sale, 100)
  const before = await findLink(storage, account, sale)
  await remove(sale)
  await removeSpace(storage, account, spaces[0], null)
  const back = await restore(sale)
  assert.notEqual(back?.version, before?.version)
  const { updated_at = '' } = back?.record ?? {}
  assert.deepEqual(back?.record, { ...before?.record, space_id: null, updated_at })
  assert.ok(updated_at >= (before?.record.updated_at ?? ''))
  await maintenance.moveClicks()
  assert.deepEqual(
    (await keptTotals(storage)).map(({ clicks, space_id }) => [clicks, space_id]),
    [[1, null]],
  )
  assert.deepEqual(
    (await keptDays(storage)).filter(({ level, id }) => level === clickLevels.space && id === spaces[0]),
    [],
  )
})

test('clicks that were not moved to the new space of their link before are moved after a restore', async (t) => {
  const { storage, link, click, spaces, maintenance, maintain, remove, restore } = await place(t)
  const [red, blue] = spaces
  const sale = await link('sale', { space_id: red })
  await click(sale, 100)
  await storage.execute(setSpace({ id: sale, space: blue }))
  await remove(sale)
  await maintain(now)
  await restore(sale)
  await maintenance.moveClicks()
  const ofSpaces = (await keptDays(storage)).filter(({ level }) => level === clickLevels.space)
  assert.deepEqual(
    ofSpaces.map(({ id, day }) => [id, day]),
    [[blue, 100]],
  )
  assert.equal((await keptTotals(storage))[0]?.space_id, blue)
})

test('concurrent restores return the same link, which is stored once', async (t) => {
  const { storage, other, account, link, click, remove } = await place(t)
  const sale = await link('sale')
  await click(sale, 100)
  const before = await stateOf(storage)
  await remove(sale)
  const both = await Promise.all([storage, other, storage].map((db) => restoreLink(db, account, sale, now)))
  assert.deepEqual(
    both.map((each) => each?.record.id),
    [sale, sale, sale],
  )
  assert.deepEqual(await stateOf(storage), before)
})

test('totals equal the days after concurrent clicks, deletions and restores', async (t) => {
  const { storage, other, account, link, click, remove } = await place(t)
  const sale = await link('sale')
  let left = 60
  const clicking = async () => {
    for (; left > 0; left--) await click(sale, 100, 101)
  }
  const deleting = async () => {
    while (left > 0) {
      await remove(sale)
      await restoreLink(other, account, sale, now)
    }
  }
  await Promise.all([clicking(), deleting()])
  await click(sale, 102)
  const days = (await keptDays(storage))
    .filter(({ level }) => level === clickLevels.link)
    .map(({ facts }) => sumsOf(facts))
  const sum = days.reduce((people, day) => people + day.people, 0)
  assert.equal((await keptTotals(storage))[0]?.clicks, sum)
})

/** The database, which fails at the statement with this number. */
function failingAt(real: Db, number: number): Db {
  let ran = 0
  const count = () => {
    ran += 1
    if (ran === number) throw new Error('cut off')
  }
  const failing = (tx: Db): Db => ({
    execute: async (...args) => {
      count()
      return tx.execute(...args)
    },
    write: (work) => work(failing(tx)),
  })
  return { ...failing(real), write: (work) => real.write((tx) => work(failing(tx))) }
}

test('an error between two statements changes nothing', async (t) => {
  const { storage, account, link, click, spaces } = await place(t)
  const sale = await link('sale', { space_id: spaces[0] })
  await click(sale, 100)
  await storage.execute(setSpace({ id: sale, space: spaces[1] }))
  const works = [
    (db: Db) => removeLinkWithUndo(db, account, sale, edit),
    (db: Db) => restoreLink(db, account, sale, now),
  ]
  const cut: number[] = []
  for (const work of works) {
    const before = await stateOf(storage)
    for (let number = 1; ; number++) {
      const error = await work(failingAt(storage, number)).then(
        () => null,
        (thrown: Error) => thrown.message,
      )
      if (error === null) {
        cut.push(number - 1)
        break
      }
      assert.equal(error, 'cut off')
      assert.deepEqual(await stateOf(storage), before)
    }
  }
  assert.deepEqual(cut, [8, 11])
})
