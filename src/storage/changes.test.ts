/** The log of changes, on both engines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptTotals, openClicks } from '../../test/clicks.ts'
import {
  countChanges,
  deleteLink,
  fillChanges,
  newDomain,
  newLink,
  setAlias,
  setUrl,
  takeDomainAway,
  twoNodes,
} from '../../test/links.ts'
import { keptChanges, maxChanges } from './changes.ts'
import type { Change, ChangePosition, Storage } from './port.ts'

/** Returns a function that reads the changes since its last call. */
async function follow(storage: Storage) {
  let { position } = await storage.changesAfter(null)
  return async () => {
    const { changes, ...now } = await storage.changesAfter(position)
    position = now.position
    return changes
  }
}

const link = (id: number): Change => ({ resource: 'links', id })
const domainOf = (id: number): Change => ({ resource: 'domains', id })

test('returns each change of a link that visitors can notice once, on every node', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, { account, domain }, 'sale')
  const news = await follow(other)
  assert.deepEqual(await news(), [])
  for (const change of [
    () => storage.execute(setUrl({ id, url: 'https://acme.com/new' })),
    () => setAlias(storage, id, 'autumn'),
    () => storage.execute(deleteLink({ id })),
  ]) {
    await change()
    assert.deepEqual(await news(), [link(id)])
    assert.deepEqual(await news(), [])
  }
})

test('leaves out stored links and clicks', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work))
  const news = await follow(other)
  const id = await newLink(storage, { account, domain }, 'sale')
  const { store } = await openClicks(storage.location, (work) => t.after(work))
  await store.write(1, [{ link: id, atMs: 0, count: 3, class: 'person', facts: null, visitorUnder: null }])
  assert.equal((await keptTotals(other))[0]?.clicks, 3)
  assert.deepEqual(await news(), [])
})

test('returns stored and removed domains, and leaves out the links of removed domains', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, { account, domain }, 'sale')
  const news = await follow(other)
  const stored = await newDomain(storage, account, 'go.acme.net')
  assert.deepEqual(await news(), [domainOf(stored)])
  await storage.execute(takeDomainAway({ id: domain, name: 'removed:1' }))
  assert.deepEqual(await news(), [domainOf(domain)])
  await storage.execute(deleteLink({ id }))
  assert.deepEqual(await news(), [])
})

test('leaves out the changes of open and failed transactions', async (t) => {
  const { storage, other, account, domain } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, { account, domain }, 'sale')
  const news = await follow(other)
  const failed = storage.write(async (db) => {
    await db.execute(setUrl({ id, url: 'https://acme.com/never' }))
    assert.deepEqual(await news(), [])
    throw new Error('No.')
  })
  await assert.rejects(failed, /No/)
  assert.deepEqual(await news(), [])
})

test('returns unknown for too many changes', async (t) => {
  const { storage, other } = await twoNodes((work) => t.after(work))
  const news = await follow(other)
  await storage.execute(fillChanges(maxChanges))
  assert.equal((await news()).length, maxChanges)
  await storage.execute(fillChanges(maxChanges + 1))
  assert.equal(await news(), 'unknown')
  assert.deepEqual(await news(), [])
})

test('returns unknown for a position that is ahead of a restored database, or of another database', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work))
  const { position } = await storage.changesAfter(null)
  const ahead: ChangePosition = { ...position, seq: position.seq + 1 }
  assert.equal((await storage.changesAfter(ahead)).changes, 'unknown')
  assert.equal((await storage.changesAfter({ ...position, database: 'another' })).changes, 'unknown')
})

test('prunes all changes before a position except the newest', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work))
  const count = async () => Number((await storage.execute(countChanges()))[0]?.changes)
  const { position: early } = await storage.changesAfter(null)
  await storage.execute(fillChanges(keptChanges + 1_000))
  const before = await count()
  await storage.pruneChanges(early)
  assert.ok((await count()) >= before - early.seq)
  const { position: late } = await storage.changesAfter(null)
  await storage.pruneChanges(late)
  assert.equal(await count(), keptChanges)
  await storage.pruneChanges(late)
  assert.equal(await count(), keptChanges)
  assert.equal((await storage.changesAfter(early)).changes, 'unknown')
  assert.deepEqual((await storage.changesAfter(late)).changes, [])
})
