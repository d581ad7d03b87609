/** Domains that were deleted in the dashboard: restorable for a minute, by their account, with everything they had. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keptDays, keptTotals, openClicks } from '../../test/clicks.ts'
import { firstPage } from '../../test/first-page.ts'
import { newDomain, newSpace, plainLink, twoNodes } from '../../test/links.ts'
import { createAccount } from '../accounts/store.ts'
import { removeLinkWithUndo, restoreLink } from '../links/deleted-links.ts'
import { listLinks } from '../links/link-list.ts'
import { findLink, insertLink, removeLink } from '../links/store.ts'
import type { Db } from '../storage/port.ts'
import { finishRemoval, finishRemovals } from '../storage/removal.ts'
import { query } from '../storage/schema.ts'
import { deleteExpired } from '../storage/undo.ts'
import { findRemovedDomain, removeDomainWithUndo, restoreDomain } from './deleted-domains.ts'
import { beginDomainRemoval, domainRecords, domainRemoval } from './store.ts'

const now = Date.parse('2026-11-22T12:00:00.000Z')
const minuteMs = 60_000
const dayMs = 86_400_000

async function place(t: TestContext) {
  const nodes = await twoNodes((work) => t.after(work))
  const { storage, account, domain } = nodes
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  const space = await newSpace(storage, account, 'Red')
  const link = async (alias: string, on = domain) => {
    const stored = await insertLink(storage, account, { id: on, name: '' }, { ...plainLink, space_id: space, alias })
    return stored.record.id
  }
  const click = (batch: number, id: number) => {
    const visit = { atMs: 100 * dayMs, count: 1, class: 'person', facts: null, visitorUnder: () => batch } as const
    return store.write(batch, [{ ...visit, link: id }])
  }
  /** Does what every node does each minute. */
  const sweep = async (at: number) => {
    await deleteExpired(storage, 'deleted_domains', at)
    await finishRemovals(storage, domainRemoval)
  }
  return { ...nodes, maintenance, space, link, click, sweep }
}

const tables = {
  domains: query.selectFrom('domains').selectAll().orderBy('id'),
  links: query.selectFrom('links').selectAll().orderBy('id'),
  deleted: query.selectFrom('deleted_domains').selectAll(),
  counts: query
    .withTables<{ record_counts: { account_id: number; resource: string; total: number } }>()
    .selectFrom('record_counts')
    .select((e) => ['account_id', 'resource', e.fn.sum<number>('total').as('total')])
    .where('account_id', '<>', 0)
    .groupBy(['account_id', 'resource'])
    .orderBy('account_id')
    .orderBy('resource'),
}

/** All that domains and their links consist of. */
async function stateOf(db: Db): Promise<unknown> {
  const rows = []
  for (const table of Object.values(tables)) rows.push((await db.execute<object>(table)).map((row) => ({ ...row })))
  return [rows, await keptTotals(db), await keptDays(db)]
}

async function linksOf({ storage, account }: Awaited<ReturnType<typeof place>>) {
  const { rows } = await listLinks(storage, account, { ...firstPage, direction: 'desc' })
  return rows.map(({ alias }) => alias)
}

test('hides the domain and its links immediately, even from changes, and restores every column', async (t) => {
  const all = await place(t)
  const { storage, other, account, domain, link, click } = all
  const sale = await link('sale')
  await link('winter')
  await link('stays', await newDomain(storage, account, 'second.acme.com'))
  await click(1, sale)
  const before = await stateOf(storage)
  const domainBefore = await domainRecords.find(storage, account, domain)
  assert.equal(await removeDomainWithUndo(storage, account, domain, now), true)
  assert.equal(await domainRecords.find(other, account, domain), undefined)
  assert.equal(await findLink(other, account, sale), undefined)
  assert.deepEqual(await linksOf(all), ['stays'])
  assert.equal(await removeDomainWithUndo(storage, account, domain, now), false)
  await assert.rejects(link('new'), { code: 'validation_failed' })
  assert.equal(await removeLink(storage, account, sale, null), false)
  await assert.rejects(removeLinkWithUndo(storage, account, sale, { id: 1, at: now }), { code: 'not_found' })
  assert.equal((await findRemovedDomain(other, account, domain, now))?.name_unicode, 'go.acme.com')
  assert.deepEqual(await restoreDomain(other, account, domain, now + minuteMs - 1), domainBefore)
  assert.deepEqual(await stateOf(storage), before)
  assert.deepEqual(await linksOf(all), ['stays', 'winter', 'sale'])
})

test('nodes that sweep, stop or restart do not remove it for a minute; afterwards they remove it with its links', async (t) => {
  const { storage, other, account, domain, link, sweep } = await place(t)
  await link('sale')
  await removeDomainWithUndo(storage, account, domain, now)
  await sweep(now + minuteMs - 1)
  for (const db of [storage, other]) await finishRemoval(db, domainRemoval, domain)
  assert.equal((await storage.execute(tables.links)).length, 1)
  assert.ok(await restoreDomain(storage, account, domain, now))
  await removeDomainWithUndo(storage, account, domain, now)
  assert.equal(await findRemovedDomain(storage, account, domain, now + minuteMs), undefined)
  assert.equal(await restoreDomain(storage, account, domain, now + minuteMs), undefined)
  await sweep(now + minuteMs)
  for (const table of [tables.links, tables.domains, tables.deleted]) {
    assert.deepEqual(await storage.execute<object>(table), [])
  }
  assert.equal(await restoreDomain(storage, account, domain, now), undefined)
})

test('throws name_taken while any account has its name, and restores it afterwards, only for its account', async (t) => {
  const { storage, account, domain, link } = await place(t)
  const { id: stranger } = await createAccount(storage, 'Other')
  const sale = await link('sale')
  for (const owner of [stranger, account]) {
    assert.equal(await removeDomainWithUndo(storage, stranger, domain, now), false)
    await removeDomainWithUndo(storage, account, domain, now)
    assert.equal(await findRemovedDomain(storage, stranger, domain, now), undefined)
    assert.equal(await restoreDomain(storage, stranger, domain, now), undefined)
    const same = await newDomain(storage, owner, 'go.acme.com')
    const before = await stateOf(storage)
    await assert.rejects(restoreDomain(storage, account, domain, now), { code: 'name_taken' })
    assert.deepEqual(await stateOf(storage), before)
    assert.equal((await domainRecords.find(storage, owner, same))?.record.name, 'go.acme.com')
    await domainRecords.remove(storage, owner, same, null)
    assert.equal((await restoreDomain(storage, account, domain, now))?.record.name, 'go.acme.com')
    assert.equal((await findLink(storage, account, sale))?.record.alias, 'sale')
  }
})

test('counts clicks that arrive meanwhile, and their totals equal the days', async (t) => {
  const { storage, account, domain, link, click } = await place(t)
  const sale = await link('sale')
  await click(1, sale)
  await removeDomainWithUndo(storage, account, domain, now)
  await click(2, sale)
  await restoreDomain(storage, account, domain, now)
  await click(3, sale)
  assert.equal((await findLink(storage, account, sale))?.record.clicks, 3)
  for (const { facts } of await keptDays(storage)) {
    assert.deepEqual(
      [...facts.hours.values()].map(({ people }) => people),
      [3],
    )
  }
})

test('a link that was deleted just before can be restored after its domain', async (t) => {
  const { storage, account, domain, link } = await place(t)
  const sale = await link('sale')
  await removeLinkWithUndo(storage, account, sale, { id: 1, at: now })
  await removeDomainWithUndo(storage, account, domain, now)
  assert.equal(await restoreLink(storage, account, sale, now), undefined)
  await restoreDomain(storage, account, domain, now)
  assert.equal((await restoreLink(storage, account, sale, now))?.record.alias, 'sale')
})

test('a deletion by the API cannot be undone', async (t) => {
  const { storage, account, domain, link } = await place(t)
  await link('sale')
  await beginDomainRemoval(storage, account, domain, null)
  assert.equal(await restoreDomain(storage, account, domain, now), undefined)
  await finishRemoval(storage, domainRemoval, domain)
  assert.deepEqual(await storage.execute(tables.links), [])
})

test('concurrent restores and the end of the minute leave the whole domain or nothing', async (t) => {
  const { storage, other, account, domain, link, sweep } = await place(t)
  for (let round = 0; round < 5; round++) {
    const count = 5
    for (let n = 0; n < count; n++) await link(`n${n}`)
    await removeDomainWithUndo(storage, account, domain, now)
    const [one, two] = await Promise.all([
      restoreDomain(storage, account, domain, now),
      restoreDomain(other, account, domain, now),
      sweep(now + minuteMs),
    ])
    const left = (await storage.execute(tables.links)).length
    assert.equal(left, one === undefined && two === undefined ? 0 : count)
    if (left === 0) return
    await storage.execute(query.deleteFrom('links').where('domain_id', '=', domain))
  }
})
