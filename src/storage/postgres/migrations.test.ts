import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { waymark } from '../../../test/processes.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { StartupFailure } from '../../errors.ts'
import type { Migrations } from '../migrate.ts'
import { atDatabase, faultOf, migratePostgres, openPostgres } from './open.ts'

async function emptyDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  return url
}

function migrateTo(url: string, migrations: Migrations): Promise<void> {
  return atDatabase(url, (db, schema) => migratePostgres(db, migrations, schema))
}

/** Without those of the migrator itself. */
function tablesOf(url: string): Promise<unknown[]> {
  return execute(
    url,
    `select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely_migration%' order by 1`,
  )
}

const songs: Migration = { up: (db) => db.schema.createTable('songs').addColumn('id', 'integer').execute() }
const broken: Migration = {
  up: async (db: Kysely<never>) => {
    await db.schema.createTable('half').addColumn('id', 'integer').execute()
    await sql`insert into nowhere values (1)`.execute(db)
  },
}

const isStartupFailure = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartupFailure)
  assert.match(error.message, message)
  return true
}

test('migrations run once, in the order of their names, and what is there stays', async (t) => {
  const url = await emptyDatabase(t)
  const order: string[] = []
  const noted = (name: string): Migration => ({ up: async () => void order.push(name) })
  await migrateTo(url, { '0001-songs': songs, '0002-next': noted('next') })
  await execute(url, 'insert into songs values (7)')
  const all = { '0003-last': noted('last'), '0002-next': noted('next'), '0001-songs': songs }
  await migrateTo(url, all)
  await migrateTo(url, all)
  assert.deepEqual(order, ['next', 'last'])
  assert.deepEqual(await execute(url, 'select id from songs'), [{ id: 7 }])
})

test('a migration that fails leaves nothing, neither of itself nor of those before it', async (t) => {
  const url = await emptyDatabase(t)
  await assert.rejects(
    migrateTo(url, { '0001-songs': songs, '0002-broken': broken }),
    isStartupFailure(
      /^The database could not be migrated at 0002-broken: relation "nowhere" does not exist\. Nothing was changed\.$/,
    ),
  )
  assert.deepEqual(await tablesOf(url), [])
})

test('a database that a newer version made is refused and left as it is', async (t) => {
  const url = await emptyDatabase(t)
  await migrateTo(url, { '0001-songs': songs, '0002-later': { up: async () => undefined } })
  const before = await tablesOf(url)
  await assert.rejects(
    migrateTo(url, { '0001-songs': songs }),
    isStartupFailure(/^The database was made by a newer version of Waymark\. /),
  )
  assert.deepEqual(await tablesOf(url), before)
})

test('a limit on statements that the database sets does not apply to migrations', async (t) => {
  const url = await emptyDatabase(t)
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = 100`)
  const slow: Migration = { up: async (db: Kysely<never>) => void (await sql`select pg_sleep(0.3)`.execute(db)) }
  await migrateTo(url, { '0001-slow': slow })
})

test('tables of another program in another schema are ignored', async (t) => {
  const url = await emptyDatabase(t)
  await execute(
    url,
    'create schema other; create table other.kysely_migration (name text); create table other.keys (x text)',
  )
  const storage = await openPostgres(url, 1)
  assert.equal((await createAccount(storage, 'Acme')).id, 1)
  await storage.close()
})

test('processes that start at once on a new database migrate it once', async (t) => {
  for (let round = 0; round < 2; round++) {
    const variables = { DATABASE_URL: await emptyDatabase(t) }
    const ends = await Promise.all(Array.from({ length: 3 }, () => waymark(t, ['migrate', '--json'], variables)))
    for (const { code, stdout, stderr } of ends) {
      assert.deepEqual([code, stderr], [0, ''])
      assert.equal(JSON.parse(stdout)[0].status, 'applied')
    }
    const storage = await openPostgres(variables.DATABASE_URL, 1)
    assert.equal((await createAccount(storage, 'Acme')).id, 1)
    await storage.close()
  }
})

test('a database that is up to date opens while another process migrates or writes', async (t) => {
  const url = await emptyDatabase(t)
  await (await openPostgres(url, 1)).close()
  await atDatabase(url, (db) =>
    db.transaction().execute(async () => {
      const storage = await openPostgres(url, 1)
      assert.deepEqual(await listAccounts(storage), [])
      await storage.close()
    }),
  )
})

test('a database that cannot be used is refused in one sentence, without the password', async (t) => {
  const url = await emptyDatabase(t)
  const changed = (change: (url: URL) => void) => {
    const other = new URL(url)
    other.password = 'Hush-Hush'
    change(other)
    return other.href
  }
  const { password } = new URL(url)
  const latin = `${new URL(url).pathname.slice(1)}_latin`
  await execute(url, `create database ${latin} encoding 'LATIN1' locale 'C' template template0`)
  await execute(
    url,
    `do $$ begin if not exists (select from pg_roles where rolname = 'waymark_guest') then
    create role waymark_guest login password 'guest'; end if; end $$;
    revoke create on schema public from public`,
  )
  const cases: [url: string, sentence: RegExp][] = [
    [changed((to) => Object.assign(to, { username: 'nobody' })), /^The database \S+ refuses the user/],
    [changed((to) => Object.assign(to, { port: '1' })), /^The database \S+ cannot be reached: connect ECONNREFUSED/],
    [changed((to) => Object.assign(to, { password, pathname: '/none' })), /^There is no database \S+none\. /],
    [changed((to) => Object.assign(to, { password, pathname: `/${latin}` })), /^The database is encoded in LATIN1\. /],
    [
      changed((to) => Object.assign(to, { username: 'waymark_guest', password: 'guest' })),
      /^The user may not make tables in the database [^\n]*createdb --owner=USER[^\n]*$/,
    ],
  ]
  for (const [wrong, sentence] of cases) {
    await assert.rejects(openPostgres(wrong, 1), (error) => {
      assert.doesNotMatch(String(error), /Hush-Hush/)
      return isStartupFailure(sentence)(error)
    })
  }
  await execute(url, `drop database ${latin}`)
})

test('PostgreSQL older than 14 is refused', () => {
  assert.match(String(faultOf({ version: 13, encoding: 'UTF8' })), /^The database is PostgreSQL 13\. /)
  assert.equal(faultOf({ version: 14, encoding: 'UTF8' }), null)
})
