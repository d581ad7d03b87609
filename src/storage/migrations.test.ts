import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { createAccount, listAccounts } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import { migrateSqlite } from './sqlite/migrating.ts'
import { openSqlite } from './sqlite/open.ts'

function newPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'test.db')
}

function openFile(t: TestContext, path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  t.after(() => {
    if (database.isOpen) database.close()
  })
  return database
}

/** Without those of the migrator itself. */
function tablesOf(database: DatabaseSync): unknown[] {
  return database
    .prepare(`select name from sqlite_schema where tbl_name not like 'kysely_migration%' order by name`)
    .all()
}

const songs: Migration = { up: (db) => db.schema.createTable('songs').addColumn('id', 'integer').execute() }
const broken: Migration = {
  up: async (db) => {
    await db.schema.createTable('half').addColumn('id', 'integer').execute()
    await sql`insert into nowhere values (1)`.execute(db)
  },
}

const isStartupFailure = (message: RegExp) => (error: unknown) =>
  error instanceof StartupFailure && message.test(error.message)

test('migrations run once, in the order of their names, and what is there stays', async (t) => {
  const database = openFile(t, newPath(t))
  const order: string[] = []
  const noted = (name: string): Migration => ({ up: async () => void order.push(name) })
  await migrateSqlite(database, { '0001-songs': songs, '0002-next': noted('next') })
  database.exec('insert into songs values (7)')
  await migrateSqlite(database, { '0003-last': noted('last'), '0002-next': noted('next'), '0001-songs': songs })
  await migrateSqlite(database, { '0003-last': noted('last'), '0002-next': noted('next'), '0001-songs': songs })
  assert.deepEqual(order, ['next', 'last'])
  assert.equal(database.prepare('select id from songs').all()[0]?.id, 7)
})

test('a migration that fails leaves nothing, neither of itself nor of those before it', async (t) => {
  const database = openFile(t, newPath(t))
  await assert.rejects(
    migrateSqlite(database, { '0001-songs': songs, '0002-broken': broken }),
    isStartupFailure(
      /^The database could not be migrated at 0002-broken: no such table: nowhere\. Nothing was changed\.$/,
    ),
  )
  assert.deepEqual(tablesOf(database), [])
})

test('a migration that fills the disk leaves nothing, and the next start migrates', async (t) => {
  const path = newPath(t)
  const database = openFile(t, path)
  database.exec('pragma max_page_count = 10')
  const large: Migration = {
    up: async (db) => {
      await songs.up(db)
      await sql`insert into songs with recursive n(id) as (select 1 union all select id + 1 from n where id < 100000)
        select id from n`.execute(db)
    },
  }
  await assert.rejects(migrateSqlite(database, { '0001-large': large }), isStartupFailure(/disk is full/))
  assert.deepEqual(tablesOf(database), [])
  database.close()
  await (await openSqlite(path)).close()
})

test('a database that a newer version made is refused and left as it is', async (t) => {
  const database = openFile(t, newPath(t))
  await migrateSqlite(database, { '0001-songs': songs, '0002-later': { up: async () => undefined } })
  const before = tablesOf(database)
  await assert.rejects(
    migrateSqlite(database, { '0001-songs': songs }),
    isStartupFailure(/^The database was made by a newer version of Waymark\. /),
  )
  assert.deepEqual(tablesOf(database), before)
})

test('a database that is up to date opens while another process writes', async (t) => {
  const path = newPath(t)
  await (await openSqlite(path)).close()
  const writer = openFile(t, path)
  writer.exec('begin immediate')
  const storage = await openSqlite(path, 0)
  assert.deepEqual(await listAccounts(storage), [])
  await storage.close()
})

test('a database that another process locks whole is reported as in use', async (t) => {
  const path = newPath(t)
  const other = openFile(t, path)
  other.exec('create table songs (id); begin exclusive')
  await assert.rejects(openSqlite(path, 50), isStartupFailure(/^The database \S+ is in use by another process/))
})

test('a path that SQLite cannot open is refused in one sentence', async () => {
  await assert.rejects(
    openSqlite(`${tmpdir()}/${'x'.repeat(300)}`),
    isStartupFailure(/^The database \S+ cannot be opened: /),
  )
})

test('processes that start at once on a new database migrate it once', async (t) => {
  for (let round = 0; round < 4; round++) {
    const path = newPath(t)
    const ends = await Promise.all([opened(path), opened(path), opened(path)])
    assert.deepEqual(ends, ['', '', ''])
    const storage = await openSqlite(path)
    assert.equal((await createAccount(storage, 'Acme')).id, 1)
    await storage.close()
  }
})

/** Opens the database in another process; returns what that process wrote to stderr. */
async function opened(path: string): Promise<string> {
  const script = `
    import { openSqlite } from ${JSON.stringify(new URL('./sqlite/open.ts', import.meta.url).href)}
    const storage = await openSqlite(process.argv[1])
    await storage.close()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => {
    complaint += text
  })
  await once(child, 'close')
  return complaint
}
