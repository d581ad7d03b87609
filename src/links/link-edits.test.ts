/** Edits of links that can be undone for a minute, and only by their account. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keptDays, newClick, openClicks } from '../../test/clicks.ts'
import { newDomain, newSpace, plainLink, twoNodes } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { peopleOf } from '../analytics/day.ts'
import { moveSomeClicks } from '../analytics/maintenance.ts'
import { createSemaphores } from '../app/semaphores.ts'
import { removeDomainWithUndo } from '../domains/deleted-domains.ts'
import { removeSpace } from '../spaces/store.ts'
import { finishRemovals } from '../storage/removal.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { deleteExpired, newEdit } from '../storage/undo.ts'
import { tagActions } from '../tags/actions.ts'
import { changeTag, findTagByName, tagRemoval } from '../tags/store.ts'
import { isUndoable, undoEdit } from './link-edits.ts'
import type { LinkRow, LinkValues } from './schema.ts'
import { findLink, insertLink } from './store.ts'
import { UndoableLinkActions } from './undoable-actions.ts'

const minuteMs = 60_000
const edits = query.selectFrom('link_edits').selectAll()

async function place(t: TestContext) {
  const nodes = await twoNodes((work) => t.after(work))
  const { storage, account, domain } = nodes
  const spaces = [await newSpace(storage, account, 'Red'), await newSpace(storage, account, 'Blue')] as const
  const shortUrl = (name: string, alias: string) => `http://${name}/${alias}`
  const actions = new UndoableLinkActions(storage, {
    shortUrl,
    urlSchemes: [],
    hashes: createSemaphores().hashes,
    onChange: () => undefined,
    flush: async () => undefined,
  })
  const link = (alias: string, values: Partial<LinkValues> = {}) =>
    insertLink(storage, account, { id: domain, name: 'go.acme.com' }, { ...plainLink, ...values, alias })
  const change = async (id: number, fields: Record<string, unknown>) =>
    (await actions.changeWithUndo(account, id, fields, null)).edit ?? assert.fail('nothing was changed')
  return { ...nodes, spaces, actions, link, change }
}

/** Returns the fields that a user sets. */
function valuesOf({ updated_at: _, ...values }: LinkRow): unknown {
  return values
}

test('restores all values in a new version, once, and on every node', async (t) => {
  const { storage, other, account, spaces, link, change } = await place(t)
  const [red, blue] = spaces
  const before = await link('Sale', { space_id: red, title: 'Straße', clicks_limit: 9, redirect_password: 'a hash' })
  const { id } = before.record
  const edit = await change(id, {
    ...{ url: 'https://acme.com/other', alias: 'other', title: '', space_id: String(blue), disabled: 'true' },
    ...{ active_period_start_at: '2026-01-01T00:00:00Z', active_period_end_at: '2026-02-01T00:00:00Z' },
    ...{ clicks_limit: '', expiration_url: 'https://acme.com/over', redirect_password: 'another' },
    ...{ forward_query: 'true', redirect_status: '301' },
  })
  assert.notDeepEqual((await findLink(storage, account, id))?.record.url, before.record.url)
  const undone = await Promise.all([storage, other].map((db) => undoEdit(db, account, edit, id, Date.now())))
  const [back, ...others] = undone.filter((each) => each !== undefined)
  assert.ok(back?.record)
  assert.deepEqual(others, [])
  assert.deepEqual(valuesOf(back.record), valuesOf(before.record))
  assert.notEqual(back.version, before.version)
  assert.deepEqual(await findLink(storage, account, id), back)
  assert.equal(await isUndoable(storage, account, edit, Date.now()), false)
})

test('restores tags that have been renamed since', async (t) => {
  const { storage, account, link, change } = await place(t)
  const { id } = (await link('sale', { tags: ['Before', 'Kept'] })).record
  const edit = await change(id, { tags: 'Kept' })
  const tag = (await findTagByName(storage, account, 'before')) ?? assert.fail()
  await changeTag(storage, account, tag.id, { name: 'After' }, null)
  assert.equal((await undoEdit(storage, account, edit, id, Date.now()))?.record?.tags, 'After,Kept')

  // An edit is undone without the tags that it has not changed, even if they are merged by then.
  const adding = await change(id, { tags: 'After,Kept,More' })
  const kept = (await findTagByName(storage, account, 'kept')) ?? assert.fail()
  await link('other', { tags: ['Other'] })
  const other = (await findTagByName(storage, account, 'other')) ?? assert.fail()
  const tags = tagActions(storage, { run: (removal) => removal(() => false) })
  await tags.merge(systemActor(account), kept.id, { into: other.id }, null)
  assert.equal((await undoEdit(storage, account, adding, id, Date.now()))?.record?.tags, 'After,Other')
})

test('restores tags as the tags that they were merged into since, even after the merges are finished', async (t) => {
  const { storage, account, actions, link, change } = await place(t)
  const tags = tagActions(storage, { run: (removal) => removal(() => false) })
  const idOf = async (name: string) => (await findTagByName(storage, account, name))?.id ?? assert.fail()
  const { id } = (await link('sale', { tags: ['First', 'Second', 'Kept'] })).record
  const deleted = (await link('deleted', { tags: ['First', 'Third'] })).record.id
  const edit = await change(id, { tags: 'Kept,Third' })
  await actions.removeWithUndo(account, deleted)
  await tags.merge(systemActor(account), await idOf('first'), { into: await idOf('second') }, null)
  await tags.merge(systemActor(account), await idOf('second'), { into: await idOf('third') }, null)
  assert.equal((await undoEdit(storage, account, edit, id, Date.now()))?.record?.tags, 'Kept,Third')
  assert.equal((await actions.restore(account, deleted))?.record.tags, 'Third')

  const merged = query.updateTable('tags').where('account_id', '=', 0)
  await storage.execute(merged.set({ updated_at: new Date(Date.now() - minuteMs).toISOString() }))
  await finishRemovals(storage, tagRemoval)
  assert.deepEqual(await storage.execute(query.selectFrom('tags').select('name').where('account_id', '=', 0)), [])
})

test('an edit is stored only if it changes something in the dashboard, for a minute and for its account', async (t) => {
  const { storage, account, actions, link, change } = await place(t)
  const { id, url } = (await link('sale')).record
  assert.equal((await actions.changeWithUndo(account, id, { url }, null)).edit, null)
  await actions.change(account, id, { title: 'By the API' }, null)
  assert.deepEqual(await storage.execute(edits), [])
  const edit = await change(id, { title: 'Sale' })
  const [stored] = await storage.execute(edits)
  const editedAt = Date.parse(stored?.edited_at ?? '')
  const undo = (at: number, of = account) => undoEdit(storage, of, edit, id, at)
  assert.equal(await isUndoable(storage, account + 1, edit, editedAt), false)
  assert.equal(await undo(editedAt, account + 1), undefined)
  assert.equal(await isUndoable(storage, account, edit, editedAt + minuteMs - 1), true)
  assert.equal(await undo(editedAt + minuteMs), undefined)
  assert.equal((await findLink(storage, account, id))?.record.title, 'Sale')
  await deleteExpired(storage, 'link_edits', editedAt + minuteMs - 1)
  assert.equal((await undo(editedAt + minuteMs - 1))?.record?.title, 'By the API')
  await change(id, { title: 'Sale' })
  const [again] = await storage.execute(edits)
  await deleteExpired(storage, 'link_edits', Date.parse(again?.edited_at ?? '') + minuteMs)
  assert.deepEqual(await storage.execute(edits), [])
})

test('changes nothing if the link was changed or deleted, or its alias or space is gone', async (t) => {
  const { storage, account, spaces, actions, link, change } = await place(t)
  const [red] = spaces
  const { id } = (await link('sale', { space_id: red })).record
  const undo = (edit: number) => undoEdit(storage, account, edit, id, Date.now())
  const first = await change(id, { title: 'First' })
  const second = await change(id, { title: 'Second' })
  await assert.rejects(undo(first), { code: 'precondition_failed' })
  assert.equal((await findLink(storage, account, id))?.record.title, 'Second')
  assert.equal((await undo(second))?.record?.title, 'First')

  const renamed = await change(id, { alias: 'renamed' })
  await link('SALE')
  await assert.rejects(undo(renamed), { code: 'alias_taken' })
  const moved = await change(id, { space_id: '', title: 'Moved' })
  await removeSpace(storage, account, red, null)
  await assert.rejects(undo(moved), { code: 'validation_failed' })
  const now = (await findLink(storage, account, id))?.record
  assert.deepEqual([now?.alias, now?.space_id, now?.title], ['renamed', null, 'Moved'])
  await actions.remove(account, id, null)
  assert.equal(await undo(moved), undefined)
})

test('clicks follow a link to another space and back, and totals stay exact', async (t) => {
  const { storage, account, spaces, link, change } = await place(t)
  const [red, blue] = spaces
  const { store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  const { id } = (await link('sale', { space_id: red })).record
  const click = (batch: number) => {
    const at = { atMs: 100 * 86_400_000, count: 1, class: 'person', facts: null } as const
    return store.write(batch, [{ ...at, link: id, visitorUnder: () => batch }])
  }
  await click(1)
  const edit = await change(id, { space_id: String(blue) })
  await maintenance.moveClicks()
  await click(2)
  await undoEdit(storage, account, edit, id, Date.now())
  await click(3)
  await maintenance.moveClicks()
  const ofSpaces = (await keptDays(storage)).filter(({ level }) => level === clickLevels.space)
  assert.deepEqual(
    ofSpaces.map((day) => [day.id, [...day.facts.hours.values()].map(({ people }) => people)]),
    [[red, [3]]],
  )
  assert.equal((await findLink(storage, account, id))?.record.clicks, 3)
})

test('a link moves to another domain of its account with its clicks, and back', async (t) => {
  const { storage, account, domain, actions, link } = await place(t)
  const { database, store, maintenance } = await openClicks(storage.location, (work) => t.after(work))
  const other = await newDomain(storage, account, 'other.acme.com')
  const { id } = (await link('sale')).record
  const move = async (to: number) => (await actions.moveToDomainWithUndo(account, id, to, newEdit())).edit
  const clicksOn = async () => {
    const days = (await keptDays(storage)).filter(({ level }) => level === clickLevels.domain)
    return days.map((day) => [day.id, peopleOf(day.facts)])
  }
  await store.write(1, [newClick(id, 100 * 86_400_000)])
  const edit = await move(other)
  assert.ok(edit !== null)
  assert.equal(await move(other), null)
  // Clicks stay together until they have moved.
  await store.write(2, [newClick(id, 100 * 86_400_000)])
  assert.deepEqual(await clicksOn(), [[domain, 2]])
  await database.write((tx) => moveSomeClicks(tx, id))
  assert.deepEqual(await clicksOn(), [[other, 2]])
  assert.equal((await undoEdit(storage, account, edit, id, Date.now()))?.record?.domain_id, domain)
  await maintenance.moveClicks()
  assert.deepEqual(await clicksOn(), [[domain, 2]])
})

test('a link stays on its domain if the alias is taken, it would loop, or the domain is not its account’s', async (t) => {
  const { storage, account, domain, actions, link } = await place(t)
  const other = await newDomain(storage, account, 'other.acme.com')
  const theirs = await newDomain(storage, (await createAccount(storage, 'Other')).id, 'theirs.acme.com')
  const { id } = (await link('sale', { url: 'http://gone.acme.com/SALE' })).record
  const move = (to: number, of = account) => actions.moveToDomainWithUndo(of, id, to, newEdit())
  await insertLink(storage, account, { id: other, name: 'other.acme.com' }, { ...plainLink, alias: 'Sale' })
  await assert.rejects(move(other), { code: 'alias_taken' })
  await assert.rejects(move(theirs), { code: 'validation_failed' })
  await assert.rejects(move(99_999), { code: 'validation_failed' })
  await assert.rejects(move(other, account + 1), { code: 'not_found' })
  const gone = await newDomain(storage, account, 'gone.acme.com')
  await assert.rejects(move(gone), { code: 'validation_failed' })
  await actions.change(account, id, { url: 'https://acme.com' }, null)
  const { edit } = await move(gone)
  await removeDomainWithUndo(storage, account, domain, Date.now())
  await assert.rejects(undoEdit(storage, account, edit ?? 0, id, Date.now()), { code: 'validation_failed' })
  assert.equal((await findLink(storage, account, id))?.record.domain_id, gone)
})
