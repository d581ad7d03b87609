/** What the operator is told when a database asks for what DATABASE_URL lacks. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execute, startPostgres } from '../../../test/postgres.ts'
import { openPostgres } from './open.ts'

test('a missing password is named, with the places for it', async (t) => {
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
