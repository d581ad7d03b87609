/** Clicks that are added to links, on both engines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clicksOf, newLink, twoNodes } from '../../test/links.ts'
import type { Storage } from './port.ts'

const noon = Date.parse('2026-11-22T12:00:00.000Z')
const at = (minutes: number) => noon + minutes * 60_000

async function countsOf(storage: Storage, id: number) {
  const [row] = await storage.all(clicksOf, { id })
  return { ...row }
}

test('clicks add up, and the last one is the latest, in whatever order they come', async (t) => {
  const { storage, other, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale')
  assert.equal(await storage.addClicks([{ id, clicks: 2, lastClickedAt: at(5) }]), true)
  assert.equal(await other.addClicks([{ id, clicks: 3, lastClickedAt: at(1) }]), true)
  assert.deepEqual(await countsOf(storage, id), { clicks: 5, last_clicked_ms: at(5), status_due_at: null })
})

test('links that are gone are left out', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale')
  const batch = [id, id + 1, id + 2].map((each) => ({ id: each, clicks: 1, lastClickedAt: at(0) }))
  assert.equal(await storage.addClicks(batch), true)
  assert.equal((await countsOf(storage, id)).clicks, 1)
})

test('a limit that is reached makes the status due, once', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale', 3)
  await storage.addClicks([{ id, clicks: 2, lastClickedAt: at(0) }])
  assert.equal((await countsOf(storage, id)).status_due_at, null)
  await storage.addClicks([{ id, clicks: 2, lastClickedAt: at(0) }])
  assert.deepEqual(await countsOf(storage, id), { clicks: 4, last_clicked_ms: at(0), status_due_at: '' })
})

test('many nodes that add to the same links at the same time lose nothing', async (t) => {
  const { storage, other, ...own } = await twoNodes((work) => t.after(work))
  const ids: number[] = []
  for (let n = 0; n < 50; n++) ids.push(await newLink(storage, own, `link-${n}`))
  const batch = ids.map((id) => ({ id, clicks: 1, lastClickedAt: at(0) }))
  const kept = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? storage : other).addClicks(batch)))
  assert.ok(kept.every((isKept) => isKept))
  for (const id of ids) assert.equal((await countsOf(storage, id)).clicks, 20)
})

test('database_unavailable once the storage is closed', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work))
  const id = await newLink(storage, own, 'sale')
  const batch = [{ id, clicks: 1, lastClickedAt: at(0) }]
  const last = storage.addClicks(batch)
  await storage.close()
  assert.equal(await last, true)
  await assert.rejects(storage.addClicks(batch), { code: 'database_unavailable' })
})
