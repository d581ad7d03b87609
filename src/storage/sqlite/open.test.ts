import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { StartupFailure } from '../../errors.ts'
import { openSqlite } from './open.ts'

/** Another connection to a database file, which may do what another process may. */
function openOther(t: TestContext): { path: string; other: DatabaseSync } {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  const path = join(folder, 'test.db')
  const other = new DatabaseSync(path)
  t.after(() => {
    if (other.isOpen) other.close()
    rmSync(folder, { recursive: true })
  })
  return { path, other }
}

test('a lock for which SQLite itself does not wait is awaited', async (t) => {
  const { path, other } = openOther(t)
  // Before its first commit the file is in another journal mode, which cannot be changed while somebody writes.
  other.exec('begin; create table half (id)')
  const opening = openSqlite(path)
  await wait(30)
  other.exec('rollback')
  await (await opening).close()
})

test('a lock that is never released is said in one sentence', async (t) => {
  const { path, other } = openOther(t)
  await (await openSqlite(path)).close()
  other.exec('pragma locking_mode = exclusive; begin exclusive; commit')
  await assert.rejects(openSqlite(path, 100), (error: unknown) => {
    assert.ok(error instanceof StartupFailure)
    assert.match(error.message, /^The database \S+ is in use by another process that does not let go of it\./)
    return true
  })
})
