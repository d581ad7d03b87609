/** Sentences for the operator when the connection lacks a password or a pooler lacks a setting. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { execute, startPostgres } from '../../../test/postgres.ts'
import { newDatabase } from '../../../test/postgres-database.ts'
import { openPostgres } from './open.ts'

test('names the places for a password when it is missing', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const rules = join(server.folder, 'pg_hba.conf')
  writeFileSync(rules, readFileSync(rules, 'utf8').replaceAll(/\bpassword$/gm, 'scram-sha-256'))
  await execute(server.url, 'select pg_reload_conf()')
  const url = new URL(server.url)
  url.password = ''
  await assert.rejects(openPostgres(url.href, 1), {
    name: 'Error',
    message: `The database ${url.host}/postgres asks for a password. Add it to DATABASE_URL, or set PGPASSWORD.`,
  })
})

/** A server that rejects every connection as PgBouncer does. Returns its URL. */
async function rejectingServer(t: TestContext, message: string): Promise<string> {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, fields]))))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/waymark`
}

test('names the setting when a pooler rejects the timeouts', async (t) => {
  const url = await rejectingServer(t, 'unsupported startup parameter: idle_in_transaction_session_timeout')
  await assert.rejects(openPostgres(url, 1), {
    message: `The pooler at ${new URL(url).host}/waymark rejects Waymark's timeouts. Add this line to pgbouncer.ini: ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout`,
  })
})

test('names the parameter of DATABASE_URL that a pooler rejects', async (t) => {
  for (const [message, name] of [
    ['unsupported startup parameter: lock_timeout', 'lock_timeout'],
    ['unsupported startup parameter: options', 'options'],
    ['unsupported startup parameter in options: links.schema', 'links.schema'],
  ] as const) {
    const url = await rejectingServer(t, message)
    await assert.rejects(openPostgres(url, 1), {
      message: `The pooler at ${new URL(url).host}/waymark rejects the parameter ${name}. Remove it from DATABASE_URL, or add it to ignore_startup_parameters in pgbouncer.ini.`,
    })
  }
})

test('says that migrations need the primary when the database is read-only', async (t) => {
  const { url, drop } = await newDatabase()
  t.after(drop)
  const name = new URL(url).pathname.slice(1)
  await execute(url, `drop schema public cascade; create schema public`)
  await execute(url, `alter database ${name} set default_transaction_read_only = on`)
  await assert.rejects(openPostgres(url, 1), {
    message: `The database ${new URL(url).host}/${name} is read-only, as a standby is. Migrations need the primary: name its address in DATABASE_URL.`,
  })
})

test('names a certificate file that cannot be read', async () => {
  const url = 'postgres://user@127.0.0.1:1/waymark?sslmode=verify-full&sslrootcert=/no/such.pem'
  await assert.rejects(openPostgres(url, 1), {
    message: 'DATABASE_URL names a file that cannot be read: /no/such.pem (ENOENT).',
  })
})
