import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { newFolder } from '../../../test/processes.ts'
import { listAccounts } from '../../accounts/store.ts'
import { StartupFailure } from '../../errors.ts'
import { migrateSqlite, openSqlite } from './open.ts'

/** Opens a connection like that of another process. */
function openOther(t: TestContext): { path: string; other: DatabaseSync } {
  const path = join(newFolder(t), 'test.db')
  const other = new DatabaseSync(path)
  t.after(() => {
    if (other.isOpen) other.close()
  })
  return { path, other }
}

const isStartupFailure = (message: RegExp) => (error: unknown) =>
  error instanceof StartupFailure && message.test(error.message)

test('waits for a lock for which SQLite itself does not wait', async (t) => {
  const { path, other } = openOther(t)
  // Before its first commit, the file is in another journal mode, which cannot be changed during a write.
  other.exec('begin; create table half (id)')
  const opening = openSqlite(path)
  await wait(30)
  other.exec('rollback')
  await (await opening).close()
})

test('names the problem when a lock is never released', async (t) => {
  const { path, other } = openOther(t)
  await (await openSqlite(path)).close()
  other.exec('pragma locking_mode = exclusive; begin exclusive; commit')
  const message = /^The database \S+ is locked by another process\. /
  await assert.rejects(openSqlite(path, 100), isStartupFailure(message))
})

test('opens a migrated database while another process writes', async (t) => {
  const { path, other } = openOther(t)
  await (await openSqlite(path)).close()
  other.exec('begin immediate')
  const storage = await openSqlite(path, 0)
  assert.deepEqual(await listAccounts(storage), [])
  await storage.close()
})

test('changes nothing if a migration fills the disk, and migrates at the next start', async (t) => {
  const { path, other } = openOther(t)
  other.exec('pragma max_page_count = 10')
  const large = `create table songs as
    with recursive n(id) as (select 1 union all select id + 1 from n where id < 100000) select id from n`
  await assert.rejects(migrateSqlite(other, { '0001-large': [large] }), isStartupFailure(/disk is full/))
  assert.deepEqual(other.prepare('select name from sqlite_schema').all(), [])
  other.close()
  await (await openSqlite(path)).close()
})

test('names a path that SQLite cannot open', async () => {
  const path = `/tmp/${'x'.repeat(300)}`
  await assert.rejects(openSqlite(path), isStartupFailure(/^Can't open the database \S+: /))
})
