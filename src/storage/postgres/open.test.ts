/** Opening a database: limits, schemas, and sentences for the operator. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { execute } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { listenOn } from '../../../test/servers.ts'
import { createAccount, listAccounts } from '../../accounts/store.ts'
import { StartupFailure } from '../../errors.ts'
import { atDatabase, findFault, migratePostgres, openPostgres } from './open.ts'

async function emptyDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  return url
}

test('migrates without the limit on statements that the database sets', async (t) => {
  const url = await emptyDatabase(t)
  await execute(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = 100`)
  await atDatabase(url, (db) => migratePostgres(db, { '0001-slow': ['select pg_sleep(0.3)'] }))
})

test('ignores tables of another program in another schema', async (t) => {
  const url = await emptyDatabase(t)
  await execute(
    url,
    'create schema other; create table other.kysely_migration (name text); create table other.keys (x text)',
  )
  const storage = await openPostgres(url, 1)
  assert.equal((await createAccount(storage, 'Acme')).id, 1)
  await storage.close()
})

test('opens a migrated database while another process migrates or writes', async (t) => {
  const { url, drop } = await newDatabase()
  t.after(drop)
  await atDatabase(url, async (db) => {
    await db.run('begin')
    await db.run('create table songs (name text)')
    const storage = await openPostgres(url, 1)
    assert.deepEqual(await listAccounts(storage), [])
    await storage.close()
  })
})

test('rejects PostgreSQL older than 14', () => {
  assert.match(String(findFault({ version: 13, encoding: 'UTF8' })), /^The database is PostgreSQL 13\. /)
  assert.equal(findFault({ version: 14, encoding: 'UTF8' }), null)
})

/** A server that rejects every connection as PgBouncer does. Returns its URL. */
async function rejectingServer(t: TestContext, message: string): Promise<string> {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, fields]))))
  return `postgres://user@127.0.0.1:${await listenOn(t, server)}/waymark`
}

test('names the setting or the parameter of DATABASE_URL when a pooler rejects it', async (t) => {
  const parameter = (name: string) =>
    `rejects the parameter ${name}. Remove it from DATABASE_URL, or add it to ignore_startup_parameters in pgbouncer.ini.`
  for (const [rejected, sentence] of [
    [
      ': idle_in_transaction_session_timeout',
      "rejects Waymark's timeouts. Add this line to pgbouncer.ini: ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout",
    ],
    [': lock_timeout', parameter('lock_timeout')],
    [': options', parameter('options')],
    [' in options: links.schema', parameter('links.schema')],
  ] as const) {
    const url = await rejectingServer(t, `unsupported startup parameter${rejected}`)
    await assert.rejects(openPostgres(url, 1), { message: `The pooler at ${new URL(url).host}/waymark ${sentence}` })
  }
})

test('says that a certificate is not trusted, or why else a connection fails', async (t) => {
  const untrusted = [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ]
  for (const code of [...untrusted, 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPROTO']) {
    const failure = Object.assign(new Error('failed'), { code })
    const connect = t.mock.method(pg.Pool.prototype, 'connect', () => Promise.reject(failure))
    await assert.rejects(openPostgres('postgres://db.example/links', 1), {
      message: untrusted.includes(code)
        ? `The database db.example/links has a TLS certificate that this machine doesn't trust (${code}). Add sslrootcert=FILE with its CA certificate to DATABASE_URL.`
        : "Can't connect to the database db.example/links: failed. Check DATABASE_URL, and that the database is running.",
    })
    connect.mock.restore()
  }
})

test('names the reason why a database cannot be used, without the password', async (t) => {
  const url = await emptyDatabase(t)
  const changed = (change: (url: URL) => void) => {
    const other = new URL(url)
    other.password = 'Hush-Hush'
    change(other)
    return other.href
  }
  const { password } = new URL(url)
  const [latin, standby] = ['latin', 'standby'].map((kind) => `${new URL(url).pathname.slice(1)}_${kind}`)
  await execute(url, `create database ${latin} encoding 'LATIN1' locale 'C' template template0`)
  await execute(url, `create database ${standby}`)
  await execute(url, `alter database ${standby} set default_transaction_read_only = on`)
  await execute(
    url,
    `do $$ begin if not exists (select from pg_roles where rolname = 'waymark_guest') then
    create role waymark_guest login password 'guest'; end if; end $$;
    revoke create on schema public from public`,
  )
  const cases: [url: string, sentence: RegExp][] = [
    [changed((to) => Object.assign(to, { username: 'nobody' })), /^The database \S+ rejects the user/],
    [changed((to) => Object.assign(to, { port: '1' })), /^Can't connect to the database \S+: connect ECONNREFUSED/],
    [changed((to) => Object.assign(to, { password, pathname: '/none' })), /^The database \S+none doesn't exist\. /],
    [changed((to) => Object.assign(to, { password, pathname: `/${latin}` })), /^The database encoding is LATIN1\. /],
    [
      changed((to) => Object.assign(to, { password, pathname: `/${standby}` })),
      /^The database \S+ is read-only, probably a standby\. Migrations require the primary: set DATABASE_URL to its address\.$/,
    ],
    [
      changed((to) => {
        to.search = '?sslmode=verify-full&sslrootcert=/no/such.pem'
      }),
      /^DATABASE_URL names a file that can't be read: \/no\/such\.pem \(ENOENT\)\.$/,
    ],
    [
      changed((to) => Object.assign(to, { username: 'waymark_guest', password: 'guest' })),
      /^The user isn't allowed to create tables in the database [^\n]*createdb --owner=USER[^\n]*$/,
    ],
  ]
  for (const [wrong, sentence] of cases) {
    await assert.rejects(openPostgres(wrong, 1), (error) => {
      assert.ok(error instanceof StartupFailure)
      assert.doesNotMatch(error.message, /Hush-Hush/)
      assert.match(error.message, sentence)
      return true
    })
  }
  for (const name of [latin, standby]) await execute(url, `drop database ${name}`)
})
