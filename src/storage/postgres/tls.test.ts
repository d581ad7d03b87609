/** Encrypted connections to a server whose certificate the test signed itself. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type EmbeddedServer, execute, startPostgres } from '../../../test/postgres.ts'
import { query } from '../schema.ts'
import { openPostgres } from './open.ts'

const file = (name: string) => fileURLToPath(new URL(`../../../test/tls/${name}`, import.meta.url))
const certificate = `sslrootcert=${encodeURIComponent(file('server.crt'))}`
const isEncrypted = () =>
  query
    .withTables<{ pg_stat_ssl: { pid: number; ssl: boolean } }>()
    .selectFrom('pg_stat_ssl')
    .select('ssl')
    .where('pid', '=', ({ fn }) => fn<number>('pg_backend_pid'))

let server: EmbeddedServer

before(async () => {
  server = await startPostgres()
  const { uid, gid } = statSync(server.folder)
  for (const name of ['server.crt', 'server.key']) {
    const own = join(server.folder, name)
    copyFileSync(file(name), own)
    chmodSync(own, 0o600)
    chownSync(own, uid, gid)
  }
  await execute(server.url, 'alter system set ssl = on')
  await execute(server.url, 'select pg_reload_conf()')
})

after(() => server.stop())

async function encryption(query: string, url = server.url): Promise<boolean | undefined> {
  const storage = await openPostgres(`${url}?${query}`, 1)
  try {
    const [row] = await storage.execute(isEncrypted())
    return row?.ssl
  } finally {
    await storage.close()
  }
}

test('requires a trusted certificate with sslmode=require and verify-full', async (t) => {
  const warned = t.mock.method(process, 'emitWarning', () => undefined)
  for (const mode of ['require', 'verify-full']) {
    assert.equal(await encryption(`sslmode=${mode}&${certificate}`), true)
    await assert.rejects(encryption(`sslmode=${mode}`), {
      message:
        /^The database 127\.0\.0\.1:\d+\/postgres has a TLS certificate that this machine doesn't trust \([^\n]*$/,
    })
  }
  assert.equal(warned.mock.callCount(), 0)
})

test('accepts a trusted certificate of another host with sslmode=verify-ca', async () => {
  // A name of 127.0.0.1 that the certificate lacks.
  const elsewhere = server.url.replace('127.0.0.1', '127.1')
  assert.equal(await encryption(`sslmode=verify-ca&${certificate}`, elsewhere), true)
  await assert.rejects(encryption(`sslmode=verify-full&${certificate}`, elsewhere), {
    message:
      /^Can't connect to the database 127\.1:\d+\/postgres: Hostname\/IP does not match certificate's altnames: /,
  })
  const anotherAuthority = `sslrootcert=${encodeURIComponent(file('other.crt'))}`
  await assert.rejects(encryption(`sslmode=verify-ca&${anotherAuthority}`), {
    message: /^The database 127\.0\.0\.1:\d+\/postgres has a TLS certificate that this machine doesn't trust \([^\n]*$/,
  })
})

test('with sslmode=no-verify the connection is encrypted, without a check of the server', async () => {
  assert.equal(await encryption('sslmode=no-verify'), true)
})

test('with sslmode=disable the connection is not encrypted', async () => {
  assert.equal(await encryption('sslmode=disable'), false)
})

test('with uselibpqcompat=true the modes are those of libpq', async () => {
  assert.equal(await encryption('sslmode=require&uselibpqcompat=true'), true)
})
