/** Connections to a server with its own settings: a certificate that the test signed itself, and passwords. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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

test('does not check the server with sslmode=no-verify, disable, or with the modes of libpq', async () => {
  assert.equal(await encryption('sslmode=no-verify'), true)
  assert.equal(await encryption('sslmode=disable'), false)
  assert.equal(await encryption('sslmode=require&uselibpqcompat=true'), true)
})

test('names the places for a password when it is missing', async () => {
  const rules = join(server.folder, 'pg_hba.conf')
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/\bpassword$/gm, 'scram-sha-256'))
  await execute(server.url, 'select pg_reload_conf()')
  const url = Object.assign(new URL(server.url), { password: '' })
  await assert.rejects(openPostgres(url.href, 1), {
    message: `The database ${url.host}/postgres requires a password. Add it to DATABASE_URL, or set PGPASSWORD.`,
  })
})
