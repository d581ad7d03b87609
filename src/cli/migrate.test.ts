import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { commandsWith } from '../../test/command-line.ts'
import { execute } from '../../test/postgres.ts'
import { newDatabase as newPostgres } from '../../test/postgres-database.ts'
import { type Bench, newDatabase, type Variables } from '../../test/processes.ts'

async function emptyPostgres(t: Bench): Promise<Variables> {
  const { url, drop } = await newPostgres(false)
  t.after(drop)
  return { DATABASE_URL: url }
}

const engines: Readonly<Record<string, (t: Bench) => Variables | Promise<Variables>>> = {
  SQLite: (t) => newDatabase(t).variables,
  PostgreSQL: emptyPostgres,
}

for (const [engine, variablesOf] of Object.entries(engines)) {
  test(`migrate --status changes nothing, and migrate creates the schema once: ${engine}`, async (t) => {
    const { run, say, json } = commandsWith(await variablesOf(t))
    for (const [line, code, status] of [
      ['migrate --status', 1, 'pending'],
      ['migrate --status', 1, 'pending'],
      ['migrate', 0, 'applied'],
      ['migrate', 0, 'applied'],
    ] as const) {
      const keys = await run('keys list')
      const { stdout, ...rest } = await run(line)
      assert.deepEqual(rest, { code, stderr: '' })
      assert.match(stdout, new RegExp(`^MIGRATION +STATUS\\n0001-foundation +${status}\\n`))
      if (code === 1) assert.match(keys.stderr, /^There is no Waymark database at \S+\. Check DATABASE_URL, /)
    }
    assert.deepEqual((await json('migrate --status'))[0], { name: '0001-foundation', status: 'applied' })
    assert.equal(await say('accounts create --name Acme'), '1')
  })
}

test('migrate rejects a file that is not a database', async () => {
  const { fails } = commandsWith({ DATABASE_URL: `sqlite:${import.meta.filename}` })
  await fails('migrate --status', 1, /^The file \S+ is not a database\. /)
})

/** Tables as commits before the first release created them. */
const development = `
  create table instance (database_id text);
  create table kysely_migration (name text, timestamp text);
  insert into kysely_migration values
    ('0001-first', '2026-01-01T00:00:00.000Z'), ('0010-instance-addresses', '2026-01-01T00:00:00.000Z')`

async function rejectsDevelopmentDatabase(variables: Variables): Promise<void> {
  const message =
    'The database was created by a development version of Waymark. Nothing was changed. To keep its data, run "npx waymark export FILE" with the commit that created it, set DATABASE_URL to a new database, start the server once, and run "npx waymark import FILE".'
  for (const line of ['migrate', 'migrate --status', 'accounts create --name Acme']) {
    await commandsWith(variables).fails(line, 1, message)
  }
}

test('waymark migrate leaves a file of a development version unchanged, and says how to keep its data', async (t) => {
  const { path, variables } = newDatabase(t)
  mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path)
  database.exec(development)
  database.close()
  const before = readFileSync(path)
  await rejectsDevelopmentDatabase(variables)
  assert.deepEqual(readFileSync(path), before)
})

test('waymark migrate leaves tables of a development version unchanged on PostgreSQL', async (t) => {
  const variables = await emptyPostgres(t)
  const url = String(variables.DATABASE_URL)
  const content = `select tablename, (table_to_xml(tablename::regclass, true, false, ''))::text
    from pg_tables where schemaname = 'public' order by 1`
  await execute(url, development)
  const before = await execute(url, content)
  await rejectsDevelopmentDatabase(variables)
  assert.deepEqual(await execute(url, content), before)
  assert.equal(before.length, 2)
})
