/** Migrations on both engines. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { runHere } from '../../test/command-line.ts'
import { execute } from '../../test/postgres.ts'
import { newDatabase } from '../../test/postgres-database.ts'
import { newFolder, waymark } from '../../test/processes.ts'
import { createAccount } from '../accounts/store.ts'
import { StartupFailure } from '../errors.ts'
import type { Migrations } from './migrate.ts'
import { openStorage } from './open.ts'
import { atDatabase, migratePostgres } from './postgres/open.ts'
import { migrateSqlite } from './sqlite/open.ts'

/** An empty database. */
interface Empty {
  readonly url: string
  migrate(migrations: Migrations): Promise<void>
  query(text: string): Promise<unknown[]>
  /** Returns the tables, except the migrator's. */
  tables(): Promise<unknown[]>
}

function onSqlite(t: TestContext): Empty {
  const path = join(newFolder(t), 'test.db')
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  const query = async (text: string) => database.prepare(text).all()
  return {
    url: `sqlite:${path}`,
    migrate: (migrations) => migrateSqlite(database, migrations),
    query,
    tables: () => query(`select name from sqlite_schema where tbl_name not like 'kysely_migration%'`),
  }
}

async function onPostgres(t: TestContext): Promise<Empty> {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  return {
    url,
    migrate: (migrations) => atDatabase(url, (db, schema) => migratePostgres(db, migrations, schema)),
    query: (text) => execute(url, text),
    tables: () =>
      execute(
        url,
        `select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely_migration%'`,
      ),
  }
}

const songs: Migration = { up: (db) => db.schema.createTable('songs').addColumn('id', 'integer').execute() }
/** Creates a table by which Waymark recognizes its databases. */
const instance: Migration = {
  up: (db) => db.schema.createTable('instance').addColumn('database_id', 'text').execute(),
}
const broken: Migration = {
  up: async (db: Kysely<never>) => {
    await db.schema.createTable('half').addColumn('id', 'integer').execute()
    await sql`insert into nowhere values (1)`.execute(db)
  },
}

const isStartupFailure = (message: RegExp) => (error: unknown) =>
  error instanceof StartupFailure && message.test(error.message)

for (const open of [onSqlite, onPostgres]) {
  test(`runs each migration once, in the order of names, and keeps records: ${open.name}`, async (t) => {
    const database = await open(t)
    const order: string[] = []
    const logging = (name: string): Migration => ({ up: async () => void order.push(name) })
    await database.migrate({ '0001-songs': songs, '0002-next': logging('next') })
    await database.query('insert into songs values (7)')
    const all = { '0003-last': logging('last'), '0002-next': logging('next'), '0001-songs': songs }
    await database.migrate(all)
    await database.migrate(all)
    assert.deepEqual(order, ['next', 'last'])
    assert.deepEqual(
      await database.query('select id from songs').then((rows) => rows.map((row) => ({ ...Object(row) }))),
      [{ id: 7 }],
    )
  })

  test(`changes nothing if a migration fails, not even by earlier ones: ${open.name}`, async (t) => {
    const database = await open(t)
    const message = /^Can't migrate the database at 0002-broken: .*nowhere.*\. Nothing was changed\.$/
    await assert.rejects(database.migrate({ '0001-songs': songs, '0002-broken': broken }), isStartupFailure(message))
    assert.deepEqual(await database.tables(), [])
  })

  test(`rejects a database of a newer version, and does not change it: ${open.name}`, async (t) => {
    const database = await open(t)
    await database.migrate({ '0001-songs': songs, '0002-later': { up: async () => undefined } })
    const before = await database.tables()
    const message = /^The database was created by a newer version of Waymark\. /
    await assert.rejects(database.migrate({ '0001-songs': songs }), isStartupFailure(message))
    assert.deepEqual(await database.tables(), before)
  })

  // Both engines reject all names for the same reason.
  const firsts = ['0001-first', '0001-schema', '0001-tables', '0001-initial', '0001-base']
  for (const first of open === onSqlite ? firsts : firsts.slice(0, 1)) {
    test(`rejects a database that begins with ${first}, and does not change it: ${open.name}`, async (t) => {
      const database = await open(t)
      await database.migrate({ [first]: instance, '0002-next': { up: async () => undefined } })
      const contents = async () => [await database.tables(), await database.query('select * from kysely_migration')]
      const before = await contents()
      const variables = { DATABASE_URL: database.url }
      // A process takes a second of CPU time.
      const starts = [
        await runHere(['migrate', '--status'], { variables }),
        ...(first === '0001-first' && open === onSqlite ? [await waymark(t, ['start'], variables)] : []),
      ]
      for (const { code, stdout, stderr } of starts) {
        assert.deepEqual([code, stdout], [1, ''])
        assert.match(stderr, /^The database was created by a development version of Waymark\. Nothing was changed\. /)
        assert.match(stderr, /"npx waymark export FILE".+"npx waymark import FILE"\.\n$/)
      }
      assert.deepEqual(await contents(), before)
    })
  }

  test(`migrates a new database once if processes start together: ${open.name}`, async (t) => {
    const { url } = await open(t)
    const starts = Array.from({ length: 3 }, () => waymark(t, ['migrate', '--json'], { DATABASE_URL: url }))
    for (const { code, stdout, stderr } of await Promise.all(starts)) {
      assert.deepEqual([code, stderr], [0, ''])
      assert.equal(JSON.parse(stdout)[0].status, 'applied')
    }
    const isSqlite = url.startsWith('sqlite:')
    const storage = await openStorage(
      isSqlite ? { engine: 'sqlite', path: url.slice('sqlite:'.length) } : { engine: 'postgres', url, pool: 1 },
    )
    assert.equal((await createAccount(storage, 'Acme')).id, 1)
    await storage.close()
  })
}
