/** Deleted links, which return completely, once, and only to their account. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { actionsOn } from '../../test/actions.ts'
import { keptDays, keptTotals, newClick, openClicks, sumsOf } from '../../test/clicks.ts'
import { storeEvents } from '../../test/events.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { insertLink, newDomain, newSpace, plainLink, setSpace, twoNodes } from '../../test/links.ts'
import { eventually } from '../../test/processes.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { ensureErasure } from '../events/erasure.ts'
import { listRecordEvents, lockEvents } from '../events/store.ts'
import { findJob } from '../jobs/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { deleteLinks, type WholeLink } from './deletion.ts'
import { maxTags } from './link.ts'
import { restoreLinks } from './reversal.ts'
import type { LinkValues } from './schema.ts'
import { findLink } from './store.ts'

const dayMs = 86_400_000

type Rows = Record<string, Record<string, unknown>>

const rowsOf = (table: string, ...order: readonly string[]) =>
  order.reduce((query, column) => query.orderBy(column), query.withTables<Rows>().selectFrom(table).selectAll())

const total = query
  .withTables<Rows>()
  .selectFrom('record_counts')
  .select(({ fn }) => fn.sum('total').as('total'))
  .where('resource', '=', 'links')

/** Returns all that links consist of, except versions and the status, which is computed again. */
async function stateOf(db: Db): Promise<unknown> {
  const state: unknown[] = []
  for (const rows of [
    ...[rowsOf('links', 'id'), rowsOf('link_tags', 'link_id', 'tag_id'), rowsOf('link_clicks', 'link_id')],
    ...[rowsOf('click_days', 'scope', 'day', 'id'), rowsOf('click_moves', 'link_id'), total],
  ]) {
    const versions = { revision: 0, updated_at: '', status: '', status_due_at: '' }
    state.push((await db.execute(rows)).map((row) => ({ ...row, ...versions })))
  }
  return state
}

async function place(t: TestContext) {
  const nodes = await twoNodes((work) => t.after(work))
  const { storage, account, domain } = nodes
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  const spaces = [await newSpace(storage, account, 'Red'), await newSpace(storage, account, 'Blue')] as const
  const { actions, reversals } = actionsOn(storage)
  const link = async (alias: string, values: Partial<LinkValues> = {}) => {
    const on = { id: domain, name: 'go.acme.com' }
    return (await insertLink(storage, systemActor(account), on, { ...plainLink, ...values, alias })).record.id
  }
  let batches = 0
  const click = async (link: number, ...days: number[]) => {
    batches += 1
    const clicks = days.map((day) => newClick(link, day * dayMs))
    await store.write(batches, clicks)
  }
  const remove = (id: number) => actions.links.remove(systemActor(account), id, {}, null)
  const deletionOf = async (id: number) =>
    (await listRecordEvents(storage, account, { record: 'link', id }, 10)).find(({ action }) => action === 'deleted')
  const restore = async (id: number, { by = account, on = reversals } = {}) =>
    on.undoEvent(systemActor(by), (await deletionOf(id))?.id ?? 0)
  return { ...nodes, maintenance, spaces, actions, reversals, link, click, remove, restore, deletionOf }
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
  tags: fc.subarray(['Fall', 'Print']),
  disabled: fc.boolean(),
  archived: fc.boolean(),
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

test('returns with every value in a new version', async (t) => {
  const { storage, account, domain, spaces, remove, restore } = await place(t)
  const on = { id: domain, name: 'go.acme.com' }
  await fc.assert(
    fc.asyncProperty(randomLink, async ({ period: [from, to], isInSpace, past, ...values }) => {
      const space_id = isInSpace ? spaces[0] : null
      const link = { ...plainLink, ...values, space_id, active_period_start_at: from, active_period_end_at: to }
      const stored = await insertLink(storage, systemActor(account), on, link, past)
      const { id } = stored.record
      const before = await stateOf(storage)
      await remove(id)
      assert.equal(await findLink(storage, account, id), undefined)
      await restore(id)
      const back = await findLink(storage, account, id)
      assert.notEqual(back?.version, stored.version)
      assert.deepEqual(await stateOf(storage), before)
      await remove(id)
    }),
    { numRuns: runs(60, 20) },
  )
})

test('throws alias_taken while another link has the alias in any case; returns only to its account', async (t) => {
  const { storage, account, actions, link, remove, restore } = await place(t)
  const sale = await link('Sale')
  const stranger = systemActor(account + 1)
  await assert.rejects(actions.links.remove(stranger, sale, {}, null), { code: 'not_found' })
  await remove(sale)
  await assert.rejects(remove(sale), { code: 'not_found' })
  await assert.rejects(restore(sale, { by: stranger.account }), { code: 'not_found' })
  const next = await link('SALE')
  await assert.rejects(restore(sale), { code: 'alias_taken' })
  await remove(next)
  await restore(sale)
  assert.equal((await findLink(storage, account, sale))?.record.alias, 'Sale')
  await assert.rejects(restore(next), { code: 'alias_taken' })
})

test('does not return after its domain is deleted, not even to a new domain of the same name', async (t) => {
  const { storage, account, domain, actions, link, remove, restore } = await place(t)
  const sale = await link('sale')
  await remove(sale)
  await actions.domains.remove(systemActor(account), domain, {}, null)
  await newDomain(storage, account, 'go.acme.com')
  await assert.rejects(restore(sale), {
    code: 'not_undoable',
    message: 'The domain go.acme.com is gone. Restore it first.',
  })
})

test('returns without its space or tag, if someone has deleted it meanwhile, and its clicks leave the space', async (t) => {
  const { storage, account, actions, link, click, spaces, maintenance, remove, restore } = await place(t)
  const sale = await link('sale', { space_id: spaces[0], tags: ['Gone', 'Kept'] })
  await click(sale, 100)
  const before = await findLink(storage, account, sale)
  await remove(sale)
  await actions.spaces.remove(systemActor(account), spaces[0], {}, null)
  const [gone] = await storage.execute(query.selectFrom('tags').select('id').where('name', '=', 'Gone'))
  await actions.tags.remove(systemActor(account), gone?.id ?? 0, {}, null)
  await restore(sale)
  const back = await findLink(storage, account, sale)
  const { updated_at = '' } = back?.record ?? {}
  assert.deepEqual(back?.record, { ...before?.record, space_id: null, tags: 'Kept', updated_at })
  await maintenance.moveClicks()
  assert.deepEqual(
    (await keptTotals(storage)).map(({ clicks, space_id }) => [clicks, space_id]),
    [[1, null]],
  )
})

test('a link that has got other tags instead of a deleted one does not get it back above the limit', async (t) => {
  const { storage, account, actions, reversals, link } = await place(t)
  const tags = Array.from({ length: maxTags }, (_, at) => `t${at}`)
  const id = await link('sale', { tags })
  const [tag] = await storage.execute(query.selectFrom('tags').select('id').where('name', '=', 't0'))
  await actions.tags.remove(systemActor(account), tag?.id ?? 0, {}, null)
  const [deletion] = await listRecordEvents(storage, account, { record: 'tag', id: tag?.id ?? 0 }, 1)
  const [loss] = await listRecordEvents(storage, account, { record: 'link', id }, 1)
  await actions.links.change(systemActor(account), id, { tags: ['new', ...tags.slice(1)] }, null)
  await reversals.undoEvent(systemActor(account), deletion?.id ?? 0)
  await assert.rejects(reversals.undoEvent(systemActor(account), loss?.id ?? 0), {
    code: 'not_undoable',
    message: 'The link has 20 tags by now.',
  })
})

test('clicks that had not followed their link to its new space do so after it returns', async (t) => {
  const { storage, link, click, spaces, maintenance, remove, restore } = await place(t)
  const [red, blue] = spaces
  const sale = await link('sale', { space_id: red })
  await click(sale, 100)
  await storage.execute(setSpace({ id: sale, space: blue }))
  await remove(sale)
  await maintenance.deleteRemoved()
  await restore(sale)
  await maintenance.moveClicks()
  const ofSpaces = (await keptDays(storage)).filter(({ level }) => level === clickLevels.space)
  assert.deepEqual(
    ofSpaces.map(({ id, day }) => [id, day]),
    [[blue, 100]],
  )
  assert.equal((await keptTotals(storage))[0]?.space_id, blue)
})

test('concurrent deletions and reversals lose no clicks, and totals equal the days', async (t) => {
  const { storage, other, link, click, remove, restore } = await place(t)
  const sale = await link('sale')
  const { reversals } = actionsOn(other)
  let left = 60
  const clicking = async () => {
    for (; left > 0; left--) await click(sale, 100, 101)
  }
  const deleting = async () => {
    while (left > 0) {
      await remove(sale)
      await restore(sale, { on: reversals })
    }
  }
  await Promise.all([clicking(), deleting()])
  await click(sale, 102)
  const days = (await keptDays(storage))
    .filter(({ level }) => level === clickLevels.link)
    .map(({ facts }) => sumsOf(facts))
  const sum = days.reduce((people, day) => people + day.people, 0)
  assert.deepEqual([(await keptTotals(storage))[0]?.clicks, sum], [121, 121])
})

/** The database, which fails at the statement with this number. */
function failingAt(real: Db, number: number): Db {
  let ran = 0
  const failing = (tx: Db): Db => ({
    execute: async (...args) => {
      ran += 1
      if (ran === number) throw new Error('cut off')
      return tx.execute(...args)
    },
    write: (work) => tx.write((inner) => work({ ...failing(inner), newIds: inner.newIds })),
  })
  return failing(real)
}

test('an error between two statements changes nothing', async (t) => {
  const { storage, account, link, click, spaces, deletionOf } = await place(t)
  const sale = await link('sale', { space_id: spaces[0], tags: ['Print'] })
  await click(sale, 100)
  await storage.execute(setSpace({ id: sale, space: spaces[1] }))
  const how = { isPermanent: false, removedDomain: null }
  const works = [
    (tx: Db) => deleteLinks(tx, systemActor(account), [sale], how),
    async (tx: Db) => {
      const [deletion] = await lockEvents(tx, account, [(await deletionOf(sale))?.id ?? 0], { waits: true })
      return restoreLinks(tx, systemActor(account), [deletion?.kept as WholeLink])
    },
  ]
  for (const work of works) {
    const before = await stateOf(storage)
    for (let number = 1; ; number++) {
      const error = await failingAt(storage, number)
        .write<unknown>(work)
        .then(
          () => null,
          (thrown: Error) => thrown.message,
        )
      if (error === null) {
        assert.ok(number > 3)
        break
      }
      assert.equal(error, 'cut off')
      assert.deepEqual(await stateOf(storage), before)
    }
  }
})

test('a permanent deletion erases any number of events in steps, even after an interruption', async (t) => {
  const { storage, account, link, actions } = await place(t)
  const [many, few] = [await link('many'), await link('few')]
  const actor = systemActor(account)
  await storeEvents(storage, actor, ...Array.from({ length: 950 }, () => ({ id: many })), { id: few })
  await storage.write((tx) => deleteLinks(tx, actor, [many], { isPermanent: true, removedDomain: null }))
  const left = query.selectFrom('events').select('id').where('changes', 'is not', null).where('record', '=', 'link')
  const countOf = async (id: number) => (await storage.execute(left.where('record_id', '=', id))).length
  const account_id = { record: 'account', record_id: account } as const
  await storage.write((tx) => ensureErasure(tx, account))
  let steps = 0
  const write: Storage['write'] = (...work) =>
    steps++ === 3 ? Promise.reject(new Error('cut off')) : storage.write(...work)
  await assert.rejects(actionsOn(withMethods(storage, { write })).jobs.run(account_id), /cut off/)
  assert.equal(await countOf(many), 551)
  const other = { record: 'link', action: 'deleted', changes: null, kept: 'erasing' } as const
  await storeEvents(storage, systemActor(account + 1), { id: few }, { ...other, id: few })
  await actions.links.remove(actor, few, { permanently: 'true' }, null)
  assert.deepEqual([await countOf(many), await countOf(few)], [0, 1], 'of this account only')
  await storage.write((tx) => ensureErasure(tx, account + 1))
  await actionsOn(storage).jobs.finish()
  assert.deepEqual([await countOf(many), await countOf(few)], [0, 0])
  const kept = query.selectFrom('events').select('id').where('kept', 'is not', null).where('record', '=', 'link')
  assert.deepEqual(await storage.execute(kept), [])
})

test('an erasure ends only after the clicks are erased, so that another process continues it after a kill', async (t) => {
  const { storage, account, link } = await place(t)
  const id = await link('sale')
  const { actions, jobs } = actionsOn(storage, { erase: () => Promise.reject(new Error('killed')) })
  await assert.rejects(actions.links.remove(systemActor(account), id, { permanently: 'true' }, null), /killed/)
  await jobs.close()
  let erased = 0
  await actionsOn(storage, { erase: async () => void erased++, now: () => Date.now() + 60_000 }).jobs.finish()
  assert.equal(erased, 1)
  assert.equal(await findJob(storage, { record: 'account', record_id: account }), undefined)
})

test('a permanent deletion of a link does not wait for its events before the link is gone', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work), 'postgres')
  const actor = systemActor(account)
  const on = { id: domain, name: 'go.acme.com' }
  const { id } = (await insertLink(storage, actor, on, { ...plainLink, alias: 'sale' })).record
  const events = () => listRecordEvents(storage, account, { record: 'link', id }, 9)
  const [creation] = await events()
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = other.write(async (tx) => {
    await lockEvents(tx, account, [creation?.id ?? 0], { waits: true })
    locked.resolve()
    await release.promise
  })
  await locked.promise
  const removing = actionsOn(storage).actions.links.remove(actor, id, { permanently: 'true' }, null)
  await eventually(async () => (await findLink(storage, account, id)) === undefined)
  release.resolve()
  await Promise.all([holding, removing])
  assert.deepEqual(
    (await events()).map(({ action, changes, kept }) => [action, changes, kept]),
    [
      ['deleted', null, undefined],
      ['created', null, undefined],
    ],
  )
})
