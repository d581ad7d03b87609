/** Deleted domains: removed in steps with an event for each link, and restored with everything they had. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { actionsOn } from '../../test/actions.ts'
import { keptDays, keptTotals, newClick, openClicks } from '../../test/clicks.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { firstPage } from '../../test/first-page.ts'
import { insertLink, newDomain, newSpace, plainLink, twoNodes } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { detachBatchSize } from '../events/removal.ts'
import { listRecordEvents } from '../events/store.ts'
import { listLinks } from '../links/link-list.ts'
import { findLink } from '../links/store.ts'
import { findQrStyle, storeQrStyle } from '../qr/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { loggedDomains } from './reversal.ts'
import { domainRecords } from './store.ts'

const dayMs = 86_400_000

async function place(t: TestContext) {
  const nodes = await twoNodes((work) => t.after(work))
  const { storage, account, domain } = nodes
  const { store } = await openClicks(storage.location, (work) => t.after(work))
  const space = await newSpace(storage, account, 'Red')
  const { actions, reversals, jobs } = actionsOn(storage)
  const actor = systemActor(account)
  const link = async (alias: string, on = domain) => {
    const values = { ...plainLink, space_id: space, tags: ['Sale'], alias }
    return (await insertLink(storage, systemActor(account), { id: on, name: 'go.acme.com' }, values)).record.id
  }
  const click = (batch: number, id: number) => store.write(batch, [newClick(id, 100 * dayMs)])
  const how = { precondition: null, isPermanent: false }
  const begin = () => storage.write((tx) => loggedDomains.beginRemoval(tx, actor, domain, how))
  const finish = () => jobs.run({ record: 'domain', record_id: domain })
  const remove = () => actions.domains.remove(systemActor(account), domain, { links: 'delete' }, null)
  const deletionOf = async (id = domain) =>
    (await listRecordEvents(storage, account, { record: 'domain', id }, 1))[0] ?? assert.fail()
  const restore = async (by = account) => reversals.undoEvent(systemActor(by), (await deletionOf()).id)
  return { ...nodes, actor, actions, link, click, begin, finish, remove, restore, deletionOf }
}

const tables = {
  domains: query.selectFrom('domains').selectAll().orderBy('id'),
  links: query.selectFrom('links').selectAll().orderBy('id'),
  tags: query.selectFrom('link_tags').selectAll().orderBy('link_id'),
  counts: query
    .withTables<{ record_counts: { account_id: number; resource: string; total: number } }>()
    .selectFrom('record_counts')
    .select((e) => ['account_id', 'resource', e.fn.sum<number>('total').as('total')])
    .where('account_id', '<>', 0)
    .groupBy(['account_id', 'resource'])
    .orderBy('account_id')
    .orderBy('resource'),
}

/** Returns all that domains and their links consist of, except versions. */
async function stateOf(db: Db): Promise<unknown> {
  const rows = []
  for (const table of Object.values(tables)) {
    const versions = { revision: 0, updated_at: '', status_due_at: null }
    rows.push((await db.execute<object>(table)).map((row) => ({ ...row, ...versions })))
  }
  return [rows, await keptTotals(db), await keptDays(db)]
}

/** Returns the actor, batch and record of each event of a deleted link, in the order of ids. */
async function linkDeletions(db: Db, account: number) {
  const events = query
    .selectFrom('events')
    .select(['record_id', 'record_name', 'actor_kind', 'batch_id'])
    .where('account_id', '=', account)
    .where('record', '=', 'link')
    .where('action', '=', 'deleted')
  return db.execute(events.orderBy('record_id'))
}

test('is gone immediately with its links, and returns with every value, tag, click and total', async (t) => {
  const { storage, other, account, domain, link, click, begin, finish, remove, restore } = await place(t)
  const sale = await link('sale')
  await link('winter')
  await link('stays', await newDomain(storage, account, 'second.acme.com'))
  await click(1, sale)
  const before = await stateOf(storage)
  const aliases = async () => (await listLinks(storage, account, firstPage)).rows.map(({ alias }) => alias).sort()
  assert.equal(await begin(), true)
  assert.equal(await domainRecords.find(other, account, domain), undefined)
  assert.deepEqual(await aliases(), ['stays'])
  await assert.rejects(link('new'), { code: 'validation_failed' })
  assert.equal(await begin(), false)
  await finish()
  assert.deepEqual(await aliases(), ['stays'])
  await restore()
  assert.deepEqual(await stateOf(storage), before)
  assert.deepEqual(await aliases(), ['sale', 'stays', 'winter'])
  await remove()
  await restore()
  assert.deepEqual(await stateOf(storage), before)
})

test('stores one event for each link, with the actor and batch of the deletion, even if it is interrupted', async (t) => {
  const { storage, other, account, actor, domain, link, begin } = await place(t)
  const ids = []
  for (let n = 0; n < 2 * detachBatchSize + 1; n++) ids.push(await link(`n${n}`))
  await begin()
  let steps = 0
  const write: Storage['write'] = (...work) =>
    steps++ === 1 ? Promise.reject(new Error('cut off')) : storage.write(...work)
  const subject = { record: 'domain', record_id: domain } as const
  await assert.rejects(actionsOn(withMethods(storage, { write })).jobs.run(subject), /cut off/)
  assert.equal((await linkDeletions(storage, account)).length, detachBatchSize)
  await Promise.all([storage, other].map((db) => actionsOn(db).jobs.run(subject)))
  const events = await linkDeletions(storage, account)
  const expected = { actor_kind: 'system', batch_id: actor.batchId }
  assert.deepEqual(
    events.map((event) => ({ ...event })),
    ids.map((record_id, n) => ({ record_id, record_name: `go.acme.com/n${n}`, ...expected })),
  )
  assert.deepEqual(await storage.execute(tables.links), [])
})

test('a step of an earlier removal deletes nothing once the domain is deleted again, permanently', async (t) => {
  const { storage, account, domain, link, begin, finish, restore } = await place(t)
  for (let n = 0; n < detachBatchSize; n++) await link(`n${n}`)
  await begin()
  const how = { precondition: null, isPermanent: true }
  let again = async () => {
    again = async () => undefined
    await restore()
    await storage.write((tx) => loggedDomains.beginRemoval(tx, systemActor(account), domain, how))
  }
  const write: Storage['write'] = async (...work) => {
    await again()
    return storage.write(...work)
  }
  await actionsOn(withMethods(storage, { write })).jobs.run({ record: 'domain', record_id: domain })
  await finish()
  await actionsOn(storage).jobs.finish()
  const events = query.selectFrom('events').select('id').where('record', '=', 'link')
  const stored = events.where(({ or, eb }) => or([eb('changes', 'is not', null), eb('kept', 'is not', null)]))
  assert.deepEqual(await storage.execute(stored), [])
  assert.equal((await linkDeletions(storage, account)).length, detachBatchSize)
  assert.deepEqual(await storage.execute(tables.domains), [])
})

test('throws name_taken while any account has its name, and returns afterwards, only to its account', async (t) => {
  const { storage, account, domain, link, remove, deletionOf } = await place(t)
  const { id: stranger } = await createAccount(storage, 'Other')
  const { actions, reversals } = actionsOn(storage)
  await link('sale')
  for (const owner of [stranger, account]) {
    await remove()
    const { id } = await deletionOf()
    await assert.rejects(reversals.undoEvent(systemActor(stranger), id), { code: 'not_found' })
    const same = await newDomain(storage, owner, 'go.acme.com')
    const before = await stateOf(storage)
    await assert.rejects(reversals.undoEvent(systemActor(account), id), { code: 'name_taken' })
    assert.deepEqual(await stateOf(storage), before)
    await actions.domains.remove(systemActor(owner), same, {}, null)
    await reversals.undoEvent(systemActor(account), id)
    assert.equal((await domainRecords.find(storage, account, domain))?.record.name, 'go.acme.com')
    assert.equal((await storage.execute(tables.links)).length, 1)
  }
})

test('a link that was deleted before can return after its domain; a permanent deletion returns nothing', async (t) => {
  const { storage, account, actions, domain, link, remove, restore, deletionOf } = await place(t)
  const { reversals } = actionsOn(storage)
  const sale = await link('sale')
  await actions.links.remove(systemActor(account), sale, {}, null)
  const [deletion] = await listRecordEvents(storage, account, { record: 'link', id: sale }, 1)
  const id = deletion?.id ?? 0
  await remove()
  await assert.rejects(reversals.undoEvent(systemActor(account), id), { code: 'not_undoable' })
  await restore()
  assert.equal((await storage.execute(tables.links)).length, 0)
  await reversals.undoEvent(systemActor(account), id)
  assert.equal((await storage.execute(tables.links)).length, 1)
  await actions.domains.remove(systemActor(account), domain, { links: 'delete', permanently: 'true' }, null)
  const permanent = await deletionOf()
  assert.equal(permanent.changes, null)
  await assert.rejects(restore(), { code: 'not_undoable' })
  const own = query.selectFrom('events').select('id').where('record', 'in', ['domain', 'link'])
  const stored = own.where(({ or, eb }) => or([eb('changes', 'is not', null), eb('kept', 'is not', null)]))
  assert.deepEqual(await storage.execute(stored.where('record_id', 'in', [domain, sale])), [])
})

test('a domain returns with its QR code style, and its return can be undone', async (t) => {
  const { storage, account, actor, domain, remove, restore } = await place(t)
  const { reversals } = actionsOn(storage)
  const style = { dark: '#0b5c6b', background: '#fff4e0', margin: 2, logo: Buffer.from('logo') }
  await storeQrStyle(storage, actor, domain, style)
  for (let round = 0; round < 2; round++) {
    await remove()
    assert.equal(await findQrStyle(storage, account, domain), undefined)
    await restore()
    assert.deepEqual(await findQrStyle(storage, account, domain), style)
  }
  const [restoration] = await listRecordEvents(storage, account, { record: 'domain', id: domain }, 1)
  await reversals.undoEvent(actor, restoration?.id ?? 0)
  assert.equal(await domainRecords.find(storage, account, domain), undefined)
  await restore()
  await storeQrStyle(storage, actor, domain, { ...style, margin: 3 })
  const [, latest] = await listRecordEvents(storage, account, { record: 'domain', id: domain }, 2)
  await assert.rejects(reversals.undoEvent(actor, latest?.id ?? 0), { code: 'not_undoable' })
})

test('a domain returns with its links only, even for a key that can only write domains', async (t) => {
  const { storage, account, actor, actions, domain, link, deletionOf } = await place(t)
  const other = await newDomain(storage, account, 'other.acme.com')
  const [own, others] = [await link('own'), await link('others', other)]
  await actions.links.remove(actor, others, {}, null)
  await actions.domains.remove(actor, domain, { links: 'delete' }, null)
  const { reversals } = actionsOn(storage)
  await reversals.undoEvent({ ...actor, scopes: ['domains:write'] }, (await deletionOf()).id)
  assert.notEqual(await findLink(storage, account, own), undefined)
  assert.equal(await findLink(storage, account, others), undefined)
})
