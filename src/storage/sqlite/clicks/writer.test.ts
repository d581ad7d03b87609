import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { newLocation } from '../../../../test/engine.ts'
import { openSqlite } from '../open.ts'
import { ClickWriter } from './writer.ts'

const batch = [{ id: 1, clicks: 1, lastClickedAt: 0 }]

async function open(t: TestContext) {
  const location = await newLocation((work) => t.after(work), 'sqlite')
  assert.ok(location.engine === 'sqlite')
  const storage = await openSqlite(location.path)
  t.after(() => storage.close())
  const writer = new ClickWriter(location.path)
  t.after(() => writer.close())
  return { writer, storage, path: location.path }
}

function execute(path: string, sql: string): void {
  using database = new DatabaseSync(path)
  database.exec(sql)
}

test('database_unavailable for a batch that fails; the next one is tried', async (t) => {
  const { writer, path } = await open(t)
  assert.equal(await writer.add(batch), true)
  execute(path, 'alter table links rename to others')
  await assert.rejects(writer.add(batch), { code: 'database_unavailable' })
  execute(path, 'alter table others rename to links')
  assert.equal(await writer.add(batch), true)
})

test('false for a batch whose thread dies, which is not started again within a second', async (t) => {
  const { writer, path } = await open(t)
  execute(path, 'alter table links rename to others')
  assert.equal(await writer.add(batch), false)
  await assert.rejects(writer.add(batch), { code: 'database_unavailable' })
  execute(path, 'alter table others rename to links')
  t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER)
  assert.equal(await writer.add(batch), true)
})

test('the storage writes while clicks are written, and clicks while the storage writes', async (t) => {
  const { writer, storage } = await open(t)
  const { position } = await storage.changesAfter(null)
  const writes: Promise<unknown>[] = []
  for (let n = 0; n < 20; n++) writes.push(writer.add(batch), storage.pruneChanges(position), storage.addClicks(batch))
  await Promise.all(writes)
})
