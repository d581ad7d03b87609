import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openClicks } from '../../../test/clicks.ts'
import { newLink, twoNodes } from '../../../test/links.ts'
import { Folder, migrated, Records } from '../../../test/lists-model.ts'
import { openSqliteBatchWriter } from './batch-writer.ts'

test('leaves a deleted salt in no file, even if the log was being read', async (t) => {
  const { storage, ...own } = await twoNodes((work) => t.after(work), 'sqlite')
  const { location } = storage
  assert.ok(location.engine === 'sqlite')
  const link = await newLink(storage, own, 'sale')
  const { store, maintenance } = await openClicks(location, (work) => t.after(work))
  let salt: Buffer | undefined
  const visitorUnder = (bytes: Uint8Array) => {
    salt = Buffer.from(bytes)
    return 1
  }
  await store.write(1, [{ link, atMs: 0, count: 1, class: 'person', facts: null, visitorUnder }])
  const files = [location.path, `${location.path}-wal`]
  const holds = () => files.some((file) => salt !== undefined && readFileSync(file).includes(salt))
  assert.ok(holds())
  using reader = new DatabaseSync(location.path, { readOnly: true })
  reader.exec('begin; select * from click_salts')
  const forgotten = maintenance.run({ visitorsUntilMs: 0, daysBefore: 0, nowMs: 0 })
  await wait(50)
  reader.exec('commit')
  await forgotten
  assert.ok(!holds())
})

test('throws database_unavailable while others read the log, and truncates it later', async (t) => {
  const { storage } = await twoNodes((work) => t.after(work), 'sqlite')
  const { location } = storage
  assert.ok(location.engine === 'sqlite')
  using reader = new DatabaseSync(location.path, { readOnly: true })
  reader.exec('begin; select * from click_salts')
  const connection = openSqliteBatchWriter(location.path)
  t.after(() => connection.close())
  await assert.rejects(connection.scrub('click_salts'), { code: 'database_unavailable' })
  reader.exec('commit')
  await connection.scrub('click_salts')
})

test('indexes records before a batch if the search index lacks many', async (t) => {
  const folder = await migrated(new Folder())
  t.after(() => folder.remove())
  const records = new Records(folder)
  t.after(() => records.db.close())
  const pending = () => Number(records.db.prepare('select count(*) as size from search_changes').get()?.size)
  const store = (count: number) => {
    for (let n = 0; n < count; n++) records.insertAscii(1, `n${records.all.length}.example.com`)
  }
  const connection = openSqliteBatchWriter(folder.database, { storesRecords: true })
  t.after(() => connection.close())
  store(900)
  await connection.write(async () => undefined)
  assert.equal(pending(), 900)
  store(900)
  await connection.write(async () => undefined)
  assert.ok(pending() <= 1_000, String(pending()))
})

test('stores a batch even if the records to index can no longer be read', async (t) => {
  const folder = await migrated(new Folder())
  t.after(() => folder.remove())
  using database = new DatabaseSync(folder.database)
  database.exec('drop table search_changes')
  const connection = openSqliteBatchWriter(folder.database, { storesRecords: true })
  t.after(() => connection.close())
  assert.equal(await connection.write(async () => 'stored'), 'stored')
})

test('rejects a batch if it is closed while it indexes', async (t) => {
  const folder = await migrated(new Folder())
  t.after(() => folder.remove())
  const records = new Records(folder)
  t.after(() => records.db.close())
  for (let n = 0; n < 1_001; n++) records.insertAscii(1, `n${n}.example.com`)
  const connection = openSqliteBatchWriter(folder.database, { storesRecords: true })
  const batch = assert.rejects(
    connection.write(async () => undefined),
    { code: 'database_unavailable' },
  )
  await connection.close()
  await batch
})
